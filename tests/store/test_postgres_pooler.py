"""A transaction pooler stands between: nothing of a session may be counted on."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from scripts.private_postgres import DATABASE, ROLE, PrivateServer, as_nobody

from contracts.store_intake import OutboxContract
from contracts.store_moves import RepeatContract
from contracts.store_world import World, draft, file
from store.postgres_stage import at_boot_time
from teamster.kit import CountedNames
from teamster.store import Store
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_pool import PostgresPool

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
SERVER_CONNECTIONS = 2
DEADLINE_SECONDS = 30.0
PORT = 6543
ITEMS = 30

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


class Pooler:
    """A pgbouncer in transaction mode in front of a server, with fewer connections than there are clients."""

    def __init__(self, server: PrivateServer, folder: Path) -> None:
        self._settings = folder / "pgbouncer.ini"
        self._folder = folder
        self._settings.write_text(
            f"""
            [databases]
            {DATABASE} = host={server.folder} dbname={DATABASE} user={ROLE}
            [pgbouncer]
            listen_port = {PORT}
            unix_socket_dir = {folder}
            auth_type = any
            pool_mode = transaction
            default_pool_size = {SERVER_CONNECTIONS}
            """
        )
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the URL of the database behind it."""
        return f"postgresql://{ROLE}@/{DATABASE}?host={self._folder}&port={PORT}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        assert PROGRAM is not None
        self._process = subprocess.Popen([PROGRAM, "-q", str(self._settings)], **as_nobody())
        while True:
            assert self._process.poll() is None, "it left at once"
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url).close()
                return

    def stop(self) -> None:
        """End it at once, with all that goes through it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(DEADLINE_SECONDS)


@pytest.fixture(scope="module")
def pooler(server: PrivateServer) -> Iterator[Pooler]:
    """Start a pooler before the server."""
    folder = server.folder / "pooler"
    folder.mkdir()
    if os.getuid() == 0:
        folder.chmod(0o777)
    made = Pooler(server, folder)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def open_store(open_postgres_store: Callable[[], Store], pooler: Pooler) -> Iterator[Callable[[], PostgresStore]]:
    """Open connections to an empty store, all through the pooler."""
    del open_postgres_store  # it checks and empties the store afterwards
    names = CountedNames()
    with contextlib.closing(PostgresPool(pooler.url)) as pool:

        def another(root: str = "root") -> PostgresStore:
            database = PostgresDatabase(pool, root=root, host="host")
            return PostgresStore(database, names=names, host="host", clock=at_boot_time)

        yield another


@pytest.fixture
def world(open_store: Callable[[], Store]) -> World:
    """Return a world behind the pooler."""
    return World(open_store)


class TestBehindAPooler(RepeatContract, OutboxContract):
    """A part of the contract, as a sample."""


def test_settings_of_one_client_reach_no_other(open_store: Callable[..., PostgresStore], world: World) -> None:
    """Two roots by turns on the same server connections: each sees its own files."""
    other = World(lambda: open_store("root-b"))
    world.submit(draft("a"), files=(file("runs/a"),))
    other.submit(draft("b", batch="later"), batch="later", files=(file("runs/b"),))

    for _ in range(SERVER_CONNECTIONS + 1):
        assert [row.path for row in world.store.outbox()] == ["runs/a"]
        assert [row.path for row in other.store.outbox()] == ["runs/b"]


@pytest.mark.req("DC-claim")
def test_more_clients_than_connections_claim_no_item_twice(world: World) -> None:
    """They wait for each other in the pooler, and no lock stays behind."""
    world.submit(*(draft(f"n{number}") for number in range(ITEMS)))
    shifts = [world.shift(f"shift-{number}") for number in range(2 * SERVER_CONNECTIONS)]
    taken: list[str] = []

    def work(shift: str) -> None:
        store = world.open()
        while items := world.claim(shift, limit=2, store=store):
            taken.extend(item.item_id for item in items)

    threads = [threading.Thread(target=work, args=(shift,)) for shift in shifts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    assert sorted(taken) == sorted(item.item_id for item in world.store.items())


def test_a_pooler_that_starts_again_is_nobodys_business(world: World, pooler: Pooler) -> None:
    """Idle connections through it are dead, and replaced."""
    world.submit(draft("one"))
    pooler.stop()
    pooler.start()

    world.shift()
    assert len(world.claim()) == 1
