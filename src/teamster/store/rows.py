"""Rows as values and values as rows."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from teamster.kit import from_iso, iso
from teamster.model import (
    Attempt,
    AttemptStatus,
    BatchId,
    ClaimToken,
    Event,
    EventType,
    FileClass,
    Item,
    ItemId,
    ItemStatus,
    JobId,
    JsonObject,
    Lease,
    OutboxRow,
    Owner,
    RequestId,
    RunId,
    Shift,
    ShiftId,
    StepId,
    StepKey,
)
from teamster.store.engine import Row
from teamster.store.leases import lease_of
from teamster.store.ledger import Entry
from teamster.store.payload import NOT_JSON, not_json
from teamster.store.routing import Lane
from teamster.store.values import Batch, ItemDraft, Needs, Noticed, Waits

SHIFTS_CACHED_MAX: Final = 256
MOMENTS_CACHED_MAX: Final = 1024
LANES_CACHED_MAX: Final = 1024
_SHIFT_COLUMNS: Final = ("shift_id", "boot_id", "expires_boot_seconds", "expires_at", "renewed_at", "ended_at")
_SHIFT_FACTS: Final = tuple(each.name for each in fields(Shift) if each.name not in _SHIFT_COLUMNS)
_ITEM_WIDTH: Final = 26  # the columns before the shift's


_write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # made once: it costs more than it does


def to_text(value: Any) -> str:
    """Write JSON for a column. ASCII: neither a NUL nor half a surrogate pair can be bound as text.

    Raises:
        UsageError: JSON can't say it.
    """
    try:
        return _write(value)
    except NOT_JSON as wrong:
        raise not_json("what is to be kept", wrong) from wrong


@lru_cache(maxsize=MOMENTS_CACHED_MAX)
def text_at(at: datetime) -> str:
    """Write a moment: a transaction writes the same one many times. Texts sort as the moments do."""
    return iso(at)


def moment(text: str | None) -> datetime | None:
    """Read a moment that may be missing."""
    return None if text is None else from_iso(text)


def text_of(at: datetime | None) -> str | None:
    """Write a moment that may be missing."""
    return None if at is None else text_at(at)


# shifts


def shift_to_row(shift: Shift) -> Row:
    """Write a shift."""
    facts = {name: getattr(shift, name) for name in _SHIFT_FACTS if name != "began_at"}
    return (
        shift.shift_id,
        shift.boot_id,
        shift.expires_boot_seconds,
        text_at(shift.expires_at),
        text_at(shift.renewed_at),
        text_of(shift.ended_at),
        to_text({**facts, "began_at": text_at(shift.began_at)}),
    )


@lru_cache(maxsize=SHIFTS_CACHED_MAX)
def shift_from_row(row: Row) -> Shift:
    """Read a shift: the same row is the same value, and each owned item brings one."""
    facts = json.loads(row[6])
    facts["began_at"] = from_iso(facts["began_at"])
    return Shift(
        shift_id=ShiftId(row[0]),
        boot_id=row[1],
        expires_boot_seconds=row[2],
        expires_at=from_iso(row[3]),
        renewed_at=from_iso(row[4]),
        ended_at=moment(row[5]),
        **facts,
    )


# items


def entry_from_row(row: Row) -> Entry:
    """Read an item with its owner's shift."""
    shift = None if row[_ITEM_WIDTH] is None else shift_from_row(row[_ITEM_WIDTH:])
    own = None if row[12] is None else Lease(expires_at=from_iso(row[12]), renewed_at=moment(row[13]))
    item = Item(
        status=ItemStatus(row[2]),
        rev=row[3],
        attempt=row[4],
        fence=row[5],
        claim_token=None if row[6] is None else ClaimToken(row[6]),
        attempts_consumed=row[7],
        recoveries=row[8],
        cancel_requested=bool(row[9]),
        not_before=moment(row[10]),
        enqueued_at=from_iso(row[14]),
        result=None if row[15] is None else json.loads(row[15]),
        error=None if row[16] is None else json.loads(row[16]),
        item_id=ItemId(row[17]),
        dedupe_key=row[18],
        step=_step_of(row[19:22]),
        collection=None if row[20] else BatchId(row[19]),
        generation=row[22],
        target=json.loads(row[23]),
        spec=json.loads(row[24]),
        shift_id=None if shift is None else shift.shift_id,
        owner=None if shift is None else owner_of(shift),
        lease=None if shift is None else lease_of(shift, own),
    )
    return Entry(item=item, shift=shift, held_until_boot_seconds=row[11])


def _step_of(row: Row) -> StepKey | None:
    """Read whose step an item is; what lies in a collection has no job."""
    return StepKey(BatchId(row[0]), JobId(row[1]), StepId(row[2])) if row[1] else None


def owner_of(shift: Shift) -> Owner:
    """Return the owner that a shift's claims name."""
    return Owner(worker_id=shift.runner_id, runtime=shift.runtime, host=shift.host_id, pid=shift.pid)


def item_to_row(item: Item, *, held_until_boot_seconds: float | None) -> Row:
    """Write what a move can change."""
    own = item.lease if held_until_boot_seconds is not None else None
    return (
        item.status.value,
        item.rev,
        item.attempt,
        item.fence,
        item.shift_id,
        item.claim_token,
        item.attempts_consumed,
        item.recoveries,
        int(item.cancel_requested),
        text_of(item.not_before),
        held_until_boot_seconds,
        None if own is None else text_at(own.expires_at),
        None if own is None else text_of(own.renewed_at),
        None if item.result is None else to_text(item.result),
        None if item.error is None else to_text(item.error),
        int(item.status is ItemStatus.QUEUED and item.not_before is not None),
    )


def answer_to_text(item: Item) -> str:
    """Write what later moves change of an item that has not ended, so that a repeat can be told the first answer."""
    lease = item.lease
    return to_text(
        [
            item.status.value,
            item.rev,
            item.attempt,
            item.fence,
            item.shift_id,
            item.claim_token,
            item.attempts_consumed,
            item.recoveries,
            item.cancel_requested,
            text_of(item.not_before),
            None if lease is None else text_at(lease.expires_at),
            None if lease is None else text_of(lease.renewed_at),
            None if item.owner is None else item.owner.to_json(),
        ]
    )


def answer_fields(text: str) -> JsonObject:
    """Read what `answer_to_text` wrote, as fields to replace."""
    value = json.loads(text)
    lease = None if value[10] is None else Lease(expires_at=from_iso(value[10]), renewed_at=moment(value[11]))
    return {
        "status": ItemStatus(value[0]),
        "rev": value[1],
        "attempt": value[2],
        "fence": value[3],
        "shift_id": value[4],
        "claim_token": value[5],
        "attempts_consumed": value[6],
        "recoveries": value[7],
        "cancel_requested": value[8],
        "not_before": moment(value[9]),
        "lease": lease,
        "owner": None if value[12] is None else Owner(**value[12]),
        "result": None,
        "error": None,
    }


# drafts


def draft_to_row(draft: ItemDraft, *, batch: int, lane: int) -> Row:
    """Write a draft."""
    step = draft.step
    names = ("", "") if step is None else (step.job_id, step.step_id)
    waits = [[each.step.batch_id, each.step.job_id, each.step.step_id, each.needs.value] for each in draft.waits]
    return (
        draft.item_id,
        draft.dedupe_key,
        batch,
        draft.home,
        *names,
        draft.generation,
        draft.priority,
        to_text(draft.target),
        to_text(draft.spec),
        to_text(waits) if waits else None,
        to_text(sorted(draft.limit_keys)) if draft.limit_keys else None,
        lane,
    )


def draft_from_row(row: Row) -> ItemDraft:
    """Read a draft."""
    lane = lane_from_text(row[11])
    return ItemDraft(
        item_id=ItemId(row[0]),
        dedupe_key=row[1],
        step=_step_of(row[2:5]),
        collection=None if row[3] else BatchId(row[2]),
        generation=row[5],
        priority=row[6],
        target=json.loads(row[7]),
        spec=json.loads(row[8]),
        waits=waits_from_text(row[9]),
        limit_keys=frozenset(keys_from_text(row[10])),
        labels=lane.labels,
        runner_affinity=lane.runner,
    )


@lru_cache(maxsize=LANES_CACHED_MAX)
def lane_from_text(text: str) -> Lane:
    """Read a lane: the same text is the same value, and each claim brings some."""
    return Lane.from_json(json.loads(text))


def keys_from_text(text: str | None) -> tuple[str, ...]:
    """Read the keys of limits that an item names, in order."""
    return () if text is None else tuple(json.loads(text))


def waits_from_row(row: Row) -> Waits:
    """Read a dependency."""
    return Waits(step=StepKey(BatchId(row[0]), JobId(row[1]), StepId(row[2])), needs=Needs(row[3]))


def waits_from_text(text: str | None) -> tuple[Waits, ...]:
    """Read all dependencies of a draft."""
    return () if text is None else tuple(waits_from_row(tuple(each)) for each in json.loads(text))


def batch_from_row(row: Row) -> Batch:
    """Read a batch."""
    return Batch(batch_id=BatchId(row[0]), submitted_at=from_iso(row[1]), concurrency=row[2], meta=json.loads(row[3]))


# history


def event_from_row(row: Row) -> Event:
    """Read an event."""
    return Event(
        event_id=row[0],
        type=EventType(row[1]),
        from_status=None if row[2] is None else ItemStatus(row[2]),
        to_status=ItemStatus(row[3]),
        at=from_iso(row[4]),
        actor=row[5],
        request_id=None if row[6] is None else RequestId(row[6]),
        data={} if row[7] is None else json.loads(row[7]),
    )


def noticed_from_row(row: Row, *, cursor: str) -> Noticed:
    """Read an event of all that the store has seen."""
    return Noticed(cursor=cursor, item_id=ItemId(row[8]), event=event_from_row(row))


def attempt_to_row(attempt: Attempt) -> Row:
    """Write an attempt."""
    step = attempt.step
    return (
        attempt.run_id,
        attempt.item_id,
        step.batch_id,
        step.job_id,
        step.step_id,
        attempt.number,
        attempt.directory,
        attempt.status.value,
        text_at(attempt.started_at),
        text_of(attempt.ended_at),
        to_text(dict(attempt.facts)),
    )


def attempt_from_row(row: Row) -> Attempt:
    """Read an attempt."""
    return Attempt(
        run_id=RunId(row[0]),
        item_id=ItemId(row[1]),
        step=StepKey(BatchId(row[2]), JobId(row[3]), StepId(row[4])),
        number=row[5],
        directory=row[6],
        status=AttemptStatus(row[7]),
        started_at=from_iso(row[8]),
        ended_at=moment(row[9]),
        facts=json.loads(row[10]),
    )


def promise_from_row(row: Row) -> OutboxRow:
    """Read a row of the outbox."""
    return OutboxRow(
        seq=row[0], path=row[1], file_class=FileClass(row[2]), content=row[3], batch_id=row[4], job_id=row[5]
    )
