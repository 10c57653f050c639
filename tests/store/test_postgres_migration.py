"""The schema of a PostgreSQL database is made once, brought up to date whole, or refused."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import psycopg
import pytest
from scripts.private_postgres import DATABASE, PrivateServer

from teamster.model import UsageError
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_migration import bring_up_to_date
from teamster.store.postgres_pool import PostgresPool

DEADLINE_SECONDS = 30.0


@pytest.fixture
def empty(server: PrivateServer, schema: str) -> Iterator[PostgresDatabase]:
    """Open a connection to a schema that isn't there yet."""
    with contextlib.closing(PostgresPool(server.url())) as pool:
        yield PostgresDatabase(pool, schema=schema)


def test_many_first_openings_at_once_make_one_schema(empty: PostgresDatabase) -> None:
    """Whoever comes second waits, and finds the work done."""
    ready = threading.Barrier(4)
    troubles: list[Exception] = []

    def first_opening() -> None:
        database = PostgresDatabase(empty.pool, schema=empty.schema)
        ready.wait(DEADLINE_SECONDS)
        try:
            bring_up_to_date(database)
        except Exception as trouble:  # noqa: BLE001 - a thread's trouble is told by the test
            troubles.append(trouble)

    threads = [threading.Thread(target=first_opening) for _ in range(ready.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    assert troubles == []


def test_a_newer_schema_is_refused_and_left_alone(empty: PostgresDatabase) -> None:
    """An old program would not know what it breaks."""
    bring_up_to_date(empty)
    newest = empty.rows("SELECT version FROM teamster_schema")

    with pytest.raises(UsageError, match="newer Teamster"):
        bring_up_to_date(empty, migrations=())

    assert empty.rows("SELECT version FROM teamster_schema") == newest


def test_another_programs_schema_is_refused_and_left_alone(empty: PostgresDatabase, server: PrivateServer) -> None:
    """It could be anybody's."""
    server.run_sql(f"CREATE SCHEMA {empty.schema}; CREATE TABLE {empty.schema}.theirs (x integer)", database=DATABASE)

    with pytest.raises(UsageError, match="another program"):
        bring_up_to_date(empty)

    assert empty.rows("SELECT to_regclass('batches')") == [(None,)]


def test_a_migration_that_breaks_leaves_the_schema_before_it(empty: PostgresDatabase) -> None:
    """All of it or nothing, the number of the version too."""
    bring_up_to_date(empty, migrations=("CREATE TABLE first (x integer)",))
    second = "CREATE TABLE second (x integer)"

    with pytest.raises(psycopg.errors.UndefinedTable):
        bring_up_to_date(empty, migrations=("", second, "CREATE TABLE third (x integer); DROP TABLE fourth"))

    assert empty.rows("SELECT to_regclass('first'), to_regclass('second'), version FROM teamster_schema") == [
        ("first", None, 1)
    ]
