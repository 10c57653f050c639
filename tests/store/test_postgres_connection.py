"""What the PostgreSQL store refuses to open, how it reconnects, and what it says when the server can't be used."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from scripts.private_postgres import DATABASE, PrivateServer

from teamster.model import StoreUnavailable, UsageError
from teamster.settings import StoreLimits
from teamster.store import postgres_connection
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_pool import PostgresPool, shown

DEADLINE_SECONDS = 30.0
QUICK = StoreLimits(lock_seconds=0.3, statement_seconds=0.5, connections_max=2)


@pytest.fixture
def pool(server: PrivateServer, schema: str) -> Iterator[PostgresPool]:
    """Return a pool with short limits on a schema with one table."""
    server.run_sql(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.things (no integer PRIMARY KEY)", database=DATABASE)
    with contextlib.closing(PostgresPool(server.url(), limits=QUICK)) as made:
        yield made


@pytest.fixture
def another(pool: PostgresPool, schema: str) -> Callable[[], PostgresDatabase]:
    """Open connections."""
    return lambda: PostgresDatabase(pool, schema=schema)


@pytest.fixture
def database(another: Callable[[], PostgresDatabase]) -> PostgresDatabase:
    """Open a connection."""
    return another()


def things(database: PostgresDatabase) -> list[int]:
    """Return what was written."""
    return [row[0] for row in database.rows("SELECT no FROM things ORDER BY no")]


def end_all(server: PrivateServer) -> None:
    """Terminate all backends of our program."""
    server.run_sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'teamster'")


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://me:s3cret@db.example:5433/queue", "postgresql://me@db.example:5433/queue"),
        ("postgresql:///queue?host=/run/pg&password=s3cret&user=me", "postgresql://me@/run/pg/queue"),
        ("host=db.example password=s3cret dbname=queue", "postgresql://db.example/queue"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, seen: str) -> None:
    """Logs, errors and `doctor` name the store; none of them may tell the password."""
    assert shown(url) == seen


def test_a_url_that_cant_be_read_is_refused_without_being_repeated() -> None:
    """What is wrong with it may be a part of the password."""
    with pytest.raises(UsageError) as refusal:
        PostgresPool("postgresql://me:s3%cret@db.example/queue")

    assert "s3" not in f"{refusal.value} {refusal.value.hint} {refusal.value.__cause__}"


def test_a_server_that_isnt_there_is_told_at_once() -> None:
    """Nobody waits for a pool's thread to give up."""
    database = PostgresDatabase(PostgresPool("postgresql://me:s3cret@127.0.0.1:1/queue"))

    with pytest.raises(StoreUnavailable, match="can't be reached") as trouble, database.transaction():
        pass

    assert "s3cret" not in str(trouble.value)


def test_a_database_that_isnt_there_is_named(server: PrivateServer) -> None:
    """A typing error in the URL is the usual reason."""
    with pytest.raises(StoreUnavailable, match='database "nowhere" does not exist'):
        PostgresDatabase(PostgresPool(server.url("nowhere"))).rows("SELECT 1")


def test_a_transaction_writes_at_once_or_not_at_all(database: PostgresDatabase) -> None:
    """An exception of any kind undoes it."""

    def break_off() -> None:
        database.run("INSERT INTO things VALUES (1)")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.turn(break_off)

    database.turn(lambda: database.run("INSERT INTO things VALUES (2)"))
    assert things(database) == [2]


def test_a_swallowed_error_commits_nothing_in_silence(database: PostgresDatabase) -> None:
    """PostgreSQL answers a COMMIT after an error with a rollback, and calls it no error."""

    def go_on() -> None:
        database.run("INSERT INTO things VALUES (1)")
        with contextlib.suppress(psycopg.Error):
            database.run("SELECT nonsense")

    with pytest.raises(StoreUnavailable, match="gave the transaction up"):
        database.turn(go_on)

    assert things(database) == []


def test_an_idle_connection_that_died_is_replaced_in_silence(database: PostgresDatabase, server: PrivateServer) -> None:
    """Nothing was asked of it yet: a restart of the server in a quiet hour is nobody's business."""
    assert things(database) == []
    end_all(server)
    assert things(database) == []
    end_all(server)

    database.turn(lambda: database.run("INSERT INTO things VALUES (1)"))

    assert things(database) == [1]


def test_a_transaction_whose_backend_dies_is_run_again(database: PostgresDatabase, server: PrivateServer) -> None:
    """No commit was asked for, so nothing was written."""
    runs: list[int] = []

    def work() -> None:
        runs.append(len(runs))
        database.run("INSERT INTO things VALUES (?)", runs[-1:])
        if runs == [0]:
            end_all(server)
        database.run("SELECT 1")

    database.turn(work)

    assert things(database) == [1]


def test_a_transaction_that_lost_a_race_is_run_again(another: Callable[[], PostgresDatabase]) -> None:
    """PostgreSQL ends one of two that wait for each other; that one wrote nothing, and may try again."""
    database = another()
    database.turn(lambda: database.run("INSERT INTO things VALUES (1), (2)"))
    both = threading.Barrier(2)

    def work(mine: PostgresDatabase, order: tuple[int, int], met: list[int]) -> None:
        mine.run("UPDATE things SET no = no WHERE no = ?", order[:1])
        if not met:
            met.append(1)
            both.wait(DEADLINE_SECONDS)
        mine.run("UPDATE things SET no = no WHERE no = ?", order[1:])

    def thread(order: tuple[int, int]) -> threading.Thread:
        mine, met = another(), list[int]()
        return threading.Thread(target=lambda: done.append(mine.turn(lambda: work(mine, order, met))))

    done: list[None] = []
    threads = [thread((1, 2)), thread((2, 1))]
    for each in threads:
        each.start()
    for each in threads:
        each.join(DEADLINE_SECONDS)

    assert len(done) == len(threads)


def test_a_block_whose_backend_dies_is_told_and_not_run_again(
    database: PostgresDatabase, server: PrivateServer
) -> None:
    """Only its caller knows what stood in it."""

    def block() -> None:
        with database.together():
            database.turn(lambda: database.run("INSERT INTO things VALUES (1)"))
            end_all(server)
            database.turn(lambda: database.run("INSERT INTO things VALUES (2)"))

    with pytest.raises(StoreUnavailable):
        block()

    assert things(database) == []


class Deaf(psycopg.Connection[tuple[object, ...]]):
    """A connection that breaks when it says COMMIT: before the server hears it, or after."""

    breaks_after = True

    def execute(self, query: Any, *arguments: Any, **more: Any) -> psycopg.Cursor[tuple[object, ...]]:
        if query == "COMMIT":
            if self.breaks_after:
                super().execute("COMMIT")
            self.close()
            raise psycopg.OperationalError("the connection is lost")
        return super().execute(query, *arguments, **more)


@pytest.mark.parametrize("heard", [True, False])
def test_a_commit_whose_answer_got_lost_is_looked_up(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, *, heard: bool
) -> None:
    """The server knows whether it happened: it is acknowledged if so; if not, the transaction is run again."""
    monkeypatch.setattr(Deaf, "breaks_after", heard)
    with monkeypatch.context() as patched:
        patched.setattr(psycopg, "connect", Deaf.connect)
        database.pool.give_back(database.pool.borrow())
    runs: list[int] = []

    def work() -> None:
        runs.append(len(runs))
        database.run("INSERT INTO things VALUES (?)", runs[-1:])
        database.trace = ("SELECT 1 FROM things WHERE no = ?", runs[-1:])

    database.turn(work)

    assert things(database) == [0 if heard else 1]


def test_the_number_of_a_transaction_proves_nothing(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, server: PrivateServer
) -> None:
    """A server that crashed may have given it to somebody else since, or not yet to anybody."""
    monkeypatch.setattr(Deaf, "breaks_after", False)
    (somebody,) = server.run_sql("SELECT pg_current_xact_id()::text")[0]
    for number in (somebody, str(int(somebody) + 10**6)):
        with monkeypatch.context() as patched:
            patched.setattr(psycopg, "connect", Deaf.connect)
            database.pool.forget_idle()
            database.pool.give_back(database.pool.borrow())
        runs: list[int] = []

        def work(runs: list[int] = runs, number: str = number) -> None:
            runs.append(len(runs))
            database.run("INSERT INTO things VALUES (?) ON CONFLICT DO NOTHING", runs[-1:])
            database.trace = ("SELECT 1 FROM things WHERE no = ?", runs[-1:])
            database._xid = number

        database.turn(work)

        assert runs == [0, 1]
    assert things(database) == [1]


def test_a_commit_whose_fate_nobody_can_tell_is_told_as_such(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guess would lose it or make it twice; the same request ids find the answer."""
    monkeypatch.setattr(postgres_connection, "SETTLE_TRIES_MAX", 1)
    monkeypatch.setattr(Deaf, "breaks_after", True)
    with monkeypatch.context() as patched:
        patched.setattr(psycopg, "connect", Deaf.connect)
        database.pool.give_back(database.pool.borrow())

    def work() -> None:
        database.run("INSERT INTO things VALUES (1)")
        database.trace = ("SELECT 1 FROM things", ())
        monkeypatch.setattr(database.pool, "_url", "postgresql://127.0.0.1:1/gone")

    with pytest.raises(StoreUnavailable, match="may have been written") as trouble:
        database.turn(work)

    assert "same request ids" in trouble.value.hint
    monkeypatch.undo()
    assert things(database) == [1]


def test_a_row_that_somebody_holds_is_waited_for_so_long_and_no_longer(another: Callable[[], PostgresDatabase]) -> None:
    """A stopped process may hold it; reading goes on all the same."""
    holder, database = another(), another()
    with holder.transaction():
        holder.run("INSERT INTO things VALUES (1)")

        with pytest.raises(StoreUnavailable, match="is held by another connection"):
            database.turn(lambda: database.run("INSERT INTO things VALUES (1)"))

    assert things(database) == [1]


def test_a_statement_that_takes_too_long_is_ended(database: PostgresDatabase) -> None:
    """In a transaction and outside of one."""
    with pytest.raises(StoreUnavailable, match="too slow"):
        database.rows("SELECT pg_sleep(30)")
    with pytest.raises(StoreUnavailable, match="too slow"):
        database.turn(lambda: database.rows("SELECT pg_sleep(30)"))


def test_a_transaction_that_falls_asleep_lets_go_of_its_rows(
    another: Callable[[], PostgresDatabase], server: PrivateServer
) -> None:
    """A harness that was stopped in the middle must not stop all others; woken, it finds nothing written."""
    sleeper, runs = another(), list[int]()
    sleeper.pool.limits = replace(QUICK, idle_seconds=0.1)

    def fall_asleep() -> None:
        runs.append(len(runs))
        sleeper.run("INSERT INTO things VALUES (?)", runs[-1:])
        while runs == [0] and server.run_sql("SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"):
            pass  # the server's own clock ends it
        sleeper.run("SELECT 1")

    sleeper.turn(fall_asleep)

    assert things(another()) == [1]


def test_a_process_holds_so_many_connections_and_no_more(pool: PostgresPool, database: PostgresDatabase) -> None:
    """A server has few of them for all."""
    held = [pool.borrow(), pool.borrow()]

    with pytest.raises(StoreUnavailable, match="all 2 connections"):
        pool.borrow()

    for link in held:
        pool.give_back(link)
    assert things(database) == []


def test_several_reads_see_one_moment(another: Callable[[], PostgresDatabase]) -> None:
    """What another connection commits in between comes into view afterwards."""
    reader, writer = another(), another()
    with reader.snapshot():
        assert things(reader) == []
        writer.turn(lambda: writer.run("INSERT INTO things VALUES (1)"))
        assert things(reader) == []
    assert things(reader) == [1]


def test_our_own_mistakes_are_not_blamed_on_the_database(database: PostgresDatabase) -> None:
    """A wrong statement is a broken promise of ours, and must be seen as one."""
    with pytest.raises(psycopg.errors.UndefinedColumn):
        database.rows("SELECT nonsense")


def test_nothing_of_a_session_stays_behind(database: PostgresDatabase, pool: PostgresPool) -> None:
    """A pooler gives the same server connection to somebody else next."""
    database.turn(lambda: database.run("INSERT INTO things VALUES (1)"))
    assert things(database) == [1]

    link = pool.borrow()
    found = link.execute("SELECT name FROM pg_settings WHERE source = 'session'").fetchall()
    prepared = link.execute("SELECT 1 FROM pg_prepared_statements").fetchall()
    locks = link.execute("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").fetchall()
    pool.give_back(link)

    assert (found, prepared, locks) == ([], [], [])


def test_a_database_set_up_to_lose_commits_doesnt_lose_ours(database: PostgresDatabase, server: PrivateServer) -> None:
    """Acknowledged means kept, whatever an administrator chose for others."""
    server.run_sql(f"ALTER DATABASE {DATABASE} SET synchronous_commit = off")
    try:
        assert database.rows("SHOW synchronous_commit") == [("off",)]
        assert database.turn(lambda: database.rows("SHOW synchronous_commit")) == [("on",)]
    finally:
        server.run_sql(f"ALTER DATABASE {DATABASE} RESET synchronous_commit")
