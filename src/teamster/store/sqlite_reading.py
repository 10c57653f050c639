"""Reads of the SQLite store that take more than one statement, or choose among several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from teamster.kit import Instant, iso
from teamster.model import Attempt, BatchId, Item, ItemId, ItemStatus, JobId, ShiftId, StepKey
from teamster.store import rows, sql
from teamster.store.connection import Database
from teamster.store.values import ClaimFilter, Waiting

_IN_MOTION: Final = frozenset({ItemStatus.CLAIMED, ItemStatus.RUNNING, ItemStatus.STALLED})
_BATCH_NO: Final = "(SELECT no FROM batches WHERE batch_id = ?)"
_SEQ: Final = "(SELECT p.seq FROM drafts f JOIN items p ON p.draft = f.no WHERE f.item_id = ?)"


def claimable(database: Database, *, limit: int, at: Instant, wanted: ClaimFilter) -> Sequence[ItemId]:
    """Return the items that may be taken now: by priority, then oldest first, within each batch's concurrency.

    Each batch with something to do is asked for as many as it has room for; what is finished is never looked at.
    """
    found: list[tuple[int, int, str]] = []
    due = iso(at.wall)
    for batch, concurrency, owned, batch_id in database.rows(
        sql.BATCHES_STALLED if wanted.stalled else sql.BATCHES_QUEUED
    ):
        room = limit if concurrency is None else min(limit, concurrency - owned)
        if room <= 0 or (wanted.batch_ids is not None and batch_id not in wanted.batch_ids):
            continue
        of_batch = database.rows(sql.CLAIMABLE_QUEUED, (batch, due, room))
        if wanted.stalled:
            of_batch += database.rows(sql.CLAIMABLE_STALLED, (batch, room))
        found += sorted((-priority, seq, item_id) for priority, seq, item_id in of_batch)[:room]
    return [ItemId(item_id) for _, _, item_id in sorted(found)[:limit]]


def one_item(database: Database, statement: str, value: str) -> Item | None:
    """Return the item that a statement finds."""
    row = database.row(statement, (value,))
    return None if row is None else rows.entry_from_row(row).item


def items_statement(
    *,
    batch_id: BatchId | None,
    job_id: JobId | None,
    shift_id: ShiftId | None,
    status: ItemStatus | None,
    limit: int,
    after: str,
) -> tuple[str, list[Any]]:
    """Return the statement that lists items in the order of their enqueueing, with its values. Pure."""
    conditions: list[str] = []
    values: list[Any] = []
    if status is not None:
        # Spelled out, and said twice: only then does the planner see that a partial index holds what is asked for.
        conditions.append(f"i.status = '{status.value}'")
        if status in _IN_MOTION:
            conditions.append("i.status IN ('claimed', 'running', 'stalled')")
    if shift_id is not None:
        conditions.append("i.shift = ?")
        values.append(shift_id)
    if job_id is not None:
        conditions.append("d.job_id = ?")
        values.append(job_id)
    if batch_id is not None:
        conditions.append("d.batch_id = ?" if job_id is not None else f"{_by_batch(status, shift_id)} = {_BATCH_NO}")
        values.append(batch_id)
    if after:
        conditions.append(f"i.seq > COALESCE({_SEQ}, 0)")
        values.append(after)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{sql.ITEM} {where} ORDER BY i.seq LIMIT ?", [*values, limit]


def _by_batch(status: ItemStatus | None, shift_id: ShiftId | None) -> str:
    """Keep a batch's index out of the way where a narrower one is there: a `+` hides a column from the planner."""
    return "+i.batch" if shift_id is not None or status in _IN_MOTION else "i.batch"


def waiting(database: Database, *, batch_id: BatchId | None, limit: int) -> Sequence[Waiting]:
    """Return the drafts without a record, with what each still waits for."""
    with database.snapshot():
        return [
            Waiting(
                draft=rows.draft_from_row(row),
                unmet=tuple(rows.waits_from_row(each) for each in database.rows(sql.UNMET, (row[10],))),
            )
            for row in database.rows(sql.WAITING, (batch_id, limit))
        ]


def attempts(
    database: Database, *, step: StepKey | None, job: tuple[BatchId, JobId] | None, item_id: ItemId | None
) -> Sequence[Attempt]:
    """Return attempts by the narrowest of what is asked for, then leave out what doesn't fit the rest."""
    if item_id is not None:
        found = database.rows(sql.ATTEMPTS_OF_ITEM, (item_id,))
    elif step is not None:
        found = database.rows(sql.ATTEMPTS_OF_STEP, (step.batch_id, step.job_id, step.step_id))
    elif job is not None:
        found = database.rows(sql.ATTEMPTS_OF_JOB, job)
    else:
        found = database.rows(sql.ATTEMPTS)
    return [
        attempt
        for attempt in map(rows.attempt_from_row, found)
        if (step is None or attempt.step == step)
        and (job is None or (attempt.step.batch_id, attempt.step.job_id) == job)
    ]
