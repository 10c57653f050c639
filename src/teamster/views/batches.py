"""All batches of a root, one row each: those that need a person first, then those that run, then the newest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from teamster.artifacts import Root
from teamster.kit import iso
from teamster.model import BatchId, ItemStatus, JsonObject, StepStatus
from teamster.store import Batch, Store
from teamster.views.scoreboard import ACTIVE, ATTENTION, scoreboard

WAITING: Final = "waiting"  # how the store counts what has no record yet
_BY_ITEM: Final[Mapping[str, StepStatus]] = {
    WAITING: StepStatus.BLOCKED,
    ItemStatus.QUEUED.value: StepStatus.READY,
    ItemStatus.STALLED.value: StepStatus.READY,
    ItemStatus.CLAIMED.value: StepStatus.RUNNING,
    ItemStatus.RUNNING.value: StepStatus.RUNNING,
    ItemStatus.SUCCEEDED.value: StepStatus.SUCCEEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One batch at a glance; `counts` says how many steps have each status."""

    batch_id: BatchId
    submitted_at: datetime
    goal: str
    source: str
    agents: tuple[str, ...]
    jobs_total: int
    steps_total: int
    counts: Mapping[str, int]
    is_settled: bool

    @property
    def needs_a_person(self) -> bool:
        """A step of it failed, or is in doubt."""
        return any(self.counts[status.value] for status in ATTENTION)

    @property
    def is_successful(self) -> bool:
        """Every step of it has succeeded."""
        return self.counts[StepStatus.SUCCEEDED.value] == self.steps_total

    def to_json(self) -> JsonObject:
        """Write it for a program."""
        return {
            "batch_id": self.batch_id,
            "submitted_at": iso(self.submitted_at),
            "batch_goal_summary_preview": self.goal,
            "source": self.source,
            "agents": list(self.agents),
            "jobs_total": self.jobs_total,
            "steps_total": self.steps_total,
            "settled": self.is_settled,
            "counts": dict(self.counts),
        }


def list_batches(store: Store, root: Root, *, at: datetime) -> Sequence[BatchRow]:
    """Look at all batches."""
    rows = [_row(store, root, batch, at=at) for batch in store.batches()]
    return sorted(rows, key=lambda row: (not row.needs_a_person, row.is_settled, -row.submitted_at.timestamp()))


def _row(store: Store, root: Root, batch: Batch, *, at: datetime) -> BatchRow:
    by_item = store.counts(batch_id=batch.batch_id)
    return BatchRow(
        batch_id=batch.batch_id,
        submitted_at=batch.submitted_at,
        goal=batch.meta["goal"],
        source=batch.meta["source"],
        agents=tuple(batch.meta["agents"]),
        jobs_total=batch.meta["jobs_total"],
        steps_total=batch.meta["steps_total"],
        counts=_counts(store, root, batch, by_item, at=at),
        is_settled=not any(by_item.get(status.value, 0) for status in ACTIVE),
    )


def _counts(store: Store, root: Root, batch: Batch, by_item: Mapping[str, int], *, at: datetime) -> Mapping[str, int]:
    """Count steps. Items tell it at once, unless one failed (there are three ways to) or a step has several."""
    if by_item.get(ItemStatus.FAILED.value, 0) or sum(by_item.values()) != batch.meta["steps_total"]:
        return scoreboard(store, root, batch, at=at).counts
    counts = dict.fromkeys((status.value for status in StepStatus), 0)
    for name, number in by_item.items():
        if number:
            counts[_BY_ITEM[name].value] += number
    return counts
