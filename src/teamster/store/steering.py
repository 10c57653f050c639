"""Moves that nobody owns: by policy, by an operator, or because the owner is gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from teamster.model import (
    FINAL_ATTEMPT_STATUSES,
    MOVES,
    OWNED_STATUSES,
    Attempt,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    JsonObject,
    LeaseLost,
    OutboxRow,
    UsageError,
    Verb,
)
from teamster.store.course import HOUSE, UNOWNED, Course, canceled_error
from teamster.store.leases import stale
from teamster.store.ledger import Entry, Turn
from teamster.store.owning import not_left, requeue
from teamster.store.releasing import give_record, release
from teamster.store.values import Answer, Released

CancelDraft = Callable[[Item], tuple[Attempt | None, tuple[FileDraft, ...]]]


def stall_lost(
    turn: Turn,
    item_id: ItemId,
    *,
    rev: int,
    error: JsonObject,
    attempt: Attempt | None,
    files: Sequence[FileDraft],
    began: bool,
) -> Answer:
    """Stall an item whose owner is gone."""
    entry = turn.ledger.entry(item_id)
    if (refusal := not_left(entry, item_id=item_id, rev=rev, turn=turn)) is not None:
        return Answer(item=None, refusal=refusal)
    assert entry is not None
    item = entry.item
    course = Course(item, names=turn.names, at=turn.at)
    data = {"reason": "lost", "error": error, "shift_id": item.shift_id, "began": began}
    course.move(Verb.STALL, actor=HOUSE, data=data, recoveries=item.recoveries + 1, **UNOWNED)
    if attempt is None and not began:
        _forget_open_attempt(turn, item_id)
    return Answer(item=course.item, rows=_record(turn, entry, course, attempt=attempt, files=files))


def requeue_one(turn: Turn, item_id: ItemId, *, rev: int, not_before: datetime | None) -> Answer:
    """Requeue a stalled item."""
    entry = turn.ledger.entry(item_id)
    if (refusal := _not_stalled(entry, item_id=item_id, rev=rev, verb=Verb.REQUEUE)) is not None:
        return Answer(item=None, refusal=refusal)
    assert entry is not None
    course = Course(entry.item, names=turn.names, at=turn.at)
    requeue(course, turn, actor=HOUSE, not_before=not_before)
    return Answer(item=course.item, rows=_record(turn, entry, course))


def abandon(turn: Turn, item_id: ItemId, *, rev: int, error: JsonObject, files: Sequence[FileDraft]) -> Answer:
    """Give up on a stalled item."""
    entry = turn.ledger.entry(item_id)
    if (refusal := _not_stalled(entry, item_id=item_id, rev=rev, verb=Verb.ABANDON)) is not None:
        return Answer(item=None, refusal=refusal)
    assert entry is not None
    course = Course(entry.item, names=turn.names, at=turn.at)
    course.move(Verb.ABANDON, actor=HOUSE, data={}, error=error)
    return Answer(item=course.item, rows=_record(turn, entry, course, files=files))


def request_cancel(turn: Turn, item_id: ItemId, *, actor: str, draft: CancelDraft) -> Released:
    """Cancel an item that nobody owns, or leave a request beside it for its owner.

    Raises:
        UsageError: no such item.
    """
    entry = turn.ledger.entry(item_id) or _entry_of_waiting(turn, item_id)
    item = entry.item
    if item.is_final or (item.status in OWNED_STATUSES and item.cancel_requested):
        return Released(item=item, changed=False)
    if item.status in OWNED_STATUSES:
        asked = replace(item, cancel_requested=True)
        turn.ledger.record(entry, asked, (), held_until_boot_seconds=entry.held_until_boot_seconds)
        return Released(item=asked, changed=True)
    verb = Verb.CANCEL if item.status is ItemStatus.QUEUED else Verb.ABANDON
    attempt, files = draft(item)
    error = canceled_error(actor=actor, at=turn.at.wall)
    course = Course(item, names=turn.names, at=turn.at)
    course.move(
        verb, actor=actor, data={} if attempt is None else {"run_id": attempt.run_id}, error=error, not_before=None
    )
    rows = _record(turn, entry, course, attempt=attempt, files=files)
    return Released(item=course.item, changed=True, rows=rows)


def _entry_of_waiting(turn: Turn, item_id: ItemId) -> Entry:
    draft = turn.ledger.draft(item_id)
    if draft is None:
        raise UsageError(f"there is no item {item_id}")
    give_record(turn, draft)
    entry = turn.ledger.entry(item_id)
    assert entry is not None
    return entry


def _record(
    turn: Turn, entry: Entry, course: Course, *, attempt: Attempt | None = None, files: Sequence[FileDraft] = ()
) -> tuple[OutboxRow, ...]:
    turn.ledger.record(entry, course.item, course.events)
    if attempt is not None:
        assert attempt.item_id == course.item.item_id, f"attempt {attempt.run_id} is not of {course.item.item_id}"
        turn.ledger.put_attempt(attempt)
    rows = turn.ledger.promise(files, about=course.item.step, shift_id=None)
    if course.item.is_final:
        release(turn, course.item)
    return rows


def _not_stalled(entry: Entry | None, *, item_id: ItemId, rev: int, verb: Verb) -> LeaseLost | UsageError | None:
    if entry is None:
        return UsageError(f"there is no item {item_id}")
    if entry.item.rev != rev:
        return stale(item_id, expected=rev, found=entry.item.rev)
    if entry.item.status not in MOVES[verb].sources:
        return LeaseLost(f"item {item_id}: no {verb} from {entry.item.status}")
    return None


def _forget_open_attempt(turn: Turn, item_id: ItemId) -> None:
    """Remove an attempt that never was: its row would say for ever that it runs."""
    last = turn.ledger.last_attempt(item_id)
    if last is not None and last.status not in FINAL_ATTEMPT_STATUSES:
        turn.ledger.drop_attempt(last)
