"""One transaction on the SQLite file. What can wait is written at its end, many rows with one statement."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from teamster.model import (
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
    Shift,
    ShiftId,
    StepKey,
    UsageError,
    is_collection,
)
from teamster.store import rows, sql
from teamster.store.engine import Engine, Row
from teamster.store.ledger import Ending, Entry, Repeat, Request, Waiter
from teamster.store.routing import Lane, lane_of
from teamster.store.values import ItemDraft, Needs, Waits

HOUSE_SHIFT = ""  # rows of the outbox that whoever comes first writes


class SqlLedger:
    """The open transaction of one connection."""

    def __init__(self, database: Engine) -> None:
        self._database = database
        self._places: dict[ItemId, tuple[int, int]] = {}  # item to its seq and batch
        self._drafts: dict[ItemId, tuple[int, int]] = {}  # item to its draft's number and batch
        self._batches: dict[BatchId, int] = {}
        self._waits: dict[ItemId, str | None] = {}  # as text: few claims look at them
        self._lanes: dict[tuple[int, Lane], int] = {}
        self._events: list[Row] = []
        self._requests: set[RequestId] = set()  # of events that are not written yet
        self._promises: list[Row] = []
        self._last_promise: int | None = None
        self._counts: Counter[tuple[int, str]] = Counter()
        self.promiser: str = HOUSE_SHIFT  # who writes promises that no shift makes

    @classmethod
    @contextmanager
    def open(cls, database: Engine) -> Iterator[SqlLedger]:
        """Run one transaction."""
        with database.transaction():
            ledger = cls(database)
            yield ledger
            ledger.flush()

    def flush(self) -> None:
        """Write what was held back."""
        self._flush_events()
        if self._promises:
            self._database.run_many(sql.ADD_PROMISE, self._promises)
            self._promises = []
        for batch in {batch for batch, _ in self._counts}:
            changes = [self._counts[batch, column] for column in sql.TALLY_COLUMNS]
            if any(changes):
                self._count(batch, changes)
        self._counts.clear()

    def _count(self, batch: int, changes: Sequence[int]) -> None:
        self._database.write(sql.COUNT, (*changes, batch))

    def shift(self, shift_id: ShiftId) -> Shift | None:
        """Return a shift."""
        row = self._database.row(sql.SHIFT_BY_ID, (shift_id,))
        return None if row is None else rows.shift_from_row(row)

    def entry(self, item_id: ItemId) -> Entry | None:
        """Return an item that has a record."""
        row = self._database.row(sql.ITEM_BY_ID, (item_id,))
        return None if row is None else self._entry(item_id, row)

    def _entry(self, item_id: ItemId, row: Row) -> Entry:
        self._places[item_id] = (row[0], row[1])
        self._waits[item_id] = row[25]
        return rows.entry_from_row(row)

    def record(
        self,
        before: Entry,
        after: Item,
        events: Sequence[Event],
        *,
        request: Request | None = None,
        held_until_boot_seconds: float | None = None,
    ) -> None:
        """Replace an item and append its events; the one with the request carries its answer."""
        seq, batch = self._places[after.item_id]
        found = before.item
        values = rows.item_to_row(after, held_until_boot_seconds=held_until_boot_seconds)
        guard = (seq, found.rev, found.status.value, found.claim_token)
        self._database.write(sql.MOVE_ITEM, (*values, *guard), rows=1)
        if found.status is not after.status:
            self._counts[batch, found.status.value] -= 1
            self._counts[batch, after.status.value] += 1
        self._events += [self._event_row(seq, event, request, after) for event in events]

    def _event_row(self, seq: int, event: Event, request: Request | None, answer: Item) -> Row:
        digest = text = None
        if request is not None and event.request_id == request.request_id:
            digest = request.digest
            text = None if answer.is_final else rows.answer_to_text(answer)  # an end stands in the item for good
            self._requests.add(request.request_id)
        return (
            seq,
            event.event_id,
            event.type.value,
            None if event.from_status is None else event.from_status.value,
            event.to_status.value,
            rows.text_at(event.at),
            event.actor,
            event.request_id,
            rows.to_text(dict(event.data)) if event.data else None,
            digest,
            text,
        )

    def _flush_events(self) -> None:
        if self._events:
            self._database.run_many(sql.ADD_EVENT, self._events)
            self._events = []
            self._requests.clear()

    def repeat(self, request_id: RequestId) -> Repeat | None:
        """Return the first answer to a request."""
        if request_id in self._requests:
            self.flush()
        row = self._database.row(sql.REPEAT, (request_id,))
        if row is None:
            return None
        entry = self.entry(ItemId(row[2]))
        assert entry is not None
        item = entry.item if row[1] is None else replace(entry.item, **rows.answer_fields(row[1]))
        promised = self._database.rows(sql.PROMISES_OF_REQUEST, (request_id,))
        return Repeat(item=item, digest=row[0], rows=tuple(rows.promise_from_row(each) for each in promised))

    def ending(self, item_id: ItemId) -> Ending | None:
        """Return who ended an item, if an owner did."""
        self._flush_events()
        row = self._database.row(sql.ENDING, (self._places[item_id][0],))
        token = None if row is None or row[0] is None else json.loads(row[0]).get("claim_token")
        if row is None or token is None or row[1] is None:
            return None
        return Ending(claim_token=ClaimToken(token), digest=row[1])

    def put_attempt(self, attempt: Attempt) -> None:
        """Add an attempt, or replace it."""
        self._database.write(sql.PUT_ATTEMPT, rows.attempt_to_row(attempt))

    def last_attempt(self, item_id: ItemId) -> Attempt | None:
        """Return the newest attempt of an item."""
        row = self._database.row(sql.LAST_ATTEMPT, (item_id,))
        return None if row is None else rows.attempt_from_row(row)

    def drop_attempt(self, attempt: Attempt) -> None:
        """Remove an attempt that never was."""
        self._database.write(sql.DROP_ATTEMPT, (attempt.run_id,))

    def attempts_of(self, step: StepKey) -> tuple[Attempt, ...]:
        """Return the attempts of a step, oldest first."""
        found = self._database.rows(sql.ATTEMPTS_OF_STEP, (step.batch_id, step.job_id, step.step_id))
        return tuple(rows.attempt_from_row(row) for row in found)

    def promise(
        self,
        files: Sequence[FileDraft],
        *,
        about: StepKey | BatchId | None,
        shift_id: ShiftId | None,
        request: Request | None = None,
    ) -> tuple[OutboxRow, ...]:
        """Add files to the outbox, with what they are about and who will write them.

        A database that one root has for itself keeps nothing for another one: nobody would come for it.
        """
        files = [file for file in files if file.root_id is None]
        if not files:
            return ()
        batch_id, job_id = (about.batch_id, about.job_id) if isinstance(about, StepKey) else (about, None)
        promiser = self.promiser if shift_id is None else shift_id
        request_id = None if request is None else request.request_id
        promised = []
        for seq, file in zip(self._promise_numbers(len(files)), files, strict=True):
            self._promises.append(
                (seq, promiser, request_id, batch_id, job_id, file.path, file.file_class.value, file.content)
            )
            promised.append(
                OutboxRow(
                    seq=seq,
                    path=file.path,
                    file_class=file.file_class,
                    content=file.content,
                    batch_id=batch_id,
                    job_id=job_id,
                )
            )
        return tuple(promised)

    def _promise_numbers(self, count: int) -> Sequence[int]:
        """Return numbers for new rows of the outbox; one that was dropped is never given again."""
        if self._last_promise is None:
            found = self._database.row(sql.LAST_PROMISE)
            self._last_promise = 0 if found is None else int(found[0])
        first = self._last_promise + 1
        self._last_promise += count
        return range(first, first + count)

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from."""
        return self._draft(self._database.row(sql.DRAFT_BY_ID, (item_id,)))

    def waits_of(self, item_id: ItemId) -> tuple[Waits, ...]:
        """Return all that an item waited for at first."""
        if item_id not in self._waits:
            self._waits[item_id] = (self._database.row(sql.WAITS_OF, (item_id,)) or (None,))[0]
        return rows.waits_from_text(self._waits[item_id])

    def _draft(self, row: Row | None) -> ItemDraft | None:
        if row is None:
            return None
        draft = rows.draft_from_row(row)
        self._drafts[draft.item_id] = (row[12], row[13])
        return draft

    def known(self, dedupe_key: str) -> ItemId | None:
        """Return the item that has a dedupe key."""
        row = self._database.row(sql.KNOWN_KEY, (dedupe_key,))
        return None if row is None else ItemId(row[0])

    def has_home(self, home: BatchId) -> bool:
        """Tell whether a batch is there; a collection is made where it isn't."""
        found = self._database.row(sql.BATCH_NO, (home,))
        if found is None and is_collection(home):
            number = self._inserted(sql.ADD_BATCH, (home, "", None, "{}"))
            self._database.run(sql.ADD_TALLY, (number, 1, None))
            return True
        return found is not None and bool(found[2])

    def add_draft(self, draft: ItemDraft, *, unmet: Sequence[Waits]) -> None:
        """Keep a draft with what it still waits for."""
        batch = self._batch_no(draft.home)
        lane = self._lane_no(batch, draft)
        number = self._add_draft(draft, rows.draft_to_row(draft, batch=batch, lane=lane))
        self._drafts[draft.item_id] = (number, batch)
        self._counts[batch, "waiting"] += 1
        for waits in unmet:
            step = waits.step
            self._database.write(sql.ADD_WAIT, (step.batch_id, step.job_id, step.step_id, number, waits.needs.value))

    def _add_draft(self, draft: ItemDraft, row: Row) -> int:
        number = self._database.insert(sql.ADD_DRAFT, row)
        if number is None:
            raise taken(draft, by_key=self._database.row(sql.KEY_TAKEN, (draft.dedupe_key,)) is not None)
        return number

    def _add_item(self, number: int, item: Item) -> int:
        return self._inserted(sql.ADD_ITEM, (rows.text_at(item.enqueued_at), number))

    def expect(self, drafts: Sequence[ItemDraft]) -> None:
        """Hear which drafts are about to come: where each question takes its time, they can be asked at once."""

    def _inserted(self, statement: str, values: Row) -> int:
        number = self._database.insert(statement, values)
        assert number is not None
        return number

    def _batch_no(self, batch_id: BatchId) -> int:
        if batch_id not in self._batches:
            row = self._database.row(sql.BATCH_NO, (batch_id,))
            assert row is not None
            self._batches[batch_id] = int(row[0])
        return self._batches[batch_id]

    def _lane_no(self, batch: int, draft: ItemDraft) -> int:
        place = (batch, lane_of(draft))
        if place not in self._lanes:
            values = (batch, rows.to_text(place[1].to_json()))
            found = self._database.row(sql.LANE_NO, values)
            self._lanes[place] = self._inserted(sql.ADD_LANE, values) if found is None else int(found[0])
        return self._lanes[place]

    def enqueue(self, item: Item, event: Event) -> None:
        """Give a draft its record."""
        number, batch = self._drafts[item.item_id]
        self._database.write(sql.DROP_WAITS_OF, (number,))
        seq = self._add_item(number, item)
        self._counts[batch, "waiting"] -= 1
        self._counts[batch, item.status.value] += 1
        self._events.append(self._event_row(seq, event, None, item))

    def ends_of(self, step: StepKey) -> Sequence[tuple[ItemId, ItemStatus]]:
        """Return the items of a step that have ended."""
        found = self._database.rows(sql.ENDS_OF, (step.batch_id, step.job_id, step.step_id))
        return [(ItemId(item_id), ItemStatus(status)) for item_id, status in found]

    def waiters(self, step: StepKey) -> Sequence[Waiter]:
        """Return who waits for a step, in the order of their drafts."""
        found = self._database.rows(sql.WAITERS, (step.batch_id, step.job_id, step.step_id))
        return [Waiter(item_id=ItemId(row[0]), needs=Needs(row[1]), number=row[2]) for row in found]

    def meet(self, step: StepKey, waiters: Sequence[Waiter]) -> Sequence[ItemDraft]:
        """Strike out what these waited for; return the drafts that wait for nothing any more, in their order."""
        where = (step.batch_id, step.job_id, step.step_id)
        free = []
        for waiter in waiters:
            self._database.write(sql.DROP_WAIT, (*where, waiter.number, waiter.needs.value))
            if self._database.row(sql.STILL_WAITS, (waiter.number,)) is None:
                free.append(self._draft(self._database.row(sql.DRAFT_BY_NO, (waiter.number,))))
        return [draft for draft in free if draft is not None]


def taken(draft: ItemDraft, *, by_key: bool) -> UsageError:
    """Say what of a draft is another one's."""
    if by_key:
        return UsageError(f"item {draft.item_id}: its dedupe key {draft.dedupe_key} is taken")
    return UsageError(f"item {draft.item_id} exists", hint="each item needs a fresh id")
