"""What a claim costs, counted in steps of the database's own machine: nothing is timed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from contracts.store_world import World, draft
from teamster.kit import CountedNames
from teamster.store import open_sqlite

STEPS_AT_A_TIME = 10
GROWTH_MAX = 1.3
FEW, MANY = 60, 1200
SHOP = frozenset({"directory:/srv/shop"})
Prepare = Callable[[World, int], None]


class Meter:
    """Counts the steps of all connections that are opened while it is there."""

    def __init__(self) -> None:
        self.steps = 0

    def watch(self, connection: apsw.Connection) -> None:
        connection.set_progress_handler(self._count, STEPS_AT_A_TIME)

    def _count(self) -> bool:
        self.steps += STEPS_AT_A_TIME
        return False


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    """Return a meter on every connection from now on."""
    made = Meter()
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, made.watch])
    return made


@contextlib.contextmanager
def store_with(path: Path, prepare: Prepare, many: int) -> Iterator[World]:
    """Open a store in which `prepare` has put so many items."""
    with contextlib.closing(open_sqlite(path, names=CountedNames())) as store:
        world = World(lambda: store)
        world.shift(ttl_seconds=1e6)
        prepare(world, many)
        yield world


def queued(world: World, many: int) -> None:
    """Many items may run."""
    world.submit(*(draft(f"n{n}") for n in range(many)))


def finished(world: World, many: int) -> None:
    """Many items have ended."""
    queued(world, many)
    while items := world.claim(limit=64):
        for item in items:
            world.complete(world.start(item))
    world.submit(*(draft(f"n{n}", batch="later") for n in range(FEW)), batch="later")


def held_back(world: World, many: int) -> None:
    """Many items wait for a limit that is full, and earlier claims have met them."""
    world.store.set_limit("directory:*", 1)
    world.submit(*(draft(f"s{n}", limit_keys=SHOP) for n in range(many)), *(draft(f"n{n}") for n in range(FEW)))
    for _ in range(4):
        world.claim(limit=2)


def of_own_directories(world: World, many: int) -> None:
    """Many items, each with a limit of its own."""
    world.store.set_limit("directory:*", 1)
    names = (frozenset({f"directory:/srv/{n}"}) for n in range(many))
    world.submit(*(draft(f"s{n}", limit_keys=keys) for n, keys in enumerate(names)))


def for_others(world: World, many: int) -> None:
    """Many items ask for a label that this claimer doesn't have."""
    gpu = (replace(draft(f"g{n}", priority=9), labels=frozenset({"gpu"})) for n in range(many))
    world.submit(*gpu, *(draft(f"n{n}") for n in range(FEW)))


def delayed(world: World, many: int) -> None:
    """Many items are due later."""
    world.submit(*(draft(f"s{n}", priority=1) for n in range(many)), *(draft(f"n{n}") for n in range(FEW)))
    for _ in range(many // 60):
        for item in world.claim(limit=60):
            world.stall(item, requeue_at=world.now.after(3600).wall)


@pytest.mark.req("DC-claim")
@pytest.mark.parametrize("prepare", [queued, finished, held_back, of_own_directories, for_others, delayed])
def test_a_claim_costs_the_same_among_few_and_among_many(tmp_path: Path, meter: Meter, prepare: Prepare) -> None:
    """Whatever the many are: ended, due later, held back by a limit, for somebody else."""
    costs = []
    for many in (FEW, MANY):
        with store_with(tmp_path / f"{many}.db", prepare, many) as world:
            before = meter.steps
            assert len(world.claim(limit=8)) == 8
            costs.append(meter.steps - before)

    assert 0 < costs[1] <= GROWTH_MAX * costs[0], costs


def test_an_end_costs_the_same_in_a_small_batch_and_in_a_large_one(tmp_path: Path, meter: Meter) -> None:
    """It looks at its own dependants, and at no other item."""
    costs = []
    for many in (FEW, MANY):
        with store_with(tmp_path / f"{many}.db", queued, many) as world:
            (item,) = world.claim()
            running = world.start(item)
            before = meter.steps
            world.complete(running)
            costs.append(meter.steps - before)

    assert 0 < costs[1] <= GROWTH_MAX * costs[0], costs
