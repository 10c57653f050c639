"""What SQL stores share: the rules over one ledger, the reads, and the large submissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TypeVar

from teamster.kit import Instant, Names, iso
from teamster.model import (
    Attempt,
    BatchId,
    Event,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    JobId,
    JsonObject,
    LeaseLost,
    OutboxRow,
    Shift,
    ShiftId,
    StepKey,
    UsageError,
)
from teamster.store import owning, rows, sql, sql_choosing, sql_reading, steering
from teamster.store.engine import Engine
from teamster.store.leases import require_shift
from teamster.store.ledger import NOTHING, Reach, Turn
from teamster.store.limits import require_count, require_limit
from teamster.store.releasing import enqueue_one
from teamster.store.sql_ledger import SqlLedger
from teamster.store.sql_submit import CHUNK_ROWS_MAX, Submitter
from teamster.store.values import (
    ANY_ITEM,
    Adoption,
    Answer,
    Batch,
    BatchDraft,
    Change,
    Claimed,
    ClaimFilter,
    Complete,
    Drafter,
    Fail,
    ItemDraft,
    Noticed,
    Released,
    Stall,
    Submission,
    Waiting,
)

T = TypeVar("T")


class SqlStore:
    """The queue in a database. What each method promises stands in `Store`."""

    def __init__(self, database: Engine, *, names: Names) -> None:
        self._database = database
        self._names = names

    def _turn(self, at: Instant, work: Callable[[Turn], T], reach: Reach = NOTHING) -> T:
        """Run one transaction. Its whole work is known, so that a store may run it again where it wrote nothing."""
        del reach  # SQLite has one lock for all, and takes it at the beginning
        with SqlLedger.open(self._database) as ledger:
            return work(Turn(ledger=ledger, names=self._names, at=at))

    # shifts

    def begin_shift(self, shift: Shift) -> None:
        """Make the right to claim. The id must be new."""
        with self._database.transaction():
            if self._database.run(sql.ADD_SHIFT, rows.shift_to_row(shift)) != 1:
                raise UsageError(f"shift {shift.shift_id} was begun before", hint="each start needs a fresh id")

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Move the end of the lease to `at` + its TTL."""
        with self._database.transaction():
            row = self._database.row(sql.SHIFT_BY_ID, (shift_id,))
            found = None if row is None else rows.shift_from_row(row)
            shift = require_shift(found, shift_id=shift_id, at=at)
            until = at.after(shift.ttl_seconds)
            ends = (until.boot_seconds, iso(until.wall), iso(at.wall))
            if self._database.run(sql.RENEW_SHIFT, (*ends, shift_id, at.boot_id, at.boot_seconds)) != 1:
                raise LeaseLost(f"shift {shift_id}: it was ended meanwhile", hint="begin a new shift")
            row = self._database.row(sql.SHIFT_BY_ID, (shift_id,))
            assert row is not None
            return rows.shift_from_row(row)

    def end_shift(self, shift_id: ShiftId, *, at: Instant) -> None:
        """Give the lease back."""
        with self._database.transaction():
            if self._database.row(sql.SHIFT_BY_ID, (shift_id,)) is None:
                raise UsageError(f"there is no shift {shift_id}")
            self._database.run(sql.END_SHIFT, (iso(at.wall), shift_id))

    def moment(self, at: Instant) -> Instant:
        """Return the moment that counts."""
        return at

    def shifts(self, *, ended: bool = False) -> Sequence[Shift]:
        """Return the shifts that own something or were not ended."""
        found = self._database.rows(sql.SHIFTS_ALL if ended else sql.SHIFTS_OPEN)
        return [rows.shift_from_row(row) for row in found]

    # what comes in

    def submit(self, batch: BatchDraft, *, at: Instant) -> Submission:
        """Enqueue a batch."""
        return Submitter(self._database, batch, names=self._names, at=at).submit()

    def enqueue(self, draft: ItemDraft, *, at: Instant) -> Item | None:
        """Enqueue one item of a known batch, or of a collection."""
        (answer,) = self.enqueue_many([draft], at=at)
        if answer.refusal is not None:
            raise answer.refusal
        return answer.item

    def enqueue_many(self, drafts: Sequence[ItemDraft], *, at: Instant) -> Sequence[Answer]:
        """Enqueue items, each with its own answer."""
        answers: list[Answer] = []
        for start in range(0, len(drafts), CHUNK_ROWS_MAX):
            answers += self._enqueue_chunk(drafts[start : start + CHUNK_ROWS_MAX], at)
        return answers

    def _enqueue_chunk(self, drafts: Sequence[ItemDraft], at: Instant) -> Sequence[Answer]:
        def work(turn: Turn) -> Sequence[Answer]:
            turn.ledger.expect(drafts)
            return [enqueue_one(turn, draft) for draft in drafts]

        return self._turn(at, work, Reach(admits=True))

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

        def work(turn: Turn) -> Sequence[tuple[Claimed, tuple[OutboxRow, ...]]]:
            shift = require_shift(turn.ledger.shift(shift_id), shift_id=shift_id, at=turn.at, host=turn.host)
            chosen = sql_choosing.chosen(self._database, shift, limit=limit, at=turn.at, wanted=wanted)
            free = (item_id for item_id in chosen if self._is_free(turn, item_id))
            return [
                owning.claim_one(turn, item_id, shift=shift, place=place, begin=begin)
                for place, item_id in enumerate(free)
            ]

        return self._turn(at, work, Reach(shift_id=shift_id, claims=True))

    def _is_free(self, turn: Turn, item_id: ItemId) -> bool:
        """Tell whether nobody else is about to change an item that a claim has chosen."""
        del turn, item_id
        return True

    def apply(self, changes: Sequence[Change], *, at: Instant, delivered: Sequence[int] = ()) -> Sequence[Answer]:
        """Carry out owners' moves in one transaction, each with its own answer; drop delivered outbox rows too."""

        def work(turn: Turn) -> Sequence[Answer]:
            self._database.run_many(sql.DROP_PROMISE, [(seq,) for seq in delivered])
            return [owning.change_one(turn, change) for change in changes]

        return self._turn(at, work, _reach_of(changes))

    def adopt(self, shift_id: ShiftId, adoptions: Sequence[Adoption], *, at: Instant) -> Sequence[Answer]:
        """Take over items whose shift is over and whose agent lives."""
        reach = Reach(items=tuple(adoption.item_id for adoption in adoptions), shift_id=shift_id)
        return self._turn(
            at, lambda turn: [owning.adopt_one(turn, adoption, shift_id=shift_id) for adoption in adoptions], reach
        )

    def together(self) -> AbstractContextManager[None]:
        """Make the owner's moves of a block one transaction."""
        return self._database.together()

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

        def work(turn: Turn) -> Answer:
            return steering.stall_lost(turn, item_id, rev=rev, error=error, attempt=attempt, files=files, began=began)

        return self._turn(at, work, Reach(items=(item_id,)))

    def requeue(self, item_id: ItemId, *, rev: int, at: Instant, not_before: datetime | None) -> Answer:
        """Requeue a stalled item, by policy or an operator."""
        reach = Reach(items=(item_id,), ends=(item_id,))
        return self._turn(at, lambda turn: steering.requeue_one(turn, item_id, rev=rev, not_before=not_before), reach)

    def abandon(
        self, item_id: ItemId, *, rev: int, at: Instant, error: JsonObject, files: Sequence[FileDraft] = ()
    ) -> Answer:
        """Give up on a stalled item, by policy or an operator."""
        reach = Reach(items=(item_id,), ends=(item_id,))
        return self._turn(at, lambda turn: steering.abandon(turn, item_id, rev=rev, error=error, files=files), reach)

    def request_cancel(
        self,
        item_id: ItemId,
        *,
        at: Instant,
        actor: str,
        draft: Callable[[Item], tuple[Attempt | None, tuple[FileDraft, ...]]],
    ) -> Released:
        """Cancel an item, or leave a request for its owner."""
        reach = Reach(items=(item_id,), ends=(item_id,))
        return self._turn(at, lambda turn: steering.request_cancel(turn, item_id, actor=actor, draft=draft), reach)

    def cancel_requests(self, shift_id: ShiftId) -> Sequence[ItemId]:
        """Return the owned items of a shift for which somebody asked to cancel."""
        return [ItemId(row[0]) for row in self._database.rows(sql.CANCEL_REQUESTS, (shift_id,))]

    # reading

    def get(self, item_id: ItemId) -> Item | None:
        """Return one item."""
        return sql_reading.one_item(self._database, sql.ITEM_BY_ID, item_id)

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from."""
        row = self._database.row(sql.DRAFT_BY_ID, (item_id,))
        return None if row is None else rows.draft_from_row(row)

    def find(self, *, dedupe_key: str) -> Item | None:
        """Return the item of a dedupe key, if it has a record."""
        return sql_reading.one_item(self._database, sql.ITEM_BY_KEY, dedupe_key)

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
        if status is not None and status not in set(ItemStatus):
            return []
        statement, values = sql_reading.items_statement(
            batch_id=batch_id,
            job_id=job_id,
            shift_id=shift_id,
            status=None if status is None else ItemStatus(status),
            limit=limit,
            after=after,
        )
        return [rows.entry_from_row(row).item for row in self._database.rows(statement, values)]

    def waiting(self, *, batch_id: BatchId | None = None, limit: int = 1000) -> Sequence[Waiting]:
        """Return the items that have no record yet, in the order of their drafts, with what they wait for."""
        require_count("limit", limit)
        return sql_reading.waiting(self._database, batch_id=batch_id, limit=limit)

    def events(self, item_id: ItemId) -> Sequence[Event]:
        """Return an item's history, oldest first."""
        return [rows.event_from_row(row) for row in self._database.rows(sql.EVENTS, (item_id,))]

    def events_after(self, cursor: str = "", *, limit: int = 1000) -> Sequence[Noticed]:
        """Return what happened to all items after a cursor, oldest first."""
        require_count("limit", limit)
        return sql_reading.noticed(self._database, cursor, limit=limit)

    def attempts(
        self, *, step: StepKey | None = None, job: tuple[BatchId, JobId] | None = None, item_id: ItemId | None = None
    ) -> Sequence[Attempt]:
        """Return attempts of a step, a job or an item, oldest first."""
        return sql_reading.attempts(self._database, step=step, job=job, item_id=item_id)

    def batch(self, batch_id: BatchId) -> Batch | None:
        """Return one batch."""
        row = self._database.row(sql.BATCH_BY_ID, (batch_id,))
        return None if row is None else rows.batch_from_row(row)

    def batches(self) -> Sequence[Batch]:
        """Return all batches, newest first."""
        return [rows.batch_from_row(row) for row in self._database.rows(sql.BATCHES)]

    def counts(self, *, batch_id: BatchId | None = None) -> Mapping[str, int]:
        """Return how many items have each status, and `waiting` for those without a record."""
        found = self._database.row(*((sql.COUNTS,) if batch_id is None else (sql.COUNTS_OF_BATCH, (batch_id,))))
        return dict(zip(sql.TALLY_COLUMNS, found or (0,) * len(sql.TALLY_COLUMNS), strict=True))

    def next_due(self, *, batch_id: BatchId | None = None) -> datetime | None:
        """Return when the next queued item may run."""
        found = self._database.row(*((sql.NEXT_DUE,) if batch_id is None else (sql.NEXT_DUE_OF_BATCH, (batch_id,))))
        return None if found is None else rows.moment(found[0])

    # limits

    def set_limit(self, limit_key: str, maximum: int | None) -> None:
        """Say how many items that name a key may be owned at once."""
        require_limit(limit_key, maximum)
        with self._database.transaction():
            if maximum is None:
                self._database.run(sql.DROP_LIMIT, (limit_key,))
            else:
                self._database.run(sql.PUT_LIMIT, (limit_key, maximum))

    def limits(self) -> Mapping[str, int]:
        """Return all limits that were set."""
        return dict(self._database.rows(sql.LIMITS))

    def held(self) -> Mapping[str, int]:
        """Return how many owned items hold each key, and how many there are in all."""
        with self._database.snapshot():
            return sql_choosing.usage_of(self._database).shown()

    # the outbox

    def outbox(self, *, limit: int = 1000, after: int = 0) -> Sequence[OutboxRow]:
        """Return promised files in order."""
        require_count("limit", limit)
        return [rows.promise_from_row(row) for row in self._database.rows(sql.OUTBOX, (after, limit))]

    def orphaned_outbox(self, *, at: Instant, limit: int = 1000) -> Sequence[OutboxRow]:
        """Return promised files that nobody's living shift will write."""
        require_count("limit", limit)
        found = self._database.rows(sql.ORPHANS, (at.boot_id, at.boot_seconds, limit))
        return [rows.promise_from_row(row) for row in found]

    def delivered(self, seqs: Sequence[int]) -> None:
        """Drop rows whose files were flushed."""
        with self._database.transaction():
            self._database.run_many(sql.DROP_PROMISE, [(seq,) for seq in seqs])

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _reach_of(changes: Sequence[Change]) -> Reach:
    """Return what owners' moves touch: a stall may turn into an end where somebody asked for one."""
    return Reach(
        items=tuple(change.guard.item_id for change in changes),
        requests=tuple(change.guard.request_id for change in changes),
        ends=tuple(change.guard.item_id for change in changes if isinstance(change, Complete | Fail | Stall)),
    )
