"""An older database is brought up to date, whole or not at all."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from contracts.store_world import World, accepted, draft, ids, loose
from store.conftest import require_whole
from teamster.model import BatchId, ItemStatus, RequestId
from teamster.store import ClaimFilter, Complete, open_sqlite, schema
from teamster.store.connection import Database
from teamster.store.schema import MIGRATIONS, SCHEMA_VERSION

SCHEMA_1 = Path(__file__).parents[1] / "compat" / "schema_1.sql"


@pytest.fixture
def old(path: Path) -> Path:
    """Return a database that the first release wrote."""
    path.parent.mkdir()
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute(SCHEMA_1.read_text(encoding="utf-8"))
    return path


def structure(path: Path) -> set[tuple[Any, ...]]:
    """Return all columns and indexes, without the order in which they came about."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        return set(
            connection.execute(
                'SELECT m.name, p.name, p.type || p."notnull" || p.pk FROM sqlite_schema m, pragma_table_info(m.name) p'
                " UNION SELECT m.name, 'index', m.sql FROM sqlite_schema m WHERE m.type = 'index' AND m.sql IS NOT NULL"
            ).fetchall()
        )


def test_an_old_database_is_brought_up_with_all_that_it_holds(old: Path) -> None:
    """Whoever upgrades has agents running and steps waiting."""
    with contextlib.closing(open_sqlite(old)) as store:
        world = World(lambda: store)
        by_name = {str(item.step): item for item in store.items()}
        statuses = {name.removesuffix(".step"): item.status.value for name, item in by_name.items()}

        assert statuses == {
            "done": "succeeded",
            "runs": "running",
            "late": "queued",
            "urgent": "succeeded",
            "plain": "queued",
            "broken": "failed",
            "stuck": "stalled",
            "other": "queued",
        }
        assert [one.draft.item_id for one in store.waiting()] == ["batch-waits-1"]
        assert store.draft(by_name["late.step"].item_id) == draft("late")
        assert [row.path for row in store.outbox()] == ["runs/batch/batch_meta.json"]
        assert [batch.batch_id for batch in store.batches()] == ["later", "batch"]
        running = by_name["runs.step"]
        change = Complete(guard=world.guard(running, request=RequestId("newer")), result={})
        assert accepted(world.apply(change)).status is ItemStatus.SUCCEEDED
        world.shift("shift-b")
        assert ids(world.claim("shift-b", limit=9)) == ["other", "waits"]
        world.clock.advance(3600)
        world.shift("shift-c")
        assert set(ids(world.claim("shift-c", limit=9))) == {"late", "plain"}
    require_whole(old)


def test_an_old_database_gains_what_is_new(old: Path) -> None:
    """Limits, collections, all events from a cursor; and a submission that never ended can be made again."""
    with contextlib.closing(open_sqlite(old)) as store:
        world = World(lambda: store)
        world.shift("shift-b")
        store.enqueue(loose("p1"), at=world.now)
        store.set_limit("*", 2)

        assert len(store.events_after(limit=500)) == sum(len(store.events(item.item_id)) for item in store.items())
        assert len(world.claim("shift-b", limit=9, wanted=ClaimFilter(batch_ids=frozenset({BatchId("_plans")})))) == 1
        assert world.claim("shift-b", limit=9) == []
        assert store.items(batch_id=BatchId("half")) == []
        assert world.submit(draft("h", batch="half"), batch="half").created
        assert store.items(batch_id=BatchId("half"))[0].status is ItemStatus.QUEUED
    require_whole(old)


def test_old_and_new_databases_have_one_structure(old: Path, tmp_path: Path) -> None:
    """Else a plan that is proven on a new one may be another on an old one."""
    open_sqlite(old).close()
    open_sqlite(tmp_path / "new.db").close()

    assert structure(old) == structure(tmp_path / "new.db")


@pytest.mark.parametrize("number", range(len(MIGRATIONS)))
def test_a_migration_that_breaks_changes_nothing(path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a schema would be nobody's; the next start begins where this one did."""
    broken = (*MIGRATIONS[:number], f"{MIGRATIONS[number]}; SELECT nonsense;")
    path.parent.mkdir()
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        for version, migration in enumerate(MIGRATIONS[:number], start=1):
            connection.execute(f"{migration}; PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    before = structure(path)
    with monkeypatch.context() as patch:
        patch.setattr("teamster.store.connection.MIGRATIONS", broken)
        with pytest.raises(apsw.SQLError):
            open_sqlite(path)

    assert structure(path) == before
    with contextlib.closing(Database(path)) as database:
        assert database.rows("PRAGMA user_version") == [(SCHEMA_VERSION,)]


def test_what_was_due_is_due_and_what_was_not_is_not(old: Path) -> None:
    """A retry that waited keeps its moment."""
    with contextlib.closing(open_sqlite(old)) as store:
        world = World(lambda: store)
        (late,) = [item for item in store.items() if str(item.step) == "late.step"]

        assert late.not_before == world.now.wall + timedelta(seconds=600)
        assert store.next_due(batch_id=BatchId("batch")) == late.not_before
