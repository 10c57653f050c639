"""The SQLite store keeps the contract, across connections, threads, deaths and foreign files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.store_contract import StoreContract
from contracts.store_world import World, draft
from teamster.store import Complete, Store, open_sqlite

ITEMS = 200
DEADLINE_SECONDS = 30.0
DIES_IN_A_TRANSACTION = """
import os, signal, sys
from contracts.store_world import World
from teamster.store import open_sqlite
from pathlib import Path

store = open_sqlite(Path(sys.argv[1]))
world = World(lambda: store)

def dies(claimed, place):
    os.kill(os.getpid(), signal.SIGKILL)

store.claim("shift-a", limit=1, at=world.now, begin=dies)
"""


class TestSqliteStore(StoreContract):
    """The embedded default."""

    @pytest.fixture
    def open_store(self, open_sqlite_store: Callable[[], Store]) -> Callable[[], Store]:
        """Open connections to one file."""
        return open_sqlite_store


@pytest.mark.req("DC-claim", "DC-own")
def test_two_threads_with_two_connections_claim_no_item_twice(world: World, path: Path) -> None:
    """The database's lock is the only referee."""
    world.submit(*(draft(f"n{number}") for number in range(ITEMS)))
    taken: list[list[str]] = [[], []]
    for number in range(2):
        world.shift(f"shift-{number}")

    def work(number: int) -> None:
        with contextlib.closing(open_sqlite(path)) as store:
            while items := world.claim(f"shift-{number}", limit=3, store=store):
                taken[number] += [item.item_id for item in items]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    assert sorted(taken[0] + taken[1]) == sorted(item.item_id for item in world.store.items())


def test_many_first_openings_at_once_make_one_schema(path: Path) -> None:
    """Whoever comes second waits, and finds the work done."""
    ready = threading.Barrier(6)
    troubles: list[Exception] = []

    def first_opening() -> None:
        ready.wait(DEADLINE_SECONDS)
        try:
            open_sqlite(path).close()
        except Exception as trouble:  # noqa: BLE001 - a thread's trouble is told by the test
            troubles.append(trouble)

    threads = [threading.Thread(target=first_opening) for _ in range(ready.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    assert troubles == []


@pytest.mark.req("DC-cas")
def test_a_process_that_dies_in_a_transaction_leaves_the_state_before_it(world: World, path: Path) -> None:
    """Killed between two of its lines, a claim never was."""
    world.submit(draft("one"))
    world.shift()
    before = world.only()

    died = subprocess.run(
        [sys.executable, "-c", DIES_IN_A_TRANSACTION, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=DEADLINE_SECONDS,
        check=False,
    )

    assert died.returncode == -signal.SIGKILL
    assert world.only() == before
    assert world.types(before) == ["enqueued"]
    assert len(world.claim()) == 1


def test_a_process_that_dies_after_the_commit_gets_the_first_answer_again(world: World, path: Path) -> None:
    """What was acknowledged is there, whoever opens the file next."""
    item = world.running()
    change = Complete(guard=world.guard(item), result={"ok": True})
    first = world.apply(change)

    with contextlib.closing(open_sqlite(path)) as successor:
        assert world.apply(change, store=successor) == replace(first, replayed=True)
