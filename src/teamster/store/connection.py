"""One connection to the database file: how it is opened, its transactions, and what its errors mean."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

import apsw

from teamster.kit import file_system_of, make_folder
from teamster.model import StoreUnavailable, UsageError
from teamster.store.engine import Row, Values
from teamster.store.gate import refuse_network, refuse_unsafe_sqlite
from teamster.store.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION

BUSY_SECONDS_MAX: Final = 10.0
FILE_MODE: Final = 0o600
WAL_TRIES_MAX: Final = 200
WAL_TRY_SECONDS: Final = 0.05
CACHE_KIB: Final = 16 * 1024
JOURNAL_BYTES_MAX: Final = 64 * 1024 * 1024
STATEMENTS_CACHED_MAX: Final = 200

_TROUBLES: Final[Mapping[type[apsw.Error], tuple[str, str]]] = MappingProxyType(
    {
        apsw.BusyError: ("is held by another process", "a stopped process may hold it: look for one, or try again"),
        apsw.LockedError: ("is held by another connection", "try again"),
        apsw.FullError: ("has no room: the disk is full", "free some space; nothing was written"),
        apsw.IOError: ("can't be read or written", "look at the disk; start again once it is well"),
        apsw.CorruptError: ("is damaged", "move it away and rebuild it from the runs store"),
        apsw.NotADBError: ("is not a database", "move it away and rebuild it from the runs store"),
        apsw.CantOpenError: ("can't be opened", "look at the folder and its permissions"),
        apsw.ReadOnlyError: ("can't be written", "look at its permissions and at the mount"),
        apsw.PermissionsError: ("may not be used", "look at its permissions"),
        apsw.ProtocolError: ("is locked in a way that SQLite can't resolve", "try again; network disks can't be used"),
        apsw.NoMemError: ("can't be read: there is no memory left", "free some memory"),
    }
)
_POISON: Final = (apsw.IOError, apsw.CorruptError)  # what such an error left behind can't be trusted
_ERRORS: Final = (apsw.Error, UnicodeEncodeError)


class Database:
    """A connection for one thread. After an error of the disk it refuses to go on: a second try may lie."""

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS_MAX) -> None:
        refuse_unsafe_sqlite(apsw.sqlite_lib_version())
        refuse_network(path, file_system_of(path))
        self.path = path
        self._poisoned: StoreUnavailable | None = None
        self._is_joined = False  # the transactions of a block are parts of one
        try:
            _make_file(path)
            self._connection = apsw.Connection(
                str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS_CACHED_MAX
            )
        except (OSError, apsw.Error) as error:
            raise self._explained(error) from error
        try:
            self._connection.set_busy_timeout(int(busy_seconds * 1000))
            # A plan that depends on bound values is made again for each of them: that was half of all time.
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            self._set_up()
        except BaseException:
            self._connection.close()
            raise

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except _ERRORS as error:
            raise self._explained(error) from error

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """Run one statement and return its first row."""
        try:
            return self._connection.execute(sql, values).fetchone()
        except _ERRORS as error:
            raise self._explained(error) from error

    def run(self, sql: str, values: Values = ()) -> int:
        """Run one statement and return how many rows it changed."""
        try:
            self._connection.execute(sql, values)
            return self._connection.changes()
        except _ERRORS as error:
            raise self._explained(error) from error

    def write(self, sql: str, values: Values = (), *, rows: int | None = None) -> None:
        """Run a statement whose answer nobody waits for; where it has to change so many rows, it must."""
        changed = self.run(sql, values)
        assert rows in {None, changed}, f"{changed} rows were changed, not {rows}: {sql}"

    def run_many(self, sql: str, values: Sequence[Values]) -> None:
        """Run one statement for each set of values."""
        if not values:
            return
        try:
            self._connection.executemany(sql, values)
        except _ERRORS as error:
            raise self._explained(error) from error

    def insert(self, sql: str, values: Values) -> int | None:
        """Run one insert and return the number of its row, None where it stood back from one that is there."""
        return self._connection.last_insert_rowid() if self.run(sql, values) else None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write at once or not at all. The lock is taken at the start: an upgrade in the middle could fail."""
        if self._poisoned is not None:
            raise self._poisoned
        if self._is_joined:
            yield
            return
        with self._bracket("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let the transactions of a block be parts of one."""
        with self.transaction():
            self._is_joined = True
            try:
                yield
            finally:
                self._is_joined = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let several reads see one moment."""
        if self._is_joined:
            yield
            return
        with self._bracket("BEGIN"):
            yield

    @contextmanager
    def _bracket(self, begin: str) -> Iterator[None]:
        self.run(begin)
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _roll_back(self) -> None:
        with contextlib.suppress(apsw.Error):  # the first error is the one to tell
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _set_up(self) -> None:
        with self.snapshot():  # one moment: somebody may be making the schema right now
            self._require_ours()
        self._switch_to_wal()
        for pragma in (
            "synchronous = FULL",  # NORMAL loses acknowledged commits when the power goes
            f"cache_size = -{CACHE_KIB}",
            f"journal_size_limit = {JOURNAL_BYTES_MAX}",
            "temp_store = MEMORY",
        ):
            self.rows(f"PRAGMA {pragma}")
        if self._number("user_version") < SCHEMA_VERSION:
            self._migrate()

    def _require_ours(self) -> None:
        found = self._number("user_version")
        if self._number("application_id") != APPLICATION_ID and self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
            raise UsageError(f"{self.path} is a database of another program", hint="choose another root")
        if found > SCHEMA_VERSION:
            raise UsageError(
                f"{self.path} was written by a newer Teamster: its schema is {found}, this one knows {SCHEMA_VERSION}",
                hint="use the newer Teamster, or another root",
            )

    def _switch_to_wal(self) -> None:
        """Wait for the moment alone that the switch needs; SQLite doesn't wait for it by itself."""
        pause = threading.Event()
        for left in range(WAL_TRIES_MAX, 0, -1):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
            except apsw.BusyError as error:
                if left == 1:
                    raise self._explained(error) from error
                pause.wait(WAL_TRY_SECONDS)
            except apsw.Error as error:
                raise self._explained(error) from error
            else:
                break
        if self.rows("PRAGMA journal_mode") != [("wal",)]:
            raise StoreUnavailable(f"{self.path}: no write-ahead log can be had there", hint="use a local disk")

    def _migrate(self) -> None:
        """Bring the schema up to date; who comes second finds the work done."""
        with self.transaction():
            self._require_ours()
            for number in range(self._number("user_version"), SCHEMA_VERSION):
                self.rows(MIGRATIONS[number])
            self.rows(f"PRAGMA application_id = {APPLICATION_ID}")
            self.rows(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _number(self, pragma: str) -> int:
        return int(self.rows(f"PRAGMA {pragma}")[0][0])

    def _explained(self, error: apsw.Error | OSError | UnicodeEncodeError) -> Exception:
        if isinstance(error, UnicodeEncodeError):
            return UsageError(f"{error.object!r} can't be a name: it holds half of a surrogate pair")
        if isinstance(error, OSError):
            return StoreUnavailable(f"{self.path} can't be made: {error.strerror}", hint="look at the folder")
        for kind, (fact, hint) in _TROUBLES.items():
            if isinstance(error, kind):
                trouble = StoreUnavailable(f"{self.path} {fact} ({error})", hint=hint)
                if isinstance(error, _POISON):
                    self._poisoned = trouble
                return trouble
        return error  # our own broken promise: a statement or a value that SQLite refuses


def _make_file(path: Path) -> None:
    """Make an empty database that its owner alone can read.

    The name appears after its descriptor was closed: to close one drops all locks that this process has on the file.
    """
    if path.exists():
        return
    make_folder(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE))
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()
