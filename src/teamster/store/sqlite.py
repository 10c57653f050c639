"""The embedded store: one SQLite file, as many processes as there are, each transaction small."""

from __future__ import annotations

from pathlib import Path

from teamster.kit import Names, RandomNames
from teamster.store.connection import BUSY_SECONDS_MAX, Database
from teamster.store.sql_store import SqlStore


def open_sqlite(path: Path, *, names: Names | None = None, busy_seconds: float = BUSY_SECONDS_MAX) -> SqliteStore:
    """Open the store in a file, making or migrating it first. One for each thread.

    Raises:
        StoreUnavailable: the file can't be used now, or this SQLite could corrupt it.
        UsageError: the file belongs to another program or to a newer version.
    """
    return SqliteStore(Database(path, busy_seconds=busy_seconds), names=names or RandomNames())


class SqliteStore(SqlStore):
    """The queue in one SQLite file."""
