"""Reads of the SQLite store that take more than one statement, or choose among several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from teamster.model import Attempt, BatchId, Item, ItemId, ItemStatus, JobId, ShiftId, StepKey
from teamster.store import rows, sql
from teamster.store.engine import Engine
from teamster.store.feed import Position
from teamster.store.values import Noticed, Waiting

_IN_MOTION: Final = frozenset({ItemStatus.CLAIMED, ItemStatus.RUNNING, ItemStatus.STALLED})
_LAST_EVENT: Final = 2**62
_BATCH_NO: Final = "(SELECT no FROM batches WHERE batch_id = ?)"
_SEQ: Final = "(SELECT p.seq FROM drafts f JOIN items p ON p.draft = f.no WHERE f.item_id = ?)"


def one_item(database: Engine, statement: str, value: str) -> Item | None:
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


def waiting(database: Engine, *, batch_id: BatchId | None, limit: int) -> Sequence[Waiting]:
    """Return the drafts without a record, with what each still waits for."""
    with database.snapshot():
        return [
            Waiting(
                draft=rows.draft_from_row(row),
                unmet=tuple(rows.waits_from_row(each) for each in database.rows(sql.UNMET, (row[12],))),
            )
            for row in database.rows(sql.WAITING, (batch_id, limit))
        ]


def attempts(
    database: Engine, *, step: StepKey | None, job: tuple[BatchId, JobId] | None, item_id: ItemId | None
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


def noticed(database: Engine, cursor: str, *, limit: int, until: int = _LAST_EVENT) -> Sequence[Noticed]:
    """Return what happened after a cursor, in the order in which it came into view, up to the event `until`."""
    at, found = Position.parse(cursor), list[Noticed]()
    read, item = (at.event, 0) if at.item is None else (at.event - 1, at.item)
    with database.snapshot():
        while len(found) < limit:
            (shown,) = database.row(sql.NEXT_SHOWN, (read,)) or (None,)
            if shown is not None and shown > until:
                shown = None
            found += _in_order(database, read, until if shown is None else shown - 1, limit - len(found))
            if shown is None or len(found) == limit:
                break
            found += [
                rows.noticed_from_row(row, cursor=str(Position(event=shown, item=row[10])))
                for row in database.rows(sql.EARLY_EVENTS, (shown, item, shown, limit - len(found)))
            ]
            found += _in_order(database, shown - 1, shown, limit - len(found))
            read, item = shown, 0
    return found


def _in_order(database: Engine, after: int, until: int, limit: int) -> Sequence[Noticed]:
    page = database.rows(sql.EVENTS_AFTER, (after, until, limit))
    return [rows.noticed_from_row(row, cursor=str(Position(event=row[9]))) for row in page]
