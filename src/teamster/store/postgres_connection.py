"""A connection to PostgreSQL with the small face that the SQLite one has: statements, transactions, snapshots.

Everything that a transaction needs travels with its BEGIN and ends with it: behind a transaction pooler each one may
meet another server connection.
"""

from __future__ import annotations

import contextlib
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import Enum, auto
from typing import Final, NamedTuple, TypeVar

import psycopg
from psycopg.sql import Literal

from teamster.kit import from_iso
from teamster.model import StoreUnavailable
from teamster.store.engine import Row, Values
from teamster.store.postgres_errors import explained, may_win_again
from teamster.store.postgres_pool import PostgresLink, PostgresPool
from teamster.store.postgres_sql import insert_returning, many, spelled

SCHEMA: Final = "teamster"
TRIES_MAX: Final = 4  # of one transaction that lost a race, or whose connection broke before its commit
HELD_MAX: Final = 1000  # writes in one message
SETTLE_TRY_SECONDS: Final = 0.1
SETTLE_TRIES_MAX: Final = 100  # to learn whether a commit happened: the server may be starting again
_NOW: Final = """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
# A database that is set up to lose commits may not lose ours.
_KEPT: Final = (
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END"
)

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")

T = TypeVar("T")


class Undone(StoreUnavailable):
    """A transaction wrote nothing, and the same one may do better at once."""


class Fate(Enum):
    """What became of a commit whose answer got lost."""

    WRITTEN = auto()
    LOST = auto()


class _Held(NamedTuple):
    text: bytes
    values: Values
    rows: tuple[int | None, ...]  # that each of its statements must change


class _Result(NamedTuple):
    changed: int
    rows: list[Row]


class PostgresDatabase:
    """What one store says to the database. For one thread; each transaction borrows a connection of the pool."""

    def __init__(self, pool: PostgresPool, *, schema: str = SCHEMA, root: str = "", host: str = "") -> None:
        """Work in a schema, for one root of one host: what is promised here is written there."""
        assert _NAME.fullmatch(schema), schema
        self.pool = pool
        self.schema = schema
        settings = {"search_path": schema, "teamster.root": root, "teamster.host": host}
        self._here = "".join(f"SET LOCAL {name} = {Literal(value).as_string()}; " for name, value in settings.items())
        self.now: datetime | None = None  # of the transaction: the database's clock at its beginning
        self._link: PostgresLink | None = None  # of the transaction
        self._xid = ""
        self.trace: tuple[str, Values] | None = None  # what finds a row that the transaction wrote
        self._held: list[_Held] = []  # writes of the transaction that the next statement takes along

    # statements

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        return self._run(*spelled(sql, values))[-1].rows

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """Run one statement and return its first row."""
        return next(iter(self.rows(sql, values)), None)

    def run(self, sql: str, values: Values = ()) -> int:
        """Run one statement and return how many rows it changed."""
        return self._run(*spelled(sql, values))[-1].changed

    def write(self, sql: str, values: Values = (), *, rows: int | None = None) -> None:
        """Hold a write back until the next statement, and send both in one message: each one takes its time."""
        assert self._link is not None, "a write outside of a transaction"
        self._held.append(_Held(*spelled(sql, values), (rows,)))
        if len(self._held) >= HELD_MAX:
            self.flush()

    def run_many(self, sql: str, values: Sequence[Values]) -> None:
        """Hold back one write for each set of values."""
        assert self._link is not None, "a write outside of a transaction"
        self._held += [_Held(text, joined, (None,) * count) for text, joined, count in many(sql, values)]

    def insert(self, sql: str, values: Values) -> int | None:
        """Run one insert and return the number of its row, None where it stood back from one that is there."""
        found = self.row(insert_returning(sql), values)
        return None if found is None else int(found[0])

    def answers(self, steps: Sequence[tuple[str, Values]]) -> list[list[Row]]:
        """Run statements one after the other in one message and return the rows of each."""
        parts = [spelled(sql, values) for sql, values in steps]
        found = self._run(b"; ".join(text for text, _ in parts), [each for _, values in parts for each in values])
        return [result.rows for result in found[-len(steps) :]]

    def run_script(self, script: str) -> None:
        """Run statements that are PostgreSQL's own, as they stand."""
        self._run(script.encode(), ())

    def flush(self) -> None:
        """Send what was held back."""
        if self._held:
            self._run(b"", ())

    def lock_key(self, name: str) -> int:
        """Return the number of a lock of this schema; its low 48 bits are free."""
        return (zlib.crc32(f"{self.schema}.{name}".encode()) & 0x7FFF) << 48

    def _run(self, text: bytes, values: Values) -> list[_Result]:
        link = self._link
        if link is None:
            return self._again(lambda: self._read(text, values))
        held, self._held = self._held, []
        texts = [*(each.text for each in held), *([text] if text else [])]
        found = self._send(link, b"; ".join(texts), [*(value for each in held for value in each.values), *values])
        expected = [rows for each in held for rows in each.rows]
        for result, rows in zip(found, expected, strict=False):
            assert rows in {None, result.changed}, (
                f"{result.changed} rows were changed inside of a transaction, not {rows}"
            )
        return found

    def _read(self, text: bytes, values: Values) -> list[_Result]:
        """Read outside of a transaction; a message of two statements is one, so that its time limit ends with it."""
        with self._borrowed() as link:
            return self._read_on(link, text, values)

    def _read_on(self, link: PostgresLink, text: bytes, values: Values) -> list[_Result]:
        limit = round(1000 * self.pool.limits.statement_seconds)
        return self._send(link, f"{self._here}SET LOCAL statement_timeout = {limit}; ".encode() + text, values)

    def _send(self, link: PostgresLink, text: bytes, values: Values) -> list[_Result]:
        found = []
        try:
            cursor = link.execute(text, values) if values else link.execute(text.replace(b"%%", b"%"))
            while True:
                found.append(_Result(cursor.rowcount, cursor.fetchall() if cursor.description else []))
                if not cursor.nextset():
                    return found
        except psycopg.Error as error:
            raise self._told(link, error) from error

    def _told(self, link: PostgresLink, error: psycopg.Error) -> Exception:
        meaning = explained(error, name=self.pool.name)
        if link.closed:
            self.pool.forget_idle()
        if link.closed or may_win_again(error):
            return Undone(str(meaning), hint=getattr(meaning, "hint", "try again; nothing was written"))
        return meaning

    # transactions

    def turn(self, work: Callable[[], T]) -> T:
        """Run a transaction; where it wrote nothing for a reason that may be gone, run it again."""
        if self._link is not None:
            return work()

        def once() -> T:
            with self.transaction():
                return work()

        return self._again(once)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write at once or not at all; in a transaction, as a part of it."""
        if self._link is not None:
            yield
            return
        with self._bracket("ISOLATION LEVEL READ COMMITTED, READ WRITE", writes=True):
            yield

    def together(self) -> AbstractContextManager[None]:
        """Let the transactions of a block be parts of one."""
        return self.transaction()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let several reads see one moment."""
        if self._link is not None:
            yield
            return
        with self._bracket("ISOLATION LEVEL REPEATABLE READ, READ ONLY", writes=False):
            yield

    def close(self) -> None:
        """Let go: connections belong to the pool."""
        assert self._link is None

    @contextmanager
    def _bracket(self, mode: str, *, writes: bool) -> Iterator[None]:
        assert self._link is None
        self.trace = None
        link = self._again(lambda: self._begin(mode, writes=writes))
        self._link = link
        try:
            yield
            self.flush()
            self._link = None
            self._commit(link, writes=writes)
        except BaseException:
            with contextlib.suppress(psycopg.Error):  # the first error is the one to tell
                link.execute("ROLLBACK")
            raise
        finally:
            self._link = None
            self._held = []
            self.pool.give_back(link)

    def _begin(self, mode: str, *, writes: bool) -> PostgresLink:
        """Borrow a connection and begin: before anything was asked, one that died while it lay idle is replaced."""
        link = self.pool.borrow()
        try:
            (found,) = self._send(link, self._opening(mode, writes=writes), ())[-1].rows
        except BaseException:
            self.pool.give_back(link)
            raise
        self._xid, self.now = found[0] or "", from_iso(found[1])
        return link

    def _opening(self, mode: str, *, writes: bool) -> bytes:
        limits = self.pool.limits
        settings = {
            "statement_timeout": limits.statement_seconds,
            "lock_timeout": limits.lock_seconds,
            "idle_in_transaction_session_timeout": limits.idle_seconds,
        }
        local = "".join(f"SET LOCAL {name} = {round(1000 * seconds)}; " for name, seconds in settings.items())
        xid = "pg_current_xact_id()::text" if writes else "NULL"
        return f"BEGIN {mode}; {self._here}{local}SELECT {xid}, {_NOW}, {_KEPT}".encode()

    def _commit(self, link: PostgresLink, *, writes: bool) -> None:
        try:
            said = link.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if not link.closed or not writes:
                raise self._told(link, error) from error
            self.pool.forget_idle()
            self._settle(error)
            return
        if said != "COMMIT":  # a statement had failed, and whoever caught that went on
            raise StoreUnavailable(f"{self.pool.name} gave the transaction up", hint="nothing was written; try again")

    def _settle(self, error: psycopg.Error) -> None:
        """Learn whether a commit happened whose answer got lost. It is never made again on a guess.

        Raises:
            Undone: it didn't.
            StoreUnavailable: that can't be learned now.
        """
        pause = threading.Event()
        for _ in range(SETTLE_TRIES_MAX if self.trace is not None else 0):
            match self._fate():
                case Fate.WRITTEN:
                    return
                case Fate.LOST:
                    raise Undone(f"{self.pool.name} broke off before the commit", hint="nothing was written; try again")
                case None:
                    pause.wait(SETTLE_TRY_SECONDS)
        raise StoreUnavailable(
            f"{self.pool.name} broke off in the middle of a commit: it may have been written",
            hint="ask again with the same request ids: what was written answers as it did",
        ) from error

    def _fate(self) -> Fate | None:
        """Ask what became of the transaction; None while nobody answers, or while it still commits.

        What it wrote is the proof. Its number alone is none: a server that crashed gives numbers again that it had not
        yet noted. But it tells whether there is something to wait for.
        """
        assert self.trace is not None
        statement, values = self.trace
        try:
            with self._borrowed() as link:
                status = self._status(link)
                seen = self._read_on(link, *spelled(statement, values))[-1].rows
        except StoreUnavailable:
            return None
        if seen:
            return Fate.WRITTEN
        return None if status == "in progress" else Fate.LOST

    def _status(self, link: PostgresLink) -> str | None:
        try:
            ((status,),) = self._send(link, b"SELECT pg_xact_status(%s::text::xid8)", (self._xid,))[-1].rows
        except psycopg.errors.InvalidParameterValue:
            return None  # in the future: the server crashed before it had noted the number
        return None if status is None else str(status)

    @contextmanager
    def _borrowed(self) -> Iterator[PostgresLink]:
        link = self.pool.borrow()
        try:
            yield link
        finally:
            self.pool.give_back(link)

    def _again(self, work: Callable[[], T]) -> T:
        for left in range(TRIES_MAX - 1, -1, -1):
            try:
                return work()
            except Undone:
                if not left:
                    raise
        raise AssertionError
