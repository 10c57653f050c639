"""An empty SQLite store for each test, and a check of its file afterwards."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from scripts.private_postgres import DATABASE, PrivateServer

from contracts.store_world import World
from store.postgres_stage import at_boot_time, empty, private_server
from store.tallies import require_true
from teamster.kit import CountedNames
from teamster.settings import StoreLimits
from teamster.store import Store, open_sqlite
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_migration import bring_up_to_date
from teamster.store.postgres_pool import PostgresPool

_NUMBERS = itertools.count()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the database lies."""
    return tmp_path / "db" / "teamster.db"


@pytest.fixture
def open_sqlite_store(path: Path) -> Iterator[Callable[[], Store]]:
    """Open connections to one file; afterwards it is whole, and its counters are true."""
    names = CountedNames()
    with contextlib.ExitStack() as opened:

        def another() -> Store:
            return opened.enter_context(contextlib.closing(open_sqlite(path, names=names)))

        yield another
    if path.exists():
        require_whole(path)


@pytest.fixture
def world(open_sqlite_store: Callable[[], Store]) -> World:
    """Return a world with an empty SQLite store."""
    return World(open_sqlite_store)


def require_whole(path: Path) -> None:
    """Check the file as SQLite does, and the counters against what they count."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:

        def rows(sql: str) -> object:
            return connection.execute(sql).fetchall()

        assert rows("PRAGMA integrity_check") == [("ok",)]
        assert rows("PRAGMA foreign_key_check") == []
        require_true(rows)


# PostgreSQL


@pytest.fixture(scope="session")
def server() -> Iterator[PrivateServer]:
    """Start a PostgreSQL for the tests of one process."""
    with private_server() as started:
        yield started


@pytest.fixture
def schema(server: PrivateServer) -> Iterator[str]:
    """Name a schema for one test, which may make it: a database of its own would take longer than the test."""
    name = f"test_{next(_NUMBERS)}"
    yield name
    server.run_sql(f"DROP SCHEMA IF EXISTS {name} CASCADE", database=DATABASE)


@pytest.fixture(scope="session")
def postgres_pool(server: PrivateServer) -> Iterator[PostgresPool]:
    """Make the store's schema once for the tests of one process."""
    with contextlib.closing(PostgresPool(server.url(), limits=StoreLimits(connections_max=32))) as pool:
        bring_up_to_date(PostgresDatabase(pool))
        yield pool


@pytest.fixture
def open_postgres_store(postgres_pool: PostgresPool) -> Iterator[Callable[[], PostgresStore]]:
    """Open connections to an empty store, whose clock goes as the test's does; afterwards its counters are true."""
    names = CountedNames()

    def another() -> PostgresStore:
        database = PostgresDatabase(postgres_pool, root="root", host="host")
        return PostgresStore(database, names=names, host="host", clock=at_boot_time)

    yield another
    database = PostgresDatabase(postgres_pool)
    try:
        require_true(database.rows)
    finally:
        empty(database)
