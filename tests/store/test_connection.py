"""What the store refuses to open, and what it says when the database can't be used."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from contracts.store_world import World, draft
from teamster.kit import RandomNames
from teamster.model import ItemId, StoreUnavailable, UsageError
from teamster.store import open_sqlite
from teamster.store.connection import Database
from teamster.store.schema import SCHEMA_VERSION
from teamster.store.sqlite import SqliteStore

BUSY_SECONDS = 0.02
PAGE_BYTES = 4096
NOBODY = 65534


@contextlib.contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """Open the file past the store, as a person with a tool would."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        yield connection


def test_the_file_is_its_owners_alone(path: Path) -> None:
    """Specs hold prompts, and prompts hold secrets; the log beside it holds the same."""
    before = os.umask(0)
    try:
        with contextlib.closing(open_sqlite(path)) as store:
            store.batches()
            modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert modes == dict.fromkeys(("teamster.db", "teamster.db-wal", "teamster.db-shm"), 0o600)


def test_acknowledged_commits_survive_a_power_cut(path: Path) -> None:
    """`NORMAL` lost them in 4 of 12 cuts."""
    with contextlib.closing(Database(path)) as database:
        assert database.rows("PRAGMA journal_mode") == [("wal",)]
        assert database.rows("PRAGMA synchronous") == [(2,)]


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    """An old program would not know what it breaks."""
    open_sqlite(path).close()
    with raw(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")

    with pytest.raises(UsageError, match="newer Teamster") as refusal:
        open_sqlite(path)

    assert "use the newer" in refusal.value.hint
    with raw(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchall() == [(SCHEMA_VERSION + 1,)]


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    """It could be anybody's."""
    path.parent.mkdir()
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")

    with pytest.raises(UsageError, match="another program"):
        open_sqlite(path)

    with raw(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


def test_a_file_that_is_no_database_is_named_with_a_way_out(path: Path) -> None:
    """The runs store can make it again."""
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be looked at" * 100)

    with pytest.raises(StoreUnavailable, match="is not a database") as trouble:
        open_sqlite(path)

    assert "rebuild" in trouble.value.hint


def test_a_place_that_holds_no_file_is_named(tmp_path: Path) -> None:
    """A folder in its way, a file in place of its folder."""
    (tmp_path / "teamster.db").mkdir()
    (tmp_path / "db").write_text("")

    for path in (tmp_path / "teamster.db", tmp_path / "db" / "teamster.db"):
        with pytest.raises(StoreUnavailable, match="can't be"):
            open_sqlite(path)


def test_a_held_lock_is_waited_for_so_long_and_no_longer(path: Path) -> None:
    """A stopped process may hold it for ever; reading goes on all the same."""
    open_sqlite(path).close()
    with contextlib.closing(open_sqlite(path, busy_seconds=BUSY_SECONDS)) as store, raw(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        world = World(lambda: store)

        with pytest.raises(StoreUnavailable, match="held by another process"):
            world.submit(draft("one"))

        assert store.batches() == []
        holder.execute("ROLLBACK")
        assert world.submit(draft("one")).created


def test_a_full_disk_writes_nothing_and_is_survived(path: Path) -> None:
    """Space may be freed: then the same connection goes on."""
    database = Database(path)
    with contextlib.closing(SqliteStore(database, names=RandomNames())) as store:
        world = World(lambda: store)
        (pages,) = database.rows("PRAGMA page_count")[0]
        database.rows(f"PRAGMA max_page_count = {pages + 3}")

        with pytest.raises(StoreUnavailable, match="no room"):
            world.submit(*(draft(f"n{number}") for number in range(400)))

        assert store.batches() == []
        database.rows("PRAGMA max_page_count = 1000000")
        assert world.submit(draft("one")).created


def test_a_damaged_file_ends_all_writing(path: Path) -> None:
    """A second try on a disk that failed may claim a success that isn't one."""
    open_sqlite(path).close()
    with raw(path) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'drafts'").get
    assert isinstance(found, int)
    with path.open("r+b") as damaged:
        damaged.seek((found - 1) * PAGE_BYTES)
        damaged.write(b"\xff" * PAGE_BYTES)

    with contextlib.closing(open_sqlite(path)) as store:
        world = World(lambda: store)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="is damaged"):
                world.submit(draft("one", batch="later"), batch="later")


def test_several_reads_see_one_moment(path: Path) -> None:
    """What another connection commits in between comes into view afterwards."""
    with contextlib.closing(Database(path)) as reader, contextlib.closing(open_sqlite(path)) as store:
        with reader.snapshot():
            first = reader.rows("SELECT COUNT(*) FROM batches")
            World(lambda: store).submit(draft("one"))
            assert reader.rows("SELECT COUNT(*) FROM batches") == first
        assert reader.rows("SELECT COUNT(*) FROM batches") != first


def test_our_own_mistakes_are_not_blamed_on_the_database(path: Path) -> None:
    """A wrong statement is a broken promise of ours, and must be seen as one."""
    with contextlib.closing(Database(path)) as database, pytest.raises(apsw.SQLError):
        database.rows("SELECT nonsense")


def test_nothing_is_made_on_a_network_file_system(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal comes before the first file; none can be mounted in a test, so the kernel's word is replaced."""
    monkeypatch.setattr("teamster.store.connection.file_system_of", lambda _path: "nfs4")

    with pytest.raises(UsageError, match="network file system"):
        open_sqlite(path)

    assert not path.parent.exists()


@pytest.mark.parametrize("ask", ["get", "events", "cancel"])
def test_a_name_that_no_database_can_hold_is_refused(path: Path, ask: str) -> None:
    """Half of a surrogate pair comes in with a file name or with JSON; it ends one call and no more."""
    with contextlib.closing(open_sqlite(path)) as store:
        world = World(lambda: store)
        half = ItemId("half \ud800")
        asks: dict[str, Callable[[ItemId], object]] = {"get": store.get, "events": store.events, "cancel": world.cancel}

        with pytest.raises(UsageError, match="surrogate"):
            asks[ask](half)

        assert world.submit(draft("one")).created


READS_ONLY = """
import sys
from pathlib import Path
from contracts.store_world import World, draft
from teamster.model import ItemId, StoreUnavailable
from teamster.store import open_sqlite

try:
    store = open_sqlite(Path(sys.argv[1]))
    World(lambda: store).submit(draft("one"))
except StoreUnavailable as trouble:
    print(trouble.fact, trouble.hint, sep="|")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may read and not write")
def test_a_database_that_may_only_be_read_is_named(path: Path) -> None:
    """One typed error, and nothing written. It is asked as somebody else: root writes through modes."""
    open_sqlite(path).close()
    before = path.read_bytes()
    for place in (path, *path.parents[: len(path.parents) - 2]):
        place.chmod(0o755 if place.is_dir() else 0o644)

    answer = subprocess.run(
        [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            sys.executable,
            "-c",
            READS_ONLY,
            str(path),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert answer.stderr == ""
    assert "can't be" in answer.stdout
    assert "permissions" in answer.stdout
    assert path.read_bytes() == before
