"""All files without which a conversation can't be gone on with: a thread's own, and those that it was forked from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from teamster.agents import Agent
from teamster.model import WorldError

LINEAGE_FILES_MAX: Final = 256  # a fork of a fork, and so on; each is copied with every resume
FIRST_LINE_BYTES_MAX: Final = 4 << 20

FirstLine = Callable[[str], bytes]
"""Reads the first line of a session file by its name."""


class BrokenLineage(WorldError):
    """A conversation can't be followed back to its beginning."""


def lineage(names: Sequence[str], thread_id: str, *, agent: Agent, first_line: FirstLine) -> tuple[str, ...]:
    """Return a thread's session files with all that they go back to, sorted; none where there is no such thread.

    Raises:
        BrokenLineage: a file that it goes back to is missing, it goes back to itself, or too far.
        WorldError: a file can't be read.
    """
    before: dict[str, tuple[str, ...]] = {}
    waiting = list(agent.closure(names, thread_id))
    while waiting:
        name = waiting.pop()
        if name in before:
            continue
        if len(before) >= LINEAGE_FILES_MAX:
            raise BrokenLineage(f"{thread_id} goes back to more than {LINEAGE_FILES_MAX} files")
        before[name] = _before(name, names, agent=agent, first_line=first_line)
        waiting += before[name]
    _check_beginnings(before)
    return tuple(sorted(before))


def _before(name: str, names: Sequence[str], *, agent: Agent, first_line: FirstLine) -> tuple[str, ...]:
    parent = agent.session_parent(first_line(name))
    if parent is None:
        return ()
    found = agent.closure(names, parent)
    if not found:
        raise BrokenLineage(f"{name} goes back to {parent}, of which there is no file")
    return found


def _check_beginnings(before: Mapping[str, Sequence[str]]) -> None:
    """See that each file goes back to one that begins: a circle has no beginning."""
    begun = {name for name, found in before.items() if not found}
    while more := {name for name, found in before.items() if name not in begun and not begun.isdisjoint(found)}:
        begun |= more
    if endless := before.keys() - begun:
        raise BrokenLineage(f"{min(endless)} goes back to itself")
