"""The dictionaries of the memory store, and one transaction on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from teamster.model import (
    FINAL_STATUSES,
    Attempt,
    BatchId,
    ClaimToken,
    Event,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    OutboxRow,
    RequestId,
    RunId,
    Shift,
    ShiftId,
    StepKey,
    UsageError,
    is_collection,
)
from teamster.store.leases import lease_of
from teamster.store.ledger import Ending, Entry, Repeat, Request, Waiter
from teamster.store.payload import require_json
from teamster.store.values import Batch, ItemDraft, Waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A row of the outbox, with who promised it."""

    row: OutboxRow
    shift_id: ShiftId | None
    request_id: RequestId | None


@dataclass(slots=True, kw_only=True)
class Tables:
    """All that the store knows. Every value is frozen, so that a copy of the dictionaries is a snapshot."""

    batches: dict[BatchId, Batch] = field(default_factory=dict)
    shifts: dict[ShiftId, Shift] = field(default_factory=dict)
    drafts: dict[ItemId, ItemDraft] = field(default_factory=dict)
    unmet: dict[ItemId, tuple[Waits, ...]] = field(default_factory=dict)  # of drafts without a record
    items: dict[ItemId, Entry] = field(default_factory=dict)  # in the order of their enqueueing
    events: dict[ItemId, tuple[Event, ...]] = field(default_factory=dict)
    answers: dict[RequestId, tuple[Item, str]] = field(default_factory=dict)
    attempts: dict[RunId, Attempt] = field(default_factory=dict)
    outbox: dict[int, Promise] = field(default_factory=dict)
    sequence: dict[str, int] = field(default_factory=dict)
    feed: dict[int, tuple[ItemId, Event]] = field(default_factory=dict)  # the events of all items, from 1 on
    limits: dict[str, int] = field(default_factory=dict)
    served: dict[BatchId, int] = field(default_factory=dict)  # when each batch last had its turn

    def copy(self) -> Tables:
        """Return a snapshot."""
        return Tables(**{each.name: dict(getattr(self, each.name)) for each in fields(self)})

    def entry(self, item_id: ItemId) -> Entry | None:
        """Return an item with its owner's shift as it is now."""
        found = self.items.get(item_id)
        if found is None:
            return None
        shift = None if found.item.shift_id is None else self.shifts[found.item.shift_id]
        return replace(found, item=self.show(found), shift=shift)

    def show(self, entry: Entry) -> Item:
        """Return an item with its lease as its shift has renewed it."""
        item = entry.item
        if item.shift_id is None:
            return item
        own = None if entry.held_until_boot_seconds is None else item.lease
        return replace(item, lease=lease_of(self.shifts[item.shift_id], own))

    def notice(self, item_id: ItemId, events: Iterable[Event]) -> None:
        """Append events to the history of an item and of all items."""
        self.events[item_id] = (*self.events.get(item_id, ()), *events)
        first = len(self.feed) + 1
        self.feed.update((number, (item_id, event)) for number, event in enumerate(events, start=first))

    def drop_outbox(self, seqs: Iterable[int]) -> None:
        """Drop delivered rows."""
        for seq in seqs:
            self.outbox.pop(seq, None)


class MemoryLedger:
    """One transaction: it writes into a snapshot that the store takes over at the end."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def shift(self, shift_id: ShiftId) -> Shift | None:
        """Return a shift."""
        return self.tables.shifts.get(shift_id)

    def entry(self, item_id: ItemId) -> Entry | None:
        """Return an item that has a record."""
        return self.tables.entry(item_id)

    def record(
        self,
        before: Entry,  # noqa: ARG002 - a database has a row of it
        after: Item,
        events: Sequence[Event],
        *,
        request: Request | None = None,
        held_until_boot_seconds: float | None = None,
    ) -> None:
        """Replace an item and append its events."""
        item_id = after.item_id
        self.tables.items[item_id] = Entry(item=after, shift=None, held_until_boot_seconds=held_until_boot_seconds)
        self.tables.notice(item_id, events)
        if request is not None:
            self.tables.answers[request.request_id] = (after, request.digest)

    def repeat(self, request_id: RequestId) -> Repeat | None:
        """Return the first answer to a request."""
        if request_id not in self.tables.answers:
            return None
        item, digest = self.tables.answers[request_id]
        rows = tuple(promise.row for promise in self.tables.outbox.values() if promise.request_id == request_id)
        return Repeat(item=item, digest=digest, rows=rows)

    def ending(self, item_id: ItemId) -> Ending | None:
        """Return who ended an item, if an owner did."""
        last = self.tables.events[item_id][-1]
        if last.request_id is None or "claim_token" not in last.data:
            return None
        _, digest = self.tables.answers[last.request_id]
        return Ending(claim_token=ClaimToken(last.data["claim_token"]), digest=digest)

    def put_attempt(self, attempt: Attempt) -> None:
        """Add an attempt, or replace it."""
        self.tables.attempts[attempt.run_id] = attempt

    def last_attempt(self, item_id: ItemId) -> Attempt | None:
        """Return the newest attempt of an item."""
        found = [attempt for attempt in self.tables.attempts.values() if attempt.item_id == item_id]
        return found[-1] if found else None

    def drop_attempt(self, attempt: Attempt) -> None:
        """Remove an attempt that never was."""
        del self.tables.attempts[attempt.run_id]

    def attempts_of(self, step: StepKey) -> tuple[Attempt, ...]:
        """Return the attempts of a step, oldest first."""
        return tuple(attempt for attempt in self.tables.attempts.values() if attempt.step == step)

    def promise(
        self,
        files: Sequence[FileDraft],
        *,
        about: StepKey | BatchId | None,
        shift_id: ShiftId | None,
        request: Request | None = None,
    ) -> tuple[OutboxRow, ...]:
        """Add files to the outbox, with what they are about and who will write them."""
        batch_id, job_id = (about.batch_id, about.job_id) if isinstance(about, StepKey) else (about, None)
        request_id = None if request is None else request.request_id
        rows = []
        for file in (file for file in files if file.root_id is None):  # one root has it for itself
            seq = self.tables.sequence["outbox"] = self.tables.sequence.get("outbox", 0) + 1
            row = OutboxRow(
                seq=seq,
                path=file.path,
                file_class=file.file_class,
                content=file.content,
                batch_id=batch_id,
                job_id=job_id,
            )
            self.tables.outbox[seq] = Promise(row=row, shift_id=shift_id, request_id=request_id)
            rows.append(row)
        return tuple(rows)

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from."""
        return self.tables.drafts.get(item_id)

    def waits_of(self, item_id: ItemId) -> tuple[Waits, ...]:
        """Return all that an item waited for at first."""
        return self.tables.drafts[item_id].waits

    def expect(self, drafts: Sequence[ItemDraft]) -> None:
        """Hear which drafts are about to come."""

    def known(self, dedupe_key: str) -> ItemId | None:
        """Return the item that has a dedupe key."""
        return next((one.item_id for one in self.tables.drafts.values() if one.dedupe_key == dedupe_key), None)

    def has_home(self, home: BatchId) -> bool:
        """Tell whether a batch is there; a collection always is."""
        return home in self.tables.batches or is_collection(home)

    def add_draft(self, draft: ItemDraft, *, unmet: Sequence[Waits]) -> None:
        """Keep a draft with what it still waits for."""
        if draft.item_id in self.tables.drafts:
            raise UsageError(f"item {draft.item_id} exists", hint="each item needs a fresh id")
        if any(known.dedupe_key == draft.dedupe_key for known in self.tables.drafts.values()):
            raise UsageError(f"item {draft.item_id}: its dedupe key {draft.dedupe_key} is taken")
        require_json("what is to be kept", [draft.target, draft.spec])
        self.tables.drafts[draft.item_id] = draft
        if unmet:
            self.tables.unmet[draft.item_id] = tuple(unmet)

    def enqueue(self, item: Item, event: Event) -> None:
        """Give a draft its record."""
        self.tables.unmet.pop(item.item_id, None)
        self.tables.items[item.item_id] = Entry(item=item, shift=None)
        self.tables.notice(item.item_id, (event,))

    def ends_of(self, step: StepKey) -> Sequence[tuple[ItemId, ItemStatus]]:
        """Return the items of a step that have ended."""
        return [
            (item_id, entry.item.status)
            for item_id, entry in self.tables.items.items()
            if entry.item.step == step and entry.item.status in FINAL_STATUSES
        ]

    def waiters(self, step: StepKey) -> Sequence[Waiter]:
        """Return who waits for a step, in the order of their drafts."""
        return [
            Waiter(item_id=item_id, needs=waits.needs)
            for item_id, unmet in self.tables.unmet.items()
            for waits in unmet
            if waits.step == step
        ]

    def meet(self, step: StepKey, waiters: Sequence[Waiter]) -> Sequence[ItemDraft]:
        """Strike out what these waited for; return the drafts that wait for nothing any more, in their order."""
        free = []
        for waiter in waiters:
            met = Waits(step=step, needs=waiter.needs)
            left = tuple(waits for waits in self.tables.unmet[waiter.item_id] if waits != met)
            self.tables.unmet[waiter.item_id] = left
            if not left:
                free.append(self.tables.drafts[waiter.item_id])
        return free
