"""One transaction on PostgreSQL: the SQL ledger, with its questions asked at once and its writes held back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from teamster.model import BatchId, FileDraft, Item, ItemId, OutboxRow, RequestId, ShiftId, StepKey
from teamster.store import postgres_sql, rows
from teamster.store.engine import Row
from teamster.store.ledger import Entry, Repeat, Request, Waiter
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.sql_ledger import SqlLedger, taken
from teamster.store.values import ItemDraft

DRAFTS: str = "drafts_no_seq"
ITEMS: str = "items_seq_seq"
OUTBOX: str = "outbox_seq_seq"


class PostgresLedger(SqlLedger):
    """The open transaction of one connection. What it knows beforehand holds as long as it has the rows' locks."""

    _database: PostgresDatabase

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._entries: dict[ItemId, Row] = {}
        self._unused: set[RequestId] = set()
        self._unawaited: set[Row] = set()  # steps
        self._numbers: dict[str, Iterator[int]] = {}
        self._taken_ids: set[str] | None = None
        self._taken_keys: set[str] = set()

    # what is known beforehand

    def know_entries(self, found: Sequence[Row]) -> None:
        """Take items as they were found after they were locked."""
        self._entries = {ItemId(row[17]): row for row in found}

    def know_requests(self, asked: Sequence[RequestId], used: Sequence[Row]) -> None:
        """Take which requests are new."""
        self._unused = set(asked) - {row[0] for row in used}

    def know_steps(self, steps: Sequence[Row], awaited: Sequence[Row]) -> None:
        """Take for which steps nobody waits."""
        self._unawaited = set(steps) - set(awaited)

    def take(self, item_id: ItemId) -> bool:
        """Take an item for a claim if nobody else holds it, and read all that a claim asks about it."""
        free, entries = self._database.answers(
            [(postgres_sql.TAKE_FREE, (item_id,)), (postgres_sql.ENTRIES, ([item_id],))]
        )
        self.know_entries(entries)
        return bool(free)

    def expect(self, drafts: Sequence[ItemDraft]) -> None:
        """Ask at once which ids and keys are taken, and for as many numbers. Nobody else admits meanwhile."""
        count = len(drafts)
        ids, keys, of_drafts, of_items = self._database.answers(
            [
                (postgres_sql.TAKEN_IDS, ([draft.item_id for draft in drafts],)),
                (postgres_sql.TAKEN_KEYS, ([draft.dedupe_key for draft in drafts],)),
                (postgres_sql.NUMBERS, (DRAFTS, count)),
                (postgres_sql.NUMBERS, (ITEMS, count)),
            ]
        )
        self._taken_ids, self._taken_keys = {row[0] for row in ids}, {row[0] for row in keys}
        self._numbers = {DRAFTS: iter([row[0] for row in of_drafts]), ITEMS: iter([row[0] for row in of_items])}

    # the questions

    def entry(self, item_id: ItemId) -> Entry | None:
        """Return an item that has a record."""
        row = self._entries.pop(item_id, None)
        return super().entry(item_id) if row is None else self._entry(item_id, row)

    def repeat(self, request_id: RequestId) -> Repeat | None:
        """Return the first answer to a request."""
        if request_id in self._unused and request_id not in self._requests:
            self._unused.remove(request_id)  # it may be used from now on
            return None
        return super().repeat(request_id)

    def waiters(self, step: StepKey) -> Sequence[Waiter]:
        """Return who waits for a step, in the order of their drafts."""
        where = (step.batch_id, step.job_id, step.step_id)
        return [] if where in self._unawaited else super().waiters(step)

    def known(self, dedupe_key: str) -> ItemId | None:
        """Return the item that has a dedupe key."""
        if self._taken_ids is not None and dedupe_key not in self._taken_keys:
            return None
        return super().known(dedupe_key)

    # the writes

    def _add_draft(self, draft: ItemDraft, row: Row) -> int:
        if self._taken_ids is None:
            return super()._add_draft(draft, row)
        if draft.dedupe_key in self._taken_keys or draft.item_id in self._taken_ids:
            raise taken(draft, by_key=draft.dedupe_key in self._taken_keys)
        self._taken_ids.add(draft.item_id)
        self._taken_keys.add(draft.dedupe_key)
        number = self._number(DRAFTS)
        self._database.write(postgres_sql.ADD_DRAFT, (*row, number), rows=1)
        return number

    def _add_item(self, number: int, item: Item) -> int:
        seq = self._number(ITEMS)
        self._database.write(postgres_sql.ADD_ITEM, (seq, rows.text_at(item.enqueued_at), number), rows=1)
        return seq

    def _flush_events(self) -> None:
        if self._events:
            self._database.trace = (postgres_sql.EVENT, self._events[-1][:2])
        super()._flush_events()

    def _number(self, sequence: str) -> int:
        """Return a number of those that were fetched, or a fresh one."""
        found = next(self._numbers.get(sequence, iter(())), None)
        return self._fetch(sequence, 1)[0] if found is None else found

    def promise(
        self,
        files: Sequence[FileDraft],
        *,
        about: StepKey | BatchId | None,
        shift_id: ShiftId | None,
        request: Request | None = None,
    ) -> tuple[OutboxRow, ...]:
        """Add files to the outbox. Those of another root are of no shift: whoever works there first writes them."""
        batch_id, job_id = (about.batch_id, about.job_id) if isinstance(about, StepKey) else (about, None)
        elsewhere = [file for file in files if file.root_id is not None]
        for seq, file in zip(self._fetch(OUTBOX, len(elsewhere)) if elsewhere else (), elsewhere, strict=True):
            row = (seq, file.root_id, batch_id, job_id, file.path, file.file_class.value, file.content)
            self._database.write(postgres_sql.PROMISE_ELSEWHERE, row, rows=1)
        return super().promise(files, about=about, shift_id=shift_id, request=request)

    def _promise_numbers(self, count: int) -> Sequence[int]:
        return self._fetch(OUTBOX, count)

    def _fetch(self, sequence: str, count: int) -> list[int]:
        return [row[0] for row in self._database.rows(postgres_sql.NUMBERS, (sequence, count))]

    def _count(self, batch: int, changes: Sequence[int]) -> None:
        """Count in the batch's row if it is free, else beside it: who waits for a row may wait in a circle."""
        self._database.write(postgres_sql.COUNT, (batch, *changes))
