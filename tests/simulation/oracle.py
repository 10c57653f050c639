"""Judges each act from outside: who may write, what a write changes, which files it promises, whom it releases.

It keeps its own account of leases, requests and dependencies, and asks the store for nothing but what anybody can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from contracts.store_world import TTL_SECONDS
from simulation.player import Told
from simulation.room import exceeded, held, limits_of, may_run
from simulation.seen import FINAL, OWNED, Seen, state_faults, step_faults
from teamster.kit import Instant
from teamster.model import ClaimToken, FileDraft, Item, ItemId, LeaseLost, OutboxRow, RequestId, ShiftId, UsageError
from teamster.store import Answer, Change, Complete, Fail, Heartbeat, ItemDraft, Needs, Stall, Start, Waits

NO_REQUEST: Final = RequestId("none")
BASE: Final = "session_sha256"
MAY: Final[dict[type[Change], frozenset[str]]] = {
    Start: frozenset({"claimed"}),
    Heartbeat: OWNED,
    Complete: frozenset({"running"}),
    Fail: frozenset({"running"}),
    Stall: OWNED,
}


@dataclass(slots=True, kw_only=True)
class Lease:
    """What a shift was told of its lease."""

    boot_id: str
    until: float
    ended: bool = False

    def lives(self, now: Instant) -> bool:
        """Tell whether it may still write."""
        return not self.ended and self.boot_id == now.boot_id and now.boot_seconds < self.until


class Oracle:
    """One account of one store; `judge` raises `AssertionError` with all that is wrong."""

    def __init__(self) -> None:
        self.leases: dict[ShiftId, Lease] = {}
        self.holds: dict[ClaimToken, float] = {}  # until when a heartbeat of its own holds a claim
        self.answered: dict[RequestId, tuple[Any, Item]] = {}
        self.ended_by: dict[ItemId, tuple[ClaimToken, Any]] = {}
        self.drafts: dict[ItemId, ItemDraft] = {}
        self.gave_up: set[str] = set()  # canceled while it waited
        self.tokens: set[ClaimToken] = set()

    def judge(self, before: Seen, told: Told, after: Seen) -> None:
        """Check one act."""
        faults = [*step_faults(before, after), *state_faults(after)]
        faults += getattr(self, f"_{told.act}", self._quiet)(before, told, after)
        faults += [*self._release_faults(after), *self._held_faults(after)]
        assert faults == [], (told, faults)

    def judge_crash(self, before: Seen, after: Seen) -> None:
        """Check a crash before the commit: it leaves what was there, to the byte."""
        assert after == before, "half of an act survived its crash"

    # who may write

    def lives(self, shift_id: ShiftId, now: Instant) -> bool:
        """Tell whether a shift may claim."""
        lease = self.leases.get(shift_id)
        return lease is not None and lease.lives(now)

    def _owns(self, item: Item, now: Instant) -> bool:
        lease = None if item.shift_id is None else self.leases.get(item.shift_id)
        if lease is None or lease.ended or lease.boot_id != now.boot_id:
            return False
        held = self.holds.get(item.claim_token or ClaimToken(""))
        return lease.lives(now) or (held is not None and now.boot_seconds < held)

    def _verdict(self, change: Change, item: Item | None, now: Instant) -> str:
        guard = change.guard
        if guard.request_id in self.answered:
            return "replayed" if self.answered[guard.request_id][0] == _payload(change) else "UsageError"
        if item is None:
            return "LeaseLost"
        is_owner = item.claim_token == guard.claim_token and item.rev == guard.rev and self._owns(item, now)
        if not is_owner:
            alike = self.ended_by.get(item.item_id) == (guard.claim_token, _payload(change))
            return "replayed" if alike and item.status in FINAL else "LeaseLost"
        return "accepted" if item.status in MAY[type(change)] else "LeaseLost"

    # owners

    def _owner(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        if told.asked is None:
            return
        items, promised = dict(before.items), dict[int, OutboxRow]()
        for change, answer in zip(told.asked, told.answer, strict=True):
            name = change.guard.item_id
            expected = self._verdict(change, items.get(name), before.now)
            if _said(answer) != expected:
                yield f"{name}: {_said(answer)} where {expected} was due, for {change}"
            elif expected == "accepted":
                yield from self._change_faults(items[name], change, answer, before.now)
                yield from _file_faults(getattr(change, "files", ()), answer.rows)
                promised |= {row.seq: row for row in answer.rows}
                items[name] = answer.item
            elif expected == "replayed":
                first = self.answered.get(change.guard.request_id, (None, items[name]))[1]
                if answer.item != first:
                    yield f"{name}: a repeat was told {answer.item}, at first it was {first}"
                if not {row.seq for row in answer.rows} <= set(before.outbox):
                    yield f"{name}: a repeat was told files that were delivered"
        yield from _outbox_faults(before, after, promised)
        if items == before.items and not promised:
            yield from _unchanged(before, after)

    _again = _owner

    def _change_faults(self, item: Item, change: Change, answer: Answer, now: Instant) -> Iterator[str]:
        new = answer.item
        assert new is not None
        self.answered[change.guard.request_id] = (_payload(change), new)
        due: dict[str, Any] = {"status": item.status, "rev": 1, "consumed": 0}
        match change:
            case Start():
                due |= {"status": "running"}
            case Heartbeat(ttl_seconds=seconds):
                self.holds[change.guard.claim_token] = now.boot_seconds + seconds
            case Complete() | Fail():
                end, consumes = (
                    ("succeeded", 1) if isinstance(change, Complete) else ("failed", change.consumes_attempt)
                )
                due |= {"status": end, "consumed": consumes}
                self.ended_by[item.item_id] = (change.guard.claim_token, _payload(change))
            case Stall(requeue_at=None):
                due |= {"status": "stalled", "consumed": change.consumes_attempt}
            case Stall():
                then = "failed" if item.cancel_requested else "queued"
                due |= {"status": then, "consumed": change.consumes_attempt, "rev": 2}
        found = {
            "status": new.status,
            "rev": new.rev - item.rev,
            "consumed": new.attempts_consumed - item.attempts_consumed,
        }
        if found != due:
            yield f"{item.item_id}: {type(change).__name__} made {found}, {due} was due"

    def _claim(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        shift_id, limit, wanted, started = told.asked
        if not self.lives(shift_id, before.now):
            yield from _refused(before, told, after, LeaseLost)
            return
        if told.raised is not None:
            yield f"a living shift was refused: {told.raised}"
            return
        able = {name for name, item in before.items.items() if may_run(item, self.drafts[name], wanted, before.now)}
        taken = [claimed.item.item_id for claimed, _ in told.answer]
        over, named = exceeded(after, self.drafts), {name: limits_of(self.drafts[name]) for name in able}
        left = [
            name
            for name in able.difference(taken)
            if not named[name].intersection(exceeded(after, self.drafts, [name]))
        ]
        if len(taken) > limit or (len(taken) < limit and left):
            yield f"{taken} were claimed, at most {limit}, and {left} could be too"
        promised = dict[int, OutboxRow]()
        for claimed, rows in told.answer:
            new = claimed.item
            if new.item_id not in able or named[new.item_id].intersection(over):
                yield f"{new.item_id} was claimed, and may not run"
            if new.shift_id != shift_id or new.status != ("running" if started else "claimed"):
                yield f"{new.item_id} is {new.status} of {new.shift_id}"
            if len(rows) != 2 * started:
                yield f"{new.item_id} was started with {len(rows)} files"
            yield from self._new_token(new)
            promised |= {row.seq: row for row in rows}
        yield from _outbox_faults(before, after, promised)

    def _new_token(self, item: Item) -> Iterator[str]:
        assert item.claim_token is not None
        if item.claim_token in self.tokens:
            yield f"{item.item_id}: token {item.claim_token} was used before"
        self.tokens.add(item.claim_token)

    # takers, operators

    def _adopt(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        if told.asked is None:
            return
        (shift_id, adoption), answer = told.asked, told.answer
        old = before.items[adoption.item_id]
        payload = ("adopt", adoption.item_id, adoption.rev, shift_id)
        if adoption.request_id in self.answered:
            expected = "replayed" if self.answered[adoption.request_id][0] == payload else "UsageError"
        else:
            can = self.lives(shift_id, before.now) and self._is_left(old, adoption.rev, before.now)
            expected = "accepted" if can else "LeaseLost"
        if _said(answer) != expected:
            yield f"{old.item_id}: {_said(answer)} where {expected} was due, for {adoption} by {shift_id}"
        elif expected == "accepted":
            new = answer.item
            kept = replace(new, **{name: getattr(old, name) for name in _ADOPTED})
            if kept != old or (new.status, new.shift_id, new.rev) != ("running", shift_id, old.rev + 3):
                yield f"{old.item_id}: adopted, it became {new}"
            self.answered[adoption.request_id] = (payload, new)
            yield from self._new_token(new)
        else:
            yield from _unchanged(before, after)

    _adopt_again = _adopt

    def _is_left(self, item: Item, rev: int, now: Instant) -> bool:
        return item.status in OWNED and item.rev == rev and not self._owns(item, now)

    def _lost(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        if told.asked is None:
            return
        name, rev, files = told.asked
        old = before.items[name]
        expected = "accepted" if self._is_left(old, rev, before.now) else "LeaseLost"
        yield from _answer_faults(before, told.answer, after, files=files, expected=expected)
        if expected == "accepted":
            new = after.items[name]
            if (new.status, new.recoveries, new.rev) != ("stalled", old.recoveries + 1, old.rev + 1):
                yield f"{name}: lost, it became {new}"

    def _steer(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        if told.asked is None:
            return
        verb, name, rev, files = told.asked
        old = before.items[name]
        expected = "accepted" if old.status == "stalled" and old.rev == rev else "LeaseLost"
        yield from _answer_faults(before, told.answer, after, files=files, expected=expected)
        if expected == "accepted":
            due = "failed" if verb == "abandon" or old.cancel_requested else "queued"
            if after.items[name].status != due:
                yield f"{name}: {verb} made it {after.items[name].status}"

    def _cancel(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        name = ItemId(told.asked)
        old = before.items.get(name)
        if old is None and name not in before.waiting:
            yield from _refused(before, told, after, UsageError)
            return
        self.gave_up |= {name} if old is None else set()
        new, rows = after.items[name], told.answer.rows
        yield from _outbox_faults(before, after, {row.seq: row for row in rows})
        if old is not None and old.status in FINAL:
            yield from _unchanged(before, after)
        elif old is not None and old.status in OWNED:
            if new != replace(old, cancel_requested=True):
                yield f"{name} is owned, and a request made it {new}"
        elif new.status != "failed" or (new.error or {}).get("code") != "canceled" or len(rows) != 1:
            yield f"{name}: canceled, it became {new}, with {len(rows)} files"

    # shifts, intake, files

    def _begin(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        now = before.now
        self.leases[told.asked] = Lease(boot_id=now.boot_id, until=now.boot_seconds + TTL_SECONDS)
        if told.raised is not None or told.asked not in after.shifts:
            yield f"a fresh shift was refused: {told.raised}"

    def _renew(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        lease = self.leases.get(told.asked)
        if lease is None or not lease.lives(before.now):
            yield from _refused(before, told, after, LeaseLost)
            return
        lease.until = before.now.boot_seconds + TTL_SECONDS
        if told.raised is not None or after.shifts[told.asked].expires_boot_seconds != lease.until:
            yield f"{told.asked}: renewed until {lease.until}, the store has {after.shifts[told.asked]}"

    def _end(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        if told.asked not in self.leases:
            yield from _refused(before, told, after, UsageError)
            return
        self.leases[told.asked].ended = True
        if after.shifts[told.asked].ended_at is None:
            yield f"{told.asked} was ended, and lives"

    def _submit(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        drafts, files, _ = told.asked
        if told.raised is not None:
            yield from _refused(before, told, after, UsageError)
        elif not told.answer.created:
            yield from _unchanged(before, after)
        else:
            self.drafts |= {one.item_id: one for one in drafts}
            yield from _file_faults(files, told.answer.rows)
            yield from _outbox_faults(before, after, {row.seq: row for row in told.answer.rows})

    def _enqueue(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        draft = told.asked
        if draft.step.batch_id not in {batch.batch_id for batch in before.batches}:
            yield from _refused(before, told, after, UsageError)
        elif draft.item_id in self.drafts:
            yield from _unchanged(before, after)
            if told.answer != before.items.get(draft.item_id):
                yield f"{draft.item_id}: a known key was told {told.answer}"
        else:
            self.drafts[draft.item_id] = draft

    def _plan(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        for draft, answer in zip(told.asked, told.answer, strict=True):
            expected = "replayed" if draft.item_id in self.drafts else "accepted"
            if _said(answer) != expected or answer.item != after.items[draft.item_id]:
                yield f"{draft.item_id}: {_said(answer)} with {answer.item} where {expected} was due"
            self.drafts.setdefault(draft.item_id, draft)
        yield from _outbox_faults(before, after, {})

    def _limit(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        limit_key, maximum = told.asked
        due = {key: most for key, most in {**before.limits, limit_key: maximum}.items() if most is not None}
        if after.limits != due:
            yield f"limits are {after.limits}, {due} were set"
        yield from _unchanged(before, replace(after, limits=before.limits))

    def _held_faults(self, after: Seen) -> Iterator[str]:
        """Count who holds which key: no counter drifts, no slot leaks."""
        due = held(after, self.drafts)
        if {key: count for key, count in after.held.items() if count} != due:
            yield f"{after.held} are held, a recount says {due}"

    def _delivered(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        left = {seq: row for seq, row in before.outbox.items() if seq not in told.asked}
        if after.outbox != left:
            yield f"{told.asked} were delivered, the outbox has {list(after.outbox)}"

    def _quiet(self, before: Seen, told: Told, after: Seen) -> Iterator[str]:
        del told
        yield from _unchanged(before, replace(after, now=before.now))

    def _release_faults(self, after: Seen) -> Iterator[str]:
        """Whoever waits for nothing has a record, and nobody else: released once, not later than what released it."""
        for name, draft in self.drafts.items():
            waits = any(not self._is_met(one, after) for one in draft.waits) and name not in self.gave_up
            if waits != (name in after.waiting) or waits == (name in after.items):
                yield f"{name} {'waits' if waits else 'waits for nothing'}, the store says otherwise"

    def _is_met(self, waits: Waits, after: Seen) -> bool:
        ended = [item for item in after.items.values() if item.step == waits.step and item.status in FINAL]
        if waits.needs is Needs.SUCCEEDED:
            return any(item.status == "succeeded" for item in ended)
        runs = {attempt.item_id: attempt for attempt in after.attempts}  # the newest of each
        return any(item.item_id in runs and runs[item.item_id].facts.get(BASE) for item in ended)


_ADOPTED: Final = ("status", "rev", "attempt", "fence", "shift_id", "claim_token", "owner", "lease", "not_before")


def _payload(change: Change) -> Any:
    """Return what a change asks for: neither its rev nor its request id are part of that."""
    return replace(change, guard=replace(change.guard, rev=0, request_id=NO_REQUEST))


def _said(answer: Answer) -> str:
    if answer.refusal is not None:
        return type(answer.refusal).__name__
    return "replayed" if answer.replayed else "accepted"


def _answer_faults(
    before: Seen, answer: Answer, after: Seen, *, files: Sequence[FileDraft], expected: str
) -> Iterator[str]:
    if _said(answer) != expected:
        yield f"{_said(answer)} where {expected} was due"
    elif expected == "accepted":
        yield from _file_faults(files, answer.rows)
        yield from _outbox_faults(before, after, {row.seq: row for row in answer.rows})
    else:
        yield from _unchanged(before, after)


def _file_faults(files: Iterable[FileDraft], rows: Iterable[OutboxRow]) -> Iterator[str]:
    asked, promised = ([(one.path, one.file_class, one.content) for one in every] for every in (files, rows))
    if asked != promised:
        yield f"files {asked} were asked for, {promised} were promised"


def _outbox_faults(before: Seen, after: Seen, promised: dict[int, OutboxRow]) -> Iterator[str]:
    if after.outbox != {**before.outbox, **promised} or set(promised) & set(before.outbox):
        yield f"the outbox has {list(after.outbox)}, {list(promised)} came to {list(before.outbox)}"


def _refused(before: Seen, told: Told, after: Seen, kind: type[Exception]) -> Iterator[str]:
    if type(told.raised) is not kind:
        yield f"{told.raised or told.answer} where {kind.__name__} was due"
    yield from _unchanged(before, after)


def _unchanged(before: Seen, after: Seen) -> Iterator[str]:
    if before != after:
        yield "what was refused or said again changed something"
