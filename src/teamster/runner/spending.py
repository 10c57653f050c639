"""What an attempt has used, and what of it is its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from teamster.agents import Agent, Reading, Usage
from teamster.model import JsonObject
from teamster.runner.source import Source
from teamster.runner.streams import open_plain

LINE_BYTES_MAX: Final = 4 << 20
SESSION_BYTES_MAX: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The tokens of an attempt, and those of its thread where its agent counts so."""

    own: Usage
    thread: Usage | None

    def to_json(self) -> JsonObject:
        """Write it for the facts of an attempt."""
        return {"usage": asdict(self.own), "thread_usage": None if self.thread is None else asdict(self.thread)}


def spent(agent: Agent, reading: Reading, source: Source | None, *, home: Path) -> Spending | None:
    """Say what an attempt has used; one that was killed is looked up in the session that it left."""
    usage = reading.usage
    if usage is None and reading.thread_id is not None:
        usage = _from_session(agent, reading.thread_id, home)
    if usage is None:
        return None
    if not agent.counts_thread:
        return Spending(own=usage, thread=None)
    base = None if source is None or source.thread_usage is None else Usage(**source.thread_usage)
    return Spending(own=usage if base is None else usage.since(base), thread=usage)


def _from_session(agent: Agent, thread_id: str, home: Path) -> Usage | None:
    names = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    newest = None
    for name in agent.closure([name for name in names if agent.is_session_file(name)], thread_id):
        newest = agent.session_usage(_lines(home / name)) or newest
    return newest


def _lines(path: Path) -> Iterator[bytes]:
    """Read the lines of a file that an agent wrote; one that is too long comes in pieces, which nobody understands."""
    descriptor = open_plain(path)
    if descriptor is None:
        return
    with os.fdopen(descriptor, "rb") as file:
        taken = 0
        while taken < SESSION_BYTES_MAX and (line := file.readline(LINE_BYTES_MAX)):
            taken += len(line)
            yield line
