"""All that can be read of a store at one moment, and what must hold of it: of each state, and of each step.

Written down from the contract, apart from the rules of the store: a rule that is wrong there is not wrong here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from teamster.kit import Instant
from teamster.model import Attempt, Event, Item, ItemId, OutboxRow, Shift, ShiftId
from teamster.store import Batch, Store, Waiting

OWNED: Final = frozenset({"claimed", "running"})
FINAL: Final = frozenset({"succeeded", "failed"})
STATUSES: Final = ("queued", "claimed", "running", "stalled", "succeeded", "failed")
LEGAL: Final = frozenset(  # event, from, to: contract v1, and its two extension moves
    {
        ("enqueued", None, "queued"),
        ("claimed", "queued", "claimed"),
        ("claimed", "stalled", "claimed"),
        ("started", "claimed", "running"),
        ("heartbeat", "claimed", "claimed"),
        ("heartbeat", "running", "running"),
        ("succeeded", "running", "succeeded"),
        ("failed", "running", "failed"),
        ("stalled", "claimed", "stalled"),
        ("stalled", "running", "stalled"),
        ("requeued", "stalled", "queued"),
        ("failed", "queued", "failed"),
        ("failed", "stalled", "failed"),
    }
)
READ_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One moment."""

    now: Instant
    items: Mapping[ItemId, Item]
    events: Mapping[ItemId, Sequence[Event]]
    attempts: Sequence[Attempt]
    waiting: Mapping[ItemId, Waiting]
    shifts: Mapping[ShiftId, Shift]
    batches: Sequence[Batch]
    counts: Sequence[Mapping[str, int]]  # of all, then of each batch
    outbox: Mapping[int, OutboxRow]
    feed: Sequence[tuple[ItemId, Event]]
    limits: Mapping[str, int]
    held: Mapping[str, int]


def look(store: Store, now: Instant) -> Seen:
    """Read all of a store."""
    items = store.items(limit=READ_MAX)
    batches = store.batches()
    return Seen(
        now=now,
        items={item.item_id: item for item in items},
        events={item.item_id: tuple(store.events(item.item_id)) for item in items},
        attempts=tuple(store.attempts()),
        waiting={one.draft.item_id: one for one in store.waiting(limit=READ_MAX)},
        shifts={shift.shift_id: shift for shift in store.shifts(ended=True)},
        batches=tuple(batches),
        counts=[store.counts(), *(store.counts(batch_id=batch.batch_id) for batch in batches)],
        outbox={row.seq: row for row in store.outbox(limit=READ_MAX)},
        feed=tuple((one.item_id, one.event) for one in store.events_after(limit=READ_MAX)),
        limits=dict(store.limits()),
        held=dict(store.held()),
    )


def state_faults(seen: Seen) -> Iterator[str]:
    """Say what is wrong with one state."""
    for item in seen.items.values():
        yield from _record_faults(item, seen)
        yield from _history_faults(item, seen.events[item.item_id])
    yield from _uniqueness_faults(seen)
    yield from _count_faults(seen)
    yield from _feed_faults(seen)


def _record_faults(item: Item, seen: Seen) -> Iterator[str]:
    """DC-rec, DC-own, DC-lease, DC-result."""
    name, status = item.item_id, item.status.value
    held = [part is not None for part in (item.owner, item.lease, item.claim_token, item.shift_id)]
    if held != [status in OWNED] * len(held):
        yield f"{name} is {status}, yet of owner, lease, token and shift it has {held}"
    if item.shift_id is not None and item.shift_id not in seen.shifts:
        yield f"{name} is owned by {item.shift_id}, which nobody knows"
    if (item.result is not None) != (status == "succeeded"):
        yield f"{name} is {status}, its result is {item.result}"
    if (item.error is not None) != (status == "failed") or (item.error is not None and not item.error.get("message")):
        yield f"{name} is {status}, its error is {item.error}"
    if name in seen.waiting:
        yield f"{name} has a record and waits for one"


def _history_faults(item: Item, events: Sequence[Event]) -> Iterator[str]:
    """DC-events, DC-life: one event for each rev, from where the last one led, none after an end."""
    name = item.item_id
    if not events:
        yield f"{name} has no history"
        return
    moves = [
        (event.type.value, event.from_status and event.from_status.value, event.to_status.value) for event in events
    ]
    yield from (f"{name}: no such move as {move}" for move in moves if move not in LEGAL)
    yield from (f"{name}: {one} is followed by {two}" for one, two in pairwise(moves) if one[2] != two[1])
    if moves[0][0] != "enqueued" or moves[-1][2] != item.status:
        yield f"{name} is {item.status}, its history says {moves}"
    if item.rev != len(events):
        yield f"{name}: rev {item.rev} after {len(events)} events"
    claims = sum(kind == "claimed" for kind, _, _ in moves)
    if not claims == item.attempt == item.fence:
        yield f"{name}: attempt {item.attempt} and fence {item.fence} after {claims} claims"
    if item.attempts_consumed > item.attempt:
        yield f"{name}: {item.attempts_consumed} attempts consumed of {item.attempt}"


def _uniqueness_faults(seen: Seen) -> Iterator[str]:
    """DC-claim, DC-beat: no token, event or request twice."""
    events = [event for history in seen.events.values() for event in history]
    kinds: dict[str, list[Any]] = {
        "claim token": [item.claim_token for item in seen.items.values()],
        "event": [event.event_id for event in events],
        "request": [event.request_id for event in events],
        "dedupe key": [item.dedupe_key for item in seen.items.values()],
        "run": [attempt.run_id for attempt in seen.attempts],
    }
    for kind, values in kinds.items():
        yield from (
            f"{kind} {one} is there {n} times" for one, n in Counter(values).items() if one is not None and n > 1
        )


def _feed_faults(seen: Seen) -> Iterator[str]:
    """Follow all events from the first cursor: each is met once, an item's in their order."""
    met: dict[ItemId, list[Event]] = {}
    for name, event in seen.feed:
        met.setdefault(name, []).append(event)
    if {name: tuple(events) for name, events in met.items()} != dict(seen.events):
        yield "who follows all events meets others than the histories have"


def _count_faults(seen: Seen) -> Iterator[str]:
    """Compare the tallies with a recount."""
    for batch, told in zip((None, *seen.batches), seen.counts, strict=True):

        def belongs(step: Any, of: Batch | None = batch) -> bool:
            return of is None or (step is not None and step.batch_id == of.batch_id)

        found = Counter(item.status.value for item in seen.items.values() if belongs(item.step))
        waiting = sum(belongs(one.draft.step) for one in seen.waiting.values())
        recount = {"waiting": waiting, **{status: found[status] for status in STATUSES}}
        if dict(told) != recount:
            yield f"counts of {batch and batch.batch_id}: {dict(told)}, a recount says {recount}"


def step_faults(before: Seen, after: Seen) -> Iterator[str]:
    """Say what one step did that no step may do."""
    for name, old in before.items.items():
        new = after.items.get(name)
        if new is None:
            yield f"{name} is gone"
            continue
        grown = _grown(before.events[name], after.events[name])
        if grown is None:
            yield f"{name}: its history was changed"
            continue
        yield from _growth_faults(old, new, grown)


def _grown(old: Sequence[Event], new: Sequence[Event]) -> Sequence[Event] | None:
    return new[len(old) :] if tuple(new[: len(old)]) == tuple(old) else None


def _growth_faults(old: Item, new: Item, grown: Sequence[Event]) -> Iterator[str]:
    name, claims = old.item_id, sum(event.type == "claimed" for event in grown)
    if old.status in FINAL and new != old:
        yield f"{name} was {old.status} and became {new}"
    if new.rev - old.rev != len(grown):
        yield f"{name}: rev grew by {new.rev - old.rev} with {len(grown)} events"
    if (new.attempt - old.attempt, new.fence - old.fence) != (claims, claims):
        yield f"{name}: attempt or fence grew other than with {claims} claims"
    if new.attempts_consumed < old.attempts_consumed:
        yield f"{name}: attempts consumed fell"
    if not grown and replace(new, lease=old.lease, cancel_requested=old.cancel_requested) != old:
        yield f"{name} changed without an event: {old} became {new}"
    if old.cancel_requested and not new.cancel_requested and new.status not in FINAL:
        yield f"{name}: the request to cancel was forgotten"
    if old.cancel_requested and any(event.type == "requeued" for event in grown):
        yield f"{name} was queued again, though somebody asked to cancel it"
    if None not in (old.claim_token, new.claim_token) and (old.claim_token == new.claim_token) != (not claims):
        yield f"{name}: token {old.claim_token} became {new.claim_token} with {claims} claims"
