"""What a conversation goes back to, file by file."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from teamster.agents import CodexAgent, CommandAgent
from teamster.runner.lineage import LINEAGE_FILES_MAX, BrokenLineage, lineage

AGENT = CodexAgent("codex")
Parents = Mapping[str, str | None]


def thread(number: int) -> str:
    """Return the id of a thread, or of a part of one."""
    return f"01a1f597-4370-79b2-a48a-{number:012}"


def rollout(*numbers: int, packed: bool = False) -> str:
    """Name a thread's file, or that of a later part of it."""
    return f"sessions/2026/11/19/rollout-2026-11-19T10-00-00-{'_'.join(map(thread, numbers))}.jsonl" + ".zst" * packed


def found(start: int, parents: Parents) -> tuple[str, ...]:
    """Follow a thread through files that name their parents."""

    def first_line(name: str) -> bytes:
        parent = parents[name]
        payload = {} if parent is None else {"forked_from_id": parent, "history_base": {"thread_id": parent}}
        return json.dumps({"type": "session_meta", "payload": payload}).encode()

    return lineage(tuple(parents), thread(start), agent=AGENT, first_line=first_line)


def test_a_fork_needs_all_that_it_goes_back_to_and_nothing_else() -> None:
    """Alone it fails with `missing source rollout`; other threads of the home are no part of it."""
    parents = {rollout(1): None, rollout(2): thread(1), rollout(3): thread(2), rollout(4): thread(1), rollout(5): None}

    assert found(3, parents) == (rollout(1), rollout(2), rollout(3))
    assert found(1, parents) == (rollout(1),)
    assert found(9, parents) == ()


def test_packed_files_and_parts_of_a_thread_belong_to_it() -> None:
    """A thread may go on in another file, and be there packed and plain at once."""
    parents = {
        rollout(1): None,
        rollout(1, packed=True): None,
        rollout(1, 7): thread(1),
        rollout(1, 8): thread(7),
        rollout(2): thread(8),
    }

    assert found(2, parents) == tuple(sorted(parents))
    assert found(1, parents) == tuple(sorted(name for name in parents if name != rollout(2)))


@pytest.mark.parametrize(
    ("parents", "fact"),
    [
        ({rollout(1): thread(2)}, "of which there is no file"),
        ({rollout(1): thread(1)}, "goes back to itself"),
        ({rollout(1): thread(2), rollout(2): thread(1)}, "goes back to itself"),
        ({rollout(1): thread(2), rollout(2): thread(3), rollout(3): thread(2)}, "goes back to itself"),
        (
            {
                rollout(n): None if n == LINEAGE_FILES_MAX + 1 else thread(n + 1)
                for n in range(1, LINEAGE_FILES_MAX + 2)
            },
            "more than",
        ),
    ],
    ids=["missing", "own parent", "circle", "circle further up", "endless"],
)
def test_what_can_not_be_followed_to_its_beginning_is_named(parents: Parents, fact: str) -> None:
    """A base without its beginning is refused by Codex when it is too late."""
    with pytest.raises(BrokenLineage, match=fact):
        found(1, parents)


def test_an_agent_without_sessions_has_no_lineage() -> None:
    assert lineage(["a"], "b", agent=CommandAgent(), first_line=lambda _: b"") == ()
