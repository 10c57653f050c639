"""The states of items, attempts and prompts: three vocabularies, each a table of moves, and the table that joins them.

The code, the SQL guards, `docs/states.md` and the tests all read these tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class ItemStatus(StrEnum):
    """Where an item is, in the words of contract v1."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    RUNNING = "running"
    STALLED = "stalled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class EventType(StrEnum):
    """What the event log of an item can say."""

    ENQUEUED = "enqueued"
    CLAIMED = "claimed"
    STARTED = "started"
    HEARTBEAT = "heartbeat"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STALLED = "stalled"
    REQUEUED = "requeued"


class Verb(StrEnum):
    """What can be done to an item."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    START = "start"
    HEARTBEAT = "heartbeat"
    COMPLETE = "complete"
    FAIL = "fail"
    STALL = "stall"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    ABANDON = "abandon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One row of the lifecycle: from which states, to which one, told by which event.

    `to` is None where the state stays. `owned` moves are the owner's alone; `extension` marks what contract v1
    doesn't have.
    """

    sources: frozenset[ItemStatus]
    to: ItemStatus | None
    event: EventType
    owned: bool = False
    extension: bool = False

    def target(self, source: ItemStatus) -> ItemStatus:
        """Return the state after the move.

        Raises:
            ValueError: the move isn't listed for `source`.
        """
        if source not in self.sources:
            raise ValueError(f"no move from {source} by {self.event}")
        return source if self.to is None else self.to

    def steps(self) -> Iterator[tuple[ItemStatus | None, ItemStatus]]:
        """Yield each pair of states, before and after, in the order of the statuses; None: there was no item."""
        if not self.sources and self.to is not None:
            yield None, self.to
        yield from ((source, self.target(source)) for source in ItemStatus if source in self.sources)


S = ItemStatus
E = EventType


def _move(
    *sources: ItemStatus,
    to: ItemStatus | None,
    event: EventType,
    owned: bool = False,
    extension: bool = False,
) -> Move:
    return Move(sources=frozenset(sources), to=to, event=event, owned=owned, extension=extension)


MOVES: Final[Mapping[Verb, Move]] = MappingProxyType(
    {
        Verb.ENQUEUE: _move(to=S.QUEUED, event=E.ENQUEUED),
        Verb.CLAIM: _move(S.QUEUED, S.STALLED, to=S.CLAIMED, event=E.CLAIMED),
        Verb.START: _move(S.CLAIMED, to=S.RUNNING, event=E.STARTED, owned=True),
        Verb.HEARTBEAT: _move(S.CLAIMED, S.RUNNING, to=None, event=E.HEARTBEAT, owned=True),
        Verb.COMPLETE: _move(S.RUNNING, to=S.SUCCEEDED, event=E.SUCCEEDED, owned=True),
        Verb.FAIL: _move(S.RUNNING, to=S.FAILED, event=E.FAILED, owned=True),
        Verb.STALL: _move(S.CLAIMED, S.RUNNING, to=S.STALLED, event=E.STALLED, owned=True),
        Verb.REQUEUE: _move(S.STALLED, to=S.QUEUED, event=E.REQUEUED),
        Verb.CANCEL: _move(S.QUEUED, to=S.FAILED, event=E.FAILED, extension=True),
        Verb.ABANDON: _move(S.STALLED, to=S.FAILED, event=E.FAILED, extension=True),
    }
)
FINAL_STATUSES: Final = frozenset(S) - frozenset(s for move in MOVES.values() for s in move.sources)
OWNED_STATUSES: Final = frozenset({S.CLAIMED, S.RUNNING})


class AttemptStatus(StrEnum):
    """Where an attempt is, in the words of PH's `state.json`."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    NEEDS_ATTENTION = "needs_attention"


A = AttemptStatus
ATTEMPT_MOVES: Final[Mapping[AttemptStatus, frozenset[AttemptStatus]]] = MappingProxyType(
    {
        A.QUEUED: frozenset({A.RUNNING, A.CANCELED}),
        A.RUNNING: frozenset({A.SUCCEEDED, A.FAILED, A.CANCELED, A.NEEDS_ATTENTION}),
        A.SUCCEEDED: frozenset(),
        A.FAILED: frozenset(),
        A.CANCELED: frozenset(),
        A.NEEDS_ATTENTION: frozenset(),
    }
)
FINAL_ATTEMPT_STATUSES: Final = frozenset(status for status, moves in ATTEMPT_MOVES.items() if not moves)


class StepStatus(StrEnum):
    """Where a step of a batch is, as the scoreboard derives it."""

    BLOCKED = "blocked"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    NEEDS_ATTENTION = "needs_attention"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One moment of a history in all three vocabularies; sequences where a reader sees several steps."""

    happened: str
    item: tuple[ItemStatus, ...]
    attempt: AttemptStatus | None
    prompt_queue: tuple[str, ...]
    prompt_run: str | None
    error_code: str | None = None


VIEWS: Final[tuple[View, ...]] = (
    View(happened="waits for dependencies", item=(), attempt=None, prompt_queue=(), prompt_run=None),
    View(
        happened="may run, or a retry is due",
        item=(S.QUEUED,),
        attempt=None,
        prompt_queue=("queued",),
        prompt_run=None,
    ),
    View(
        happened="taken, agent not started",
        item=(S.CLAIMED,),
        attempt=A.QUEUED,
        prompt_queue=("running",),
        prompt_run=None,
    ),
    View(
        happened="agent runs",
        item=(S.RUNNING,),
        attempt=A.RUNNING,
        prompt_queue=("running",),
        prompt_run="running",
    ),
    View(
        happened="success",
        item=(S.SUCCEEDED,),
        attempt=A.SUCCEEDED,
        prompt_queue=("succeeded",),
        prompt_run="succeeded",
    ),
    View(
        happened="failed, another try follows",
        item=(S.STALLED, S.QUEUED),
        attempt=A.FAILED,
        prompt_queue=("failed_retryable", "queued"),
        prompt_run="failed",
    ),
    View(
        happened="failed for good",
        item=(S.FAILED,),
        attempt=A.FAILED,
        prompt_queue=("failed_final",),
        prompt_run="failed",
    ),
    View(
        happened="a person must look",
        item=(S.FAILED,),
        attempt=A.NEEDS_ATTENTION,
        prompt_queue=("failed_final",),
        prompt_run="failed",
        error_code="needs_attention",
    ),
    View(
        happened="canceled",
        item=(S.FAILED,),
        attempt=A.CANCELED,
        prompt_queue=("failed_final",),
        prompt_run="aborted",
        error_code="canceled",
    ),
    View(
        happened="owner lost, agent gone without a record",
        item=(S.STALLED,),
        attempt=A.FAILED,
        prompt_queue=("failed_retryable",),
        prompt_run="failed",
    ),
    View(
        happened="owner lost, agent alive: adopted",
        item=(S.STALLED, S.CLAIMED, S.RUNNING),
        attempt=A.RUNNING,
        prompt_queue=("running",),
        prompt_run="running",
    ),
)
