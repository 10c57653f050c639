"""Submissions: small ones in one transaction, large ones in chunks that the last transaction makes visible.

A submitter that dies in between leaves rows that nothing shows; the next submission of that batch removes them first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from teamster.kit import Instant, Names, iso
from teamster.model import FileDraft, OutboxRow, StoreUnavailable
from teamster.store import rows, sql
from teamster.store.engine import Engine
from teamster.store.ledger import Turn
from teamster.store.releasing import admit
from teamster.store.sql_ledger import SqlLedger
from teamster.store.values import Batch, BatchDraft, ItemDraft, Submission

CHUNK_ROWS_MAX: Final = 500  # of items or files in one transaction: some tens of milliseconds


class Overtaken(Exception):
    """Another submitter has the batch now, or is done with it."""


class Submitter:
    """One submission on its way in. Each of its transactions checks that the batch is still its own."""

    def __init__(
        self,
        database: Engine,
        batch: BatchDraft,
        *,
        names: Names,
        at: Instant,
        open_ledger: Callable[[], AbstractContextManager[SqlLedger]] | None = None,
    ) -> None:
        self._database = database
        self._open_ledger = open_ledger or (lambda: SqlLedger.open(database))
        self._batch = batch
        self._names = names
        self._at = at
        self._token = names.token()

    def submit(self) -> Submission:
        """Submit, or find that the batch is there.

        Raises:
            StoreUnavailable: another submitter of the same batch came in between and isn't done yet.
            UsageError: an item id or a dedupe key is taken.
        """
        items, files = self._batch.items, self._batch.files
        try:
            if len(items) + len(files) <= CHUNK_ROWS_MAX and (rows_of := self._submit_at_once()) is not None:
                return Submission(batch=self._made(), created=True, rows=rows_of)
            number = self.announce()
            promised: list[OutboxRow] = []
            for start in range(0, len(items), CHUNK_ROWS_MAX):
                promised += self.add(number, items=items[start : start + CHUNK_ROWS_MAX])
            for start in range(0, len(files), CHUNK_ROWS_MAX):
                promised += self.add(number, files=files[start : start + CHUNK_ROWS_MAX])
        except Overtaken:
            return self._known()
        return self.finish(number) or Submission(batch=self._made(), created=True, rows=tuple(promised))

    def announce(self) -> int:
        """Make the batch ours, still hidden, and remove what an earlier submitter left of it."""
        with self._open_ledger():
            found = self._database.row(sql.BATCH_NO, (self._batch.batch_id,))
            if found is None:
                return self._insert()
            if found[2]:
                raise Overtaken
            number = int(found[0])
            values = (self._token, iso(self._at.wall), rows.to_text(self._batch.meta), number)
            self._database.run(sql.TAKE_OVER_BATCH, values)
        while self._remove_chunk(number):
            pass
        return number

    def add(
        self, number: int, *, items: Sequence[ItemDraft] = (), files: Sequence[FileDraft] = ()
    ) -> tuple[OutboxRow, ...]:
        """Add one chunk, still hidden."""
        with self._open_ledger() as ledger:
            self._require_own(number)
            return self._fill(ledger, number, items=items, files=files)

    def finish(self, number: int) -> Submission | None:
        """Make the batch visible; where another submitter has it now, return what that one made.

        Raises:
            StoreUnavailable: the other one isn't done yet.
        """
        try:
            with self._open_ledger():
                self._require_own(number)
                self._database.run(sql.RAISE_LAST_EVENT, (number,))
                self._database.run(sql.MARK_SHOWN, (number, number))
                self._show(number)
        except Overtaken:
            return self._known()
        return None

    def _submit_at_once(self) -> tuple[OutboxRow, ...] | None:
        """Do it all in one transaction; None where somebody began this batch before."""
        with self._open_ledger() as ledger:
            if self._database.row(sql.BATCH_NO, (self._batch.batch_id,)) is not None:
                return None
            number = self._insert()
            promised = self._fill(ledger, number, items=self._batch.items, files=self._batch.files)
            self._show(number)
            return promised

    def _insert(self) -> int:
        batch = self._batch
        values = (batch.batch_id, iso(self._at.wall), self._token, rows.to_text(batch.meta))
        number = self._database.insert(sql.ADD_BATCH, values)
        assert number is not None
        self._database.run(sql.ADD_TALLY, (number, 0, batch.concurrency))
        return number

    def _fill(
        self, ledger: SqlLedger, number: int, *, items: Sequence[ItemDraft], files: Sequence[FileDraft]
    ) -> tuple[OutboxRow, ...]:
        ledger.promiser = submission_of(number)
        turn = Turn(ledger=ledger, names=self._names, at=self._at)
        ledger.expect(items)
        for draft in items:
            admit(turn, draft)
        return ledger.promise(files, about=self._batch.batch_id, shift_id=None)

    def _show(self, number: int) -> None:
        self._database.run(sql.SHOW_BATCH, (number,))
        self._database.run(sql.SHOW_TALLY, (number,))

    def _require_own(self, number: int) -> None:
        found = self._database.row(sql.BATCH_NO, (self._batch.batch_id,))
        if found is None or (found[0], found[1]) != (number, self._token):
            raise Overtaken

    def _remove_chunk(self, number: int) -> bool:
        """Remove some of what was left; False when there was nothing."""
        with self._open_ledger():
            self._require_own(number)
            chunk = self._database.rows(sql.CHUNK_OF_BATCH, (number, CHUNK_ROWS_MAX))
            drafts, items = [(row[0],) for row in chunk], [(row[1],) for row in chunk if row[1] is not None]
            for statement, values in (
                (sql.DROP_WAITS_OF, drafts),
                (sql.DROP_EVENTS_OF, items),
                (sql.DROP_ITEM, items),
                (sql.DROP_DRAFT, drafts),
            ):
                self._database.run_many(statement, values)
            self._database.run(sql.RESET_TALLY, (self._batch.concurrency, number))
            dropped = self._database.run(sql.DROP_PROMISES_OF, (submission_of(number), CHUNK_ROWS_MAX))
            return bool(chunk) or dropped > 0

    def _known(self) -> Submission:
        row = self._database.row(sql.BATCH_BY_ID, (self._batch.batch_id,))
        if row is None:
            raise StoreUnavailable(
                f"batch {self._batch.batch_id} is being submitted by another process", hint="try again in a moment"
            )
        return Submission(batch=rows.batch_from_row(row), created=False)

    def _made(self) -> Batch:
        batch = self._batch
        return Batch(
            batch_id=batch.batch_id, submitted_at=self._at.wall, concurrency=batch.concurrency, meta=batch.meta
        )


def submission_of(number: int) -> str:
    """Return who promises the files of a submission: no shift, so that any harness writes them once they show."""
    return f"submission:{number}"
