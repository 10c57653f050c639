"""The store for many machines: PostgreSQL. The same rules and statements as on SQLite, with rows taken one by one.

Where SQLite has one lock for all, a transaction takes what it will touch before it decides anything, in one order
(`postgres_sql.py`). Claims take turns, since limits and fairness are about all of them; nothing else waits for a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from teamster.kit import Instant, Names, RandomNames, from_iso, iso
from teamster.model import ItemId, OutboxRow, Shift, ShiftId
from teamster.store import postgres_sql, rows, sql_reading
from teamster.store.ledger import NOTHING, Reach, Turn
from teamster.store.limits import require_count
from teamster.store.postgres_connection import SCHEMA, PostgresDatabase
from teamster.store.postgres_ledger import PostgresLedger
from teamster.store.postgres_migration import bring_up_to_date
from teamster.store.postgres_pool import PostgresPool
from teamster.store.sql_ledger import SqlLedger
from teamster.store.sql_store import SqlStore
from teamster.store.sql_submit import Submitter
from teamster.store.values import BatchDraft, Noticed, Submission

CLAIMS: Final = "claims"
INTAKE: Final = "intake"
EVENTS: Final = "events"
T = TypeVar("T")
Clock = Callable[[datetime, Instant], datetime]


def open_store(
    pool: PostgresPool, *, host: str, root: str, schema: str = SCHEMA, names: Names | None = None
) -> PostgresStore:
    """Open the store of a root on a host, making or migrating its schema first. One for each thread; a pool for all.

    Raises:
        StoreUnavailable: the server can't be reached or written.
        UsageError: the schema belongs to another program or to a newer version.
    """
    database = PostgresDatabase(pool, schema=schema, root=root, host=host)
    if schema not in pool.ready:
        bring_up_to_date(database)
        pool.ready.add(schema)
    return PostgresStore(database, names=names or RandomNames(), host=host)


def told(database: datetime, at: Instant) -> datetime:
    """Take the database's clock for what it says: the only one that all machines share."""
    del at
    return database


class PostgresStore(SqlStore):
    """The queue in a PostgreSQL schema."""

    _database: PostgresDatabase

    def __init__(self, database: PostgresDatabase, *, names: Names, host: str, clock: Clock = told) -> None:
        super().__init__(database, names=names)
        self._host = host
        self._clock = clock

    def _turn(self, at: Instant, work: Callable[[Turn], T], reach: Reach = NOTHING) -> T:
        def once() -> T:
            ledger = PostgresLedger(self._database)
            moment = self._take(reach, ledger, at)
            done = work(Turn(ledger=ledger, names=self._names, at=moment, host=self._host))
            ledger.flush()
            return done

        return self._database.turn(once)

    def _take(self, reach: Reach, ledger: PostgresLedger, at: Instant) -> Instant:
        """Take what a transaction will touch and look at it, in one message; return the moment of the database."""
        items, ends, requests = list(reach.items), list(reach.ends), list(reach.requests)
        about: list[tuple[str, tuple[object, ...]]] = [
            (postgres_sql.ENTRIES, (items,)),
            (postgres_sql.USED_REQUESTS, (requests,)),
            (postgres_sql.STEPS, (ends,)),
            (postgres_sql.AWAITED, (ends,)),
        ]
        locks = list(_locks(reach, self._database.lock_key))
        answers = self._database.answers([*locks, *(about if items else []), (postgres_sql.NOW, ())])
        if items:
            entries, used, steps, awaited = answers[len(locks) : -1]
            ledger.know_entries(entries)
            ledger.know_requests(requests, used)
            ledger.know_steps(steps, awaited)
        return self._moment(at, answers[-1][0][0])

    def _moment(self, at: Instant, now: str) -> Instant:
        return replace(at, wall=self._clock(from_iso(now), at))

    def _now(self, at: Instant) -> Instant:
        (now,) = self._database.row(postgres_sql.NOW) or ("",)
        return self._moment(at, now)

    def moment(self, at: Instant) -> Instant:
        """Return the moment that counts: the wall clock of the database."""
        return self._now(at)

    @contextmanager
    def _intake(self) -> Iterator[SqlLedger]:
        with self._database.transaction():
            self._database.answers(list(_locks(Reach(admits=True), self._database.lock_key)))
            ledger = PostgresLedger(self._database)
            yield ledger
            ledger.flush()

    def _is_free(self, turn: Turn, item_id: ItemId) -> bool:
        assert isinstance(turn.ledger, PostgresLedger)
        return turn.ledger.take(item_id)

    # shifts: their moments are the database's

    def begin_shift(self, shift: Shift) -> None:
        """Make the right to claim. The id must be new."""
        began = Instant(
            wall=shift.renewed_at,
            boot_seconds=shift.expires_boot_seconds - shift.ttl_seconds,
            boot_id=shift.boot_id,
        )
        now = self._now(began)
        expires_at = now.after(shift.ttl_seconds).wall
        super().begin_shift(replace(shift, began_at=now.wall, renewed_at=now.wall, expires_at=expires_at))

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Move the end of the lease to now + its TTL, by the database's clock and by the host's own."""
        return self._database.turn(lambda: super(PostgresStore, self).renew_shift(shift_id, at=self._now(at)))

    def end_shift(self, shift_id: ShiftId, *, at: Instant) -> None:
        """Give the lease back, once the transactions that write in its name are done."""

        def end() -> None:
            self._database.row(postgres_sql.TAKE_SHIFT, (shift_id,))
            super(PostgresStore, self).end_shift(shift_id, at=self._now(at))

        self._database.turn(end)

    # what comes in and what goes out

    def submit(self, batch: BatchDraft, *, at: Instant) -> Submission:
        """Enqueue a batch."""
        submitter = Submitter(self._database, batch, names=self._names, at=self._now(at), open_ledger=self._intake)
        return submitter.submit()

    def events_after(self, cursor: str = "", *, limit: int = 1000) -> Sequence[Noticed]:
        """Return what happened to all items after a cursor, but for what an open transaction may still come before."""
        require_count("limit", limit)
        found = self._database.row(postgres_sql.SETTLED_EVENTS, (self._database.lock_key(EVENTS),))
        assert found is not None
        return sql_reading.noticed(self._database, cursor, limit=limit, until=found[0])

    def orphaned_outbox(self, *, at: Instant, limit: int = 1000) -> Sequence[OutboxRow]:
        """Return promised files of this root that nobody's living shift will write."""
        require_count("limit", limit)
        values = (iso(self._now(at).wall), at.boot_id, at.boot_seconds, limit)
        return [rows.promise_from_row(row) for row in self._database.rows(postgres_sql.ORPHANS, values)]

    def close(self) -> None:
        """Let go; the connections are the pool's."""


def _locks(reach: Reach, key: Callable[[str], int]) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield what takes all that a transaction will touch, in the order that all keep to."""
    items, ends = list(reach.items), list(reach.ends)
    if reach.admits:
        yield postgres_sql.LOCK, (key(INTAKE),)
    if items:
        yield postgres_sql.TAKE_ITEMS, (items,)
    if reach.claims:
        yield postgres_sql.LOCK, (key(CLAIMS),)
    if items or reach.shift_id is not None:
        yield postgres_sql.SHARE_SHIFTS, (items, reach.shift_id)
    if ends:
        yield postgres_sql.TAKE_DRAFTS, (ends,)
        yield postgres_sql.TAKE_ITEMS, (ends,)  # those that got their record meanwhile
    yield postgres_sql.ANNOUNCE_EVENTS, (key(EVENTS),)
