"""The test twin: the whole queue in dictionaries, plainly right. It is the reference model of the other stores."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from teamster.kit import CountedNames, Instant, Names
from teamster.model import (
    OWNED_STATUSES,
    Attempt,
    BatchId,
    Event,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    JobId,
    JsonObject,
    OutboxRow,
    Shift,
    ShiftId,
    StepKey,
    UsageError,
)
from teamster.store import owning, steering
from teamster.store.feed import Position
from teamster.store.leases import is_over, require_shift
from teamster.store.ledger import Turn
from teamster.store.limits import EVERYTHING, require_count, require_limit
from teamster.store.memory_choosing import claimable, held_keys
from teamster.store.memory_ledger import MemoryLedger, Tables
from teamster.store.releasing import admit, enqueue_one
from teamster.store.values import (
    ANY_ITEM,
    Adoption,
    Answer,
    Batch,
    BatchDraft,
    Change,
    Claimed,
    ClaimFilter,
    Drafter,
    ItemDraft,
    Noticed,
    Released,
    Submission,
    Waiting,
)


class _Shared:
    """What several handles of one store share: the tables, and the lock that a database would have."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.lock = threading.RLock()


class MemoryStore:
    """A queue that is gone with its process. Handles that were opened on one another see the same state."""

    def __init__(self, *, names: Names | None = None) -> None:
        self._names: Names = names or CountedNames()
        self._shared = _Shared()

    @classmethod
    def open(cls, other: MemoryStore) -> MemoryStore:
        """Open another handle on the state of `other`, as a second connection would be."""
        handle = cls(names=other._names)
        handle._shared = other._shared
        return handle

    @contextmanager
    def _turn(self, at: Instant) -> Iterator[Turn]:
        """Run on a copy that replaces the tables at the end, or never."""
        with self._shared.lock:
            tables = self._shared.tables.copy()
            yield Turn(ledger=MemoryLedger(tables), names=self._names, at=at)
            self._shared.tables = tables

    @property
    def _tables(self) -> Tables:
        return self._shared.tables

    # shifts

    def begin_shift(self, shift: Shift) -> None:
        """Make the right to claim. The id must be new."""
        with self._shared.lock:
            if shift.shift_id in self._tables.shifts:
                raise UsageError(f"shift {shift.shift_id} was begun before", hint="each start needs a fresh id")
            self._tables.shifts[shift.shift_id] = shift

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Move the end of the lease to `at` + its TTL."""
        with self._shared.lock:
            shift = require_shift(self._tables.shifts.get(shift_id), shift_id=shift_id, at=at)
            renewed = replace(
                shift,
                renewed_at=at.wall,
                expires_at=at.wall + timedelta(seconds=shift.ttl_seconds),
                expires_boot_seconds=at.boot_seconds + shift.ttl_seconds,
            )
            self._tables.shifts[shift_id] = renewed
            return renewed

    def end_shift(self, shift_id: ShiftId, *, at: Instant) -> None:
        """Give the lease back."""
        with self._shared.lock:
            shift = self._tables.shifts.get(shift_id)
            if shift is None:
                raise UsageError(f"there is no shift {shift_id}")
            if shift.ended_at is None:
                self._tables.shifts[shift_id] = replace(shift, ended_at=at.wall)

    def moment(self, at: Instant) -> Instant:
        """Return the moment that counts."""
        return at

    def shifts(self, *, ended: bool = False) -> Sequence[Shift]:
        """Return the shifts that own something or were not ended."""
        owning_something = {entry.item.shift_id for entry in self._tables.items.values()}
        return [
            shift
            for shift in self._tables.shifts.values()
            if ended or shift.ended_at is None or shift.shift_id in owning_something
        ]

    # what comes in

    def submit(self, batch: BatchDraft, *, at: Instant) -> Submission:
        """Enqueue a batch."""
        with self._turn(at) as turn:
            tables = self._tables_of(turn)
            if (known := tables.batches.get(batch.batch_id)) is not None:
                return Submission(batch=known, created=False)
            made = Batch(batch_id=batch.batch_id, submitted_at=at.wall, concurrency=batch.concurrency, meta=batch.meta)
            tables.batches[batch.batch_id] = made
            for draft in batch.items:
                admit(turn, draft)
            rows = turn.ledger.promise(batch.files, about=batch.batch_id, shift_id=None)
            return Submission(batch=made, created=True, rows=rows)

    def enqueue(self, draft: ItemDraft, *, at: Instant) -> Item | None:
        """Enqueue one item of a known batch, or of a collection."""
        (answer,) = self.enqueue_many([draft], at=at)
        if answer.refusal is not None:
            raise answer.refusal
        return answer.item

    def enqueue_many(self, drafts: Sequence[ItemDraft], *, at: Instant) -> Sequence[Answer]:
        """Enqueue items, each with its own answer."""
        with self._turn(at) as turn:
            return [enqueue_one(turn, draft) for draft in drafts]

    def _tables_of(self, turn: Turn) -> Tables:
        assert isinstance(turn.ledger, MemoryLedger)
        return turn.ledger.tables

    # the owner's moves

    def claim(
        self,
        shift_id: ShiftId,
        *,
        limit: int,
        at: Instant,
        wanted: ClaimFilter = ANY_ITEM,
        begin: Drafter | None = None,
    ) -> Sequence[tuple[Claimed, tuple[OutboxRow, ...]]]:
        """Take up to `limit` items that may run."""
        require_count("limit", limit)
        with self._turn(at) as turn:
            shift = require_shift(turn.ledger.shift(shift_id), shift_id=shift_id, at=at)
            chosen = claimable(self._tables_of(turn), shift, limit=limit, at=at, wanted=wanted)
            return [
                owning.claim_one(turn, item_id, shift=shift, place=place, begin=begin)
                for place, item_id in enumerate(chosen)
            ]

    def apply(self, changes: Sequence[Change], *, at: Instant, delivered: Sequence[int] = ()) -> Sequence[Answer]:
        """Carry out owners' moves in one transaction, each with its own answer; drop delivered outbox rows too."""
        with self._turn(at) as turn:
            self._tables_of(turn).drop_outbox(delivered)
            return [owning.change_one(turn, change) for change in changes]

    def adopt(self, shift_id: ShiftId, adoptions: Sequence[Adoption], *, at: Instant) -> Sequence[Answer]:
        """Take over items whose shift is over and whose agent lives."""
        with self._turn(at) as turn:
            return [owning.adopt_one(turn, adoption, shift_id=shift_id) for adoption in adoptions]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the owner's moves of a block one transaction."""
        with self._shared.lock:
            before = self._shared.tables
            try:
                yield
            except BaseException:
                self._shared.tables = before
                raise

    # moves that nobody owns

    def stall_lost(
        self,
        item_id: ItemId,
        *,
        rev: int,
        at: Instant,
        error: JsonObject,
        attempt: Attempt | None,
        files: Sequence[FileDraft] = (),
        began: bool = True,
    ) -> Answer:
        """Stall an item whose shift is over and whose agent is gone."""
        with self._turn(at) as turn:
            return steering.stall_lost(turn, item_id, rev=rev, error=error, attempt=attempt, files=files, began=began)

    def requeue(self, item_id: ItemId, *, rev: int, at: Instant, not_before: datetime | None) -> Answer:
        """Requeue a stalled item, by policy or an operator."""
        with self._turn(at) as turn:
            return steering.requeue_one(turn, item_id, rev=rev, not_before=not_before)

    def abandon(
        self, item_id: ItemId, *, rev: int, at: Instant, error: JsonObject, files: Sequence[FileDraft] = ()
    ) -> Answer:
        """Give up on a stalled item, by policy or an operator."""
        with self._turn(at) as turn:
            return steering.abandon(turn, item_id, rev=rev, error=error, files=files)

    def request_cancel(
        self,
        item_id: ItemId,
        *,
        at: Instant,
        actor: str,
        draft: Callable[[Item], tuple[Attempt | None, tuple[FileDraft, ...]]],
    ) -> Released:
        """Cancel an item, or leave a request for its owner."""
        with self._turn(at) as turn:
            return steering.request_cancel(turn, item_id, actor=actor, draft=draft)

    def cancel_requests(self, shift_id: ShiftId) -> Sequence[ItemId]:
        """Return the owned items of a shift for which somebody asked to cancel."""
        return [item.item_id for item in self._items() if item.shift_id == shift_id and item.cancel_requested]

    # reading

    def get(self, item_id: ItemId) -> Item | None:
        """Return one item."""
        entry = self._tables.entry(item_id)
        return None if entry is None else entry.item

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from."""
        return self._tables.drafts.get(item_id)

    def find(self, *, dedupe_key: str) -> Item | None:
        """Return the item of a dedupe key, if it has a record."""
        return next((item for item in self._items() if item.dedupe_key == dedupe_key), None)

    def items(
        self,
        *,
        batch_id: BatchId | None = None,
        job_id: JobId | None = None,
        shift_id: ShiftId | None = None,
        status: str | None = None,
        limit: int = 1000,
        after: str = "",
    ) -> Sequence[Item]:
        """Return items in the order of their enqueueing (`after`: an item id), at most `limit`."""
        require_count("limit", limit)
        ids = list(self._tables.items)
        start = ids.index(ItemId(after)) + 1 if after in self._tables.items else 0
        found = [
            item
            for item in self._items()[start:]
            if (batch_id is None or self._tables.drafts[item.item_id].home == batch_id)
            and (job_id is None or (item.step is not None and item.step.job_id == job_id))
            and (shift_id is None or item.shift_id == shift_id)
            and (status is None or item.status == status)
        ]
        return found[:limit]

    def waiting(self, *, batch_id: BatchId | None = None, limit: int = 1000) -> Sequence[Waiting]:
        """Return the items that have no record yet, in the order of their drafts, with what they wait for."""
        require_count("limit", limit)
        tables = self._tables
        found = [
            Waiting(draft=tables.drafts[item_id], unmet=unmet)
            for item_id, unmet in tables.unmet.items()
            if batch_id is None or tables.drafts[item_id].home == batch_id
        ]
        return found[:limit]

    def events(self, item_id: ItemId) -> Sequence[Event]:
        """Return an item's history, oldest first."""
        return self._tables.events.get(item_id, ())

    def events_after(self, cursor: str = "", *, limit: int = 1000) -> Sequence[Noticed]:
        """Return what happened to all items after a cursor, oldest first."""
        require_count("limit", limit)
        start, feed = Position.parse(cursor).event, self._tables.feed
        return [
            Noticed(cursor=str(Position(event=number)), item_id=feed[number][0], event=feed[number][1])
            for number in range(start + 1, min(start + limit, len(feed)) + 1)
        ]

    def attempts(
        self, *, step: StepKey | None = None, job: tuple[BatchId, JobId] | None = None, item_id: ItemId | None = None
    ) -> Sequence[Attempt]:
        """Return attempts of a step, a job or an item, oldest first."""
        return [
            attempt
            for attempt in self._tables.attempts.values()
            if (step is None or attempt.step == step)
            and (job is None or (attempt.step.batch_id, attempt.step.job_id) == job)
            and (item_id is None or attempt.item_id == item_id)
        ]

    def batch(self, batch_id: BatchId) -> Batch | None:
        """Return one batch."""
        return self._tables.batches.get(batch_id)

    def batches(self) -> Sequence[Batch]:
        """Return all batches, newest first."""
        return list(reversed(self._tables.batches.values()))

    def counts(self, *, batch_id: BatchId | None = None) -> Mapping[str, int]:
        """Return how many items have each status, and `waiting` for those without a record."""
        found = Counter(
            item.status.value
            for item in self._items()
            if batch_id is None or self._tables.drafts[item.item_id].home == batch_id
        )
        waiting = len(self.waiting(batch_id=batch_id, limit=len(self._tables.drafts)))
        return {"waiting": waiting, **{status.value: found[status.value] for status in ItemStatus}}

    def next_due(self, *, batch_id: BatchId | None = None) -> datetime | None:
        """Return when the next queued item may run."""
        moments = [
            item.not_before or item.enqueued_at
            for item in self._items()
            if item.status is ItemStatus.QUEUED
            and (batch_id is None or self._tables.drafts[item.item_id].home == batch_id)
        ]
        return min(moments, default=None)

    # limits

    def set_limit(self, limit_key: str, maximum: int | None) -> None:
        """Say how many items that name a key may be owned at once."""
        require_limit(limit_key, maximum)
        with self._shared.lock:
            self._tables.limits.pop(limit_key, None)
            if maximum is not None:
                self._tables.limits[limit_key] = maximum

    def limits(self) -> Mapping[str, int]:
        """Return all limits that were set."""
        return dict(sorted(self._tables.limits.items()))

    def held(self) -> Mapping[str, int]:
        """Return how many owned items hold each key, and how many there are in all."""
        owned = [self._tables.drafts[item.item_id] for item in self._items() if item.status in OWNED_STATUSES]
        return {EVERYTHING: len(owned), **held_keys(owned)}

    # the outbox

    def outbox(self, *, limit: int = 1000, after: int = 0) -> Sequence[OutboxRow]:
        """Return promised files in order."""
        require_count("limit", limit)
        return [promise.row for seq, promise in self._tables.outbox.items() if seq > after][:limit]

    def orphaned_outbox(self, *, at: Instant, limit: int = 1000) -> Sequence[OutboxRow]:
        """Return promised files that nobody's living shift will write."""
        require_count("limit", limit)
        tables = self._tables
        living = {shift_id for shift_id, shift in tables.shifts.items() if not is_over(shift, at=at)}
        return [promise.row for promise in tables.outbox.values() if promise.shift_id not in living][:limit]

    def delivered(self, seqs: Sequence[int]) -> None:
        """Drop rows whose files were flushed."""
        with self._shared.lock:
            self._tables.drop_outbox(seqs)

    def close(self) -> None:
        """Let go of this handle; the state stays as long as another one has it."""

    def _items(self) -> list[Item]:
        return [self._tables.show(entry) for entry in self._tables.items.values()]
