"""The owner's moves: claim, start, heartbeat, complete, fail, stall, and the change of owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from teamster.kit import iso
from teamster.model import (
    MOVES,
    OWNED_STATUSES,
    Attempt,
    ClaimToken,
    FileDraft,
    Item,
    ItemId,
    JsonObject,
    LeaseLost,
    OutboxRow,
    Owner,
    Shift,
    ShiftId,
    StepKey,
    UsageError,
    Verb,
)
from teamster.store.course import UNOWNED, Course, canceled_error
from teamster.store.leases import has_owner, is_over, lease_of, no_owner, stale
from teamster.store.ledger import Entry, Repeat, Request, Turn
from teamster.store.payload import NOT_JSON, digest_of_adoption, digest_of_begin, digest_of_change, not_json
from teamster.store.releasing import release
from teamster.store.values import (
    Adoption,
    Answer,
    Begin,
    Change,
    Claimed,
    Complete,
    Drafter,
    Fail,
    Heartbeat,
    Stall,
    Start,
)

HEARTBEAT_TTL_SECONDS_MAX: Final = 24 * 3600.0
_VERBS: Final[Mapping[type[Change], Verb]] = {
    Start: Verb.START,
    Heartbeat: Verb.HEARTBEAT,
    Complete: Verb.COMPLETE,
    Fail: Verb.FAIL,
    Stall: Verb.STALL,
}


def claim_one(
    turn: Turn, item_id: ItemId, *, shift: Shift, place: int, begin: Drafter | None
) -> tuple[Claimed, tuple[OutboxRow, ...]]:
    """Take one item that may run, and start it where the caller says how."""
    entry = turn.ledger.entry(item_id)
    assert entry is not None
    course = Course(entry.item, names=turn.names, at=turn.at)
    _take(course, turn, shift)
    taken = course.item
    claimed = Claimed(item=taken, parents=_parents(turn, item_id))
    if begin is None:
        turn.ledger.record(entry, taken, course.events)
        return claimed, ()
    drafted = begin(claimed, place)
    assert taken.claim_token is not None
    if turn.ledger.repeat(drafted.request_id) is not None:
        raise UsageError(f"request {drafted.request_id} was used before", hint="each start needs an id of its own")
    if misplaced := _misplaced(drafted.attempt, taken):
        raise misplaced
    request = Request(
        request_id=drafted.request_id,
        digest=digest_of_begin(drafted, item_id=item_id, claim_token=taken.claim_token),
    )
    rows = _start(turn, entry, course, drafted, shift=shift, request=request)
    return replace(claimed, item=course.item), rows


def _start(
    turn: Turn, entry: Entry, course: Course, drafted: Begin, *, shift: Shift, request: Request
) -> tuple[OutboxRow, ...]:
    data = {"run_id": drafted.attempt.run_id}
    course.move(Verb.START, actor=shift.runner_id, data=data, request_id=request.request_id)
    turn.ledger.record(entry, course.item, course.events, request=request)
    turn.ledger.put_attempt(drafted.attempt)
    return turn.ledger.promise(drafted.files, about=course.item.step, shift_id=shift.shift_id, request=request)


def _take(course: Course, turn: Turn, shift: Shift) -> None:
    item = course.item
    course.move(
        Verb.CLAIM,
        actor=shift.runner_id,
        data={"shift_id": shift.shift_id, "attempt": item.attempt + 1, "fence": item.fence + 1},
        owner=Owner(worker_id=shift.runner_id, runtime=shift.runtime, host=shift.host_id, pid=shift.pid),
        lease=lease_of(shift),
        shift_id=shift.shift_id,
        claim_token=ClaimToken(turn.names.token()),
        attempt=item.attempt + 1,
        fence=item.fence + 1,  # grows here and nowhere else
        not_before=None,
    )


def _parents(turn: Turn, item_id: ItemId) -> Mapping[StepKey, tuple[Attempt, ...]]:
    steps = dict.fromkeys(waits.step for waits in turn.ledger.waits_of(item_id))
    return {step: turn.ledger.attempts_of(step) for step in steps}


def change_one(turn: Turn, change: Change) -> Answer:
    """Carry out one owner's move, or say why not."""
    guard = change.guard
    try:
        request = Request(request_id=guard.request_id, digest=digest_of_change(change))
    except NOT_JSON as wrong:
        return Answer(item=None, refusal=not_json(f"item {guard.item_id}: what is to be kept of it", wrong))
    if (repeat := turn.ledger.repeat(guard.request_id)) is not None:
        return _again(repeat, request)
    entry = turn.ledger.entry(guard.item_id)
    if (lost := no_owner(entry, guard, at=turn.at, host=turn.host)) is not None:
        return _ended_alike(turn, entry, change, request) or Answer(item=None, refusal=lost)
    assert entry is not None
    if refusal := _refusal(entry.item, change):
        return Answer(item=None, refusal=refusal)
    return _carry_out(turn, entry, change, request)


def _carry_out(turn: Turn, entry: Entry, change: Change, request: Request) -> Answer:
    assert entry.shift is not None
    shift, course = entry.shift, Course(entry.item, names=turn.names, at=turn.at)
    attempt: Attempt | None = None
    files: tuple[FileDraft, ...] = ()
    held_until = entry.held_until_boot_seconds
    if isinstance(change, Heartbeat):
        held_until = _beat(course, change, turn, shift)
    else:
        _move(course, change, turn, shift)
        attempt, files = change.attempt, change.files
    turn.ledger.record(
        entry,
        course.item,
        course.events,
        request=request,
        held_until_boot_seconds=held_until if course.item.status in OWNED_STATUSES else None,
    )
    if attempt is not None:
        turn.ledger.put_attempt(attempt)
    rows = turn.ledger.promise(files, about=course.item.step, shift_id=shift.shift_id, request=request)
    if course.item.is_final:
        release(turn, course.item)
    return Answer(item=course.item, rows=rows)


def _move(course: Course, change: Start | Complete | Fail | Stall, turn: Turn, shift: Shift) -> None:
    before, actor, request_id = course.item, shift.runner_id, change.guard.request_id
    data: JsonObject = {} if change.attempt is None else {"run_id": change.attempt.run_id}
    ending = {**data, "claim_token": change.guard.claim_token}  # the contract's guard needs the last owner
    match change:
        case Start():
            course.move(Verb.START, actor=actor, data=data, request_id=request_id)
        case Complete(result=result):
            fields = {**UNOWNED, "result": result, "attempts_consumed": before.attempts_consumed + 1}
            course.move(Verb.COMPLETE, actor=actor, data=ending, request_id=request_id, **fields)
        case Fail(error=error, consumes_attempt=consumes):
            fields = {**UNOWNED, "error": error, "attempts_consumed": before.attempts_consumed + consumes}
            course.move(Verb.FAIL, actor=actor, data=ending, request_id=request_id, **fields)
        case Stall(error=error, consumes_attempt=consumes, recovery=recovery):
            fields = {
                **UNOWNED,
                "attempts_consumed": before.attempts_consumed + consumes,
                "recoveries": before.recoveries + 1 if recovery else 0,
            }
            course.move(Verb.STALL, actor=actor, data={**data, "error": error}, request_id=request_id, **fields)
            if change.requeue_at is not None:
                requeue(course, turn, actor=actor, not_before=change.requeue_at)
        case _:
            assert_never(change)


def requeue(course: Course, turn: Turn, *, actor: str, not_before: datetime | None) -> None:
    """Requeue a stalled item; where somebody asked to cancel it, that is carried out in place of the requeue."""
    item = course.item
    if item.cancel_requested:
        error = canceled_error(actor="an earlier request", at=turn.at.wall)
        course.move(Verb.ABANDON, actor=actor, data={}, error=error)
        return
    data = {} if not_before is None else {"not_before": iso(not_before)}
    course.move(Verb.REQUEUE, actor=actor, data=data, not_before=not_before)


def _beat(course: Course, change: Heartbeat, turn: Turn, shift: Shift) -> float:
    until = turn.at.after(change.ttl_seconds)
    own = replace(lease_of(shift), expires_at=until.wall, renewed_at=turn.at.wall)
    course.move(
        Verb.HEARTBEAT,
        actor=shift.runner_id,
        data={"expires_at": iso(until.wall)},
        request_id=change.guard.request_id,
        lease=lease_of(shift, own),
    )
    return until.boot_seconds


def _refusal(item: Item, change: Change) -> LeaseLost | UsageError | None:
    verb = _VERBS[type(change)]
    if item.status not in MOVES[verb].sources:
        return LeaseLost(f"item {item.item_id}: no {verb} from {item.status}")
    if isinstance(change, Heartbeat):
        if not 0 < change.ttl_seconds <= HEARTBEAT_TTL_SECONDS_MAX:
            return UsageError(
                f"item {item.item_id}: a heartbeat for {change.ttl_seconds} s",
                hint=f"more than 0, at most {HEARTBEAT_TTL_SECONDS_MAX:.0f}",
            )
        return None
    return None if change.attempt is None else _misplaced(change.attempt, item)


def _misplaced(attempt: Attempt, item: Item) -> UsageError | None:
    if attempt.item_id == item.item_id and attempt.step == item.step:
        return None
    return UsageError(f"attempt {attempt.run_id} belongs to item {attempt.item_id}, not to {item.item_id}")


def _again(repeat: Repeat, request: Request) -> Answer:
    if repeat.digest != request.digest:
        fact = f"request {request.request_id} asked for something else before"
        return Answer(item=None, refusal=UsageError(fact, hint="each request needs an id of its own"))
    return Answer(item=repeat.item, replayed=True, rows=repeat.rows)


def _ended_alike(turn: Turn, entry: Entry | None, change: Change, request: Request) -> Answer | None:
    """Recognise the same end, said again by the same owner under another request id."""
    if entry is None or not entry.item.is_final:
        return None
    ending = turn.ledger.ending(entry.item.item_id)
    if ending is None or ending.claim_token != change.guard.claim_token or ending.digest != request.digest:
        return None
    return Answer(item=entry.item, replayed=True)


def adopt_one(turn: Turn, adoption: Adoption, *, shift_id: ShiftId) -> Answer:
    """Stall, claim and start an item in one step: its agent lives, its owner's shift is over."""
    request = Request(request_id=adoption.request_id, digest=digest_of_adoption(adoption, shift_id=shift_id))
    if (repeat := turn.ledger.repeat(adoption.request_id)) is not None:
        return _again(repeat, request)
    adopter = turn.ledger.shift(shift_id)
    if adopter is None or is_over(adopter, at=turn.at, host=turn.host):
        return Answer(item=None, refusal=LeaseLost(f"shift {shift_id}: its lease is over and never comes back"))
    entry = turn.ledger.entry(adoption.item_id)
    if (refusal := not_left(entry, item_id=adoption.item_id, rev=adoption.rev, turn=turn)) is not None:
        return Answer(item=None, refusal=refusal)
    assert entry is not None
    course = Course(entry.item, names=turn.names, at=turn.at)
    data = {"reason": "adopted", "shift_id": entry.item.shift_id, "by": shift_id}
    course.move(Verb.STALL, actor=adopter.runner_id, data=data, **UNOWNED)
    _take(course, turn, adopter)
    last = turn.ledger.last_attempt(adoption.item_id)
    run: JsonObject = {} if last is None else {"run_id": last.run_id}
    course.move(Verb.START, actor=adopter.runner_id, data=run, request_id=adoption.request_id)
    turn.ledger.record(entry, course.item, course.events, request=request)
    if last is not None and adoption.facts:
        turn.ledger.put_attempt(replace(last, facts={**last.facts, **adoption.facts}))
    return Answer(item=course.item)


def not_left(entry: Entry | None, *, item_id: ItemId, rev: int, turn: Turn) -> LeaseLost | None:
    """Say why an item isn't one that its owner left behind, or nothing."""
    if entry is None:
        return LeaseLost(f"item {item_id}: not in this store")
    if entry.item.rev != rev:
        return stale(item_id, expected=rev, found=entry.item.rev)
    if entry.item.status not in OWNED_STATUSES:
        return LeaseLost(f"item {item_id}: it is {entry.item.status}, nobody owns it")
    if has_owner(entry, at=turn.at, host=turn.host):
        return LeaseLost(f"item {item_id}: its owner may still write", hint="end that shift first if it is dead")
    return None
