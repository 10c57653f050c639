"""Asks for steps again: each that ended without success gets a new item of its next generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from teamster.model import BatchId, Item, ItemStatus, JobId, StepId, StepKey, UsageError
from teamster.operations.harness import Harness, Opened
from teamster.operations.submit import item_draft
from teamster.operations.tables import steps_of, table_of

STEPS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """A step that was asked for again."""

    step: str
    generation: int


def retry(
    harness: Harness,
    batch_id: BatchId,
    *,
    job_id: JobId | None = None,
    step_id: StepId | None = None,
    succeeded_too: bool = False,
) -> Sequence[Retried]:
    """Enqueue again what a person named and what has ended without success; `succeeded_too` the rest as well.

    History stays: earlier attempts are untouched, and steps that waited for a failed one are released by its success.

    Raises:
        UsageError: there is no such step, or none of those named has ended without success.
    """
    table = table_of(harness.root, batch_id)
    chosen = steps_of(table, job_id, step_id)
    with Opened.of(harness) as opened:
        newest = _newest(opened, batch_id)
        retried = []
        for job, step in chosen:
            item = newest.get(StepKey(batch_id, job.job_id, step.step_id))
            if item is None or not _may_be_retried(item, succeeded_too=succeeded_too):
                continue
            draft = item_draft(harness, table, job, step, generation=item.generation + 1)
            opened.store.enqueue(draft, at=harness.clock.now())
            retried.append(Retried(step=str(draft.step), generation=draft.generation))
    if not retried:
        raise UsageError(
            "there is nothing to retry: no step named has ended without success",
            hint="teamster status shows where each step is; --succeeded-too runs a step again that was fine",
        )
    return retried


def _newest(opened: Opened, batch_id: BatchId) -> dict[StepKey, Item]:
    newest: dict[StepKey, Item] = {}
    for item in opened.store.items(batch_id=batch_id, limit=STEPS_MAX):
        if item.step is not None and (item.step not in newest or newest[item.step].generation < item.generation):
            newest[item.step] = item
    return newest


def _may_be_retried(item: Item, *, succeeded_too: bool) -> bool:
    return item.status is ItemStatus.FAILED or (succeeded_too and item.status is ItemStatus.SUCCEEDED)
