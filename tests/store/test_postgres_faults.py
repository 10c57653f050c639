"""The server is killed and comes back: what was acknowledged is there, once, and the work goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import pytest
from scripts.private_postgres import PrivateServer

from contracts.store_world import RESULT, World, draft
from store.postgres_stage import at_boot_time, private_server
from teamster.kit import RandomNames
from teamster.model import Item, ItemStatus, RequestId, StoreUnavailable
from teamster.settings import StoreLimits
from teamster.store import Change, Complete, Guard, Start
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_migration import bring_up_to_date
from teamster.store.postgres_pool import PostgresPool

ITEMS = 30
ENDS_BETWEEN_KILLS = 6
DEADLINE_SECONDS = 60.0


@pytest.fixture
def mortal() -> Iterator[PrivateServer]:
    """Start a server that may be killed."""
    with private_server() as server:
        yield server


class Worker:
    """Claims, starts and completes until nothing is left; what got no answer is asked again as it was."""

    def __init__(self, world: World, shift: str, *, up: threading.Event, told: threading.Semaphore) -> None:
        self.world = world
        self.shift = world.shift(shift)
        self.store = world.open()
        self.ended: list[Item] = []
        self.unanswered = 0
        self._up = up
        self._told = told
        self._requests = 0

    def work(self) -> None:
        """Work until all is done."""
        while taken := self._claim():
            for item in taken:
                started = self._insist(Start(guard=self._guard(item)))
                self.ended.append(self._insist(Complete(guard=self._guard(started), result=RESULT)))
                self._told.release()

    def _guard(self, item: Item) -> Guard:
        self._requests += 1
        return self.world.guard(item, request=RequestId(f"{self.shift}-{self._requests}"))

    def _claim(self) -> list[Item]:
        while True:
            with self._patience():
                return self.world.claim(self.shift, limit=2, store=self.store)

    def _insist(self, change: Change) -> Item:
        while True:
            with self._patience():
                answer = self.world.apply(change, store=self.store)
                assert answer.refusal is None, answer.refusal
                assert answer.item is not None
                return answer.item

    @contextlib.contextmanager
    def _patience(self) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable:
            self.unanswered += 1
            assert self._up.wait(DEADLINE_SECONDS)


@pytest.mark.req("DC-cas", "DC-own")
@pytest.mark.parametrize("killer", ["server", "backends"])
def test_a_server_that_is_killed_loses_nothing_and_does_nothing_twice(mortal: PrivateServer, killer: str) -> None:
    """In the middle of claims, starts and ends of two harnesses; what a commit's answer didn't say is found out."""
    pool = PostgresPool(mortal.url(), limits=StoreLimits(connect_seconds=2))
    bring_up_to_date(PostgresDatabase(pool))
    names = RandomNames()

    def another() -> PostgresStore:
        database = PostgresDatabase(pool, root="root", host="host")
        return PostgresStore(database, names=names, host="host", clock=at_boot_time)

    world, up, told = World(another), threading.Event(), threading.Semaphore(0)
    world.submit(*(draft(f"n{number}") for number in range(ITEMS)))
    up.set()
    workers = [Worker(world, f"shift-{name}", up=up, told=told) for name in "ab"]
    threads = [threading.Thread(target=worker.work, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    for _ in range(ITEMS // ENDS_BETWEEN_KILLS - 1):
        for _ in range(ENDS_BETWEEN_KILLS):
            assert told.acquire(timeout=DEADLINE_SECONDS)
        if killer == "server":
            up.clear()
            mortal.kill()
            mortal.start()
            up.set()
        else:
            mortal.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'teamster'")
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    items = {item.item_id: item for item in world.store.items()}
    assert sorted(item.item_id for worker in workers for item in worker.ended) == sorted(items)
    assert {item.status for item in items.values()} == {ItemStatus.SUCCEEDED}
    for worker in workers:
        assert all(items[item.item_id] == item for item in worker.ended)
    assert all(world.types(item) == ["enqueued", "claimed", "started", "succeeded"] for item in items.values())
    assert world.store.counts()["succeeded"] == ITEMS
    pool.close()
