"""One transaction on PostgreSQL: the SQL ledger, and what keeps many of them out of each other's way."""

from __future__ import annotations

from collections.abc import Sequence

from teamster.store import postgres_sql
from teamster.store.sql_ledger import SqlLedger


class PostgresLedger(SqlLedger):
    """The open transaction of one connection."""

    def _count(self, batch: int, changes: Sequence[int]) -> None:
        """Count in the batch's row if it is free, else beside it: who waits for a row may wait in a circle."""
        if self._database.row(postgres_sql.TRY_TALLY, (batch,)) is None:
            self._database.run(postgres_sql.PUT_BESIDE, (*changes, batch))
        else:
            self._database.run(postgres_sql.ADD_UP, (*changes, batch))

    def _promise_numbers(self, count: int) -> Sequence[int]:
        return [row[0] for row in self._database.rows(postgres_sql.PROMISE_NUMBERS, (count,))]
