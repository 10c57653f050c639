"""What a tick asks PostgreSQL for costs the same however much is finished; and its spelling says what SQLite's says."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import psycopg
import pytest
from scripts.private_postgres import PrivateServer

from teamster.store import postgres_sql, sql
from teamster.store.postgres_pool import PostgresPool
from teamster.store.postgres_sql import insert_returning, many, spelled

GROWING = {"items", "drafts", "events", "attempts", "waits", "outbox"}
NO_STATEMENTS = {"ITEM", "SHIFT", "LAST_PROMISE"}  # parts of others, and what asks SQLite about itself


def statements() -> dict[str, str]:
    """Return all statements by name."""
    return {
        name: value
        for module in (sql, postgres_sql)
        for name, value in vars(module).items()
        if name.isupper() and not name.startswith("_") and isinstance(value, str) and name not in NO_STATEMENTS
    }


@pytest.fixture(scope="module")
def link(server: PrivateServer, postgres_pool: PostgresPool) -> Iterator[psycopg.Connection[tuple[str]]]:
    """Connect as a person does who asks for plans; where an index can be used, it is."""
    del postgres_pool  # it makes the schema
    with contextlib.closing(psycopg.connect(server.url(), autocommit=True)) as made:
        made.execute("SET search_path = teamster")
        made.execute("SET teamster.root = 'root'")
        made.execute("SET teamster.host = 'host'")
        made.execute("SET enable_seqscan = off")
        yield made


@pytest.mark.parametrize("name", statements())
def test_no_statement_scans_a_table_that_grows(link: psycopg.Connection[tuple[str]], name: str) -> None:
    """Each is planned too, and so it is one that PostgreSQL understands."""
    text, _ = spelled(statements()[name], [None] * 20)
    with_values = re.sub(r"(ANY\()?%s", lambda place: f"{place[1] or ''}'{'{1}' if place[1] else '1'}'", text.decode())

    plans = [
        row[0]
        for statement in with_values.split("; ")
        for row in link.execute(f"EXPLAIN {statement}".encode()).fetchall()
    ]

    scanned = {found for line in plans for found in re.findall(r"Seq Scan on (\w+)", line)}
    assert scanned & GROWING == set(), "\n".join(plans)


def test_a_claim_needs_no_sort(link: psycopg.Connection[tuple[str]]) -> None:
    """The index has the order; else each claim would sort all that is queued."""
    for statement in (sql.HEADS_READY, sql.HEADS_SHELVED, sql.HEADS_STALLED, sql.DELAYED_DUE):
        text, _ = spelled(statement, ())
        plan = link.execute(f"EXPLAIN {text.decode().replace('%s', chr(39) + '1' + chr(39))}".encode()).fetchall()

        assert "Sort" not in "\n".join(row[0] for row in plan), plan


def test_places_become_postgresqls_own() -> None:
    """Numbered ones may be used twice; a missing value is compared as one."""
    assert spelled("SELECT ?1, ?2, ?1", ["a", "b"]) == (b"SELECT %s, %s, %s", ["a", "b", "a"])
    assert spelled("WHERE x IS ?", [None]) == (b"WHERE x IS NOT DISTINCT FROM %s", [None])
    assert insert_returning(sql.ADD_BATCH).endswith("RETURNING no")


def test_many_inserts_are_one_and_other_writes_follow_each_other() -> None:
    """One message for all; each message takes its time."""
    assert list(many("INSERT INTO t (a, b) VALUES (?, ?)", [(1, 2), (3, 4)])) == [
        (b"INSERT INTO t (a, b) VALUES (%s, %s), (%s, %s)", [1, 2, 3, 4], 1)
    ]
    assert list(many("DELETE FROM t WHERE a = ?", [(1,), (2,)])) == [
        (b"DELETE FROM t WHERE a = %s; DELETE FROM t WHERE a = %s", [1, 2], 2)
    ]
    assert list(many("DELETE FROM t WHERE a = ?", [])) == []
