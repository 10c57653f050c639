"""Many transactions at once on PostgreSQL: nothing is lost between them, and few wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from scripts.private_postgres import PrivateServer

from contracts.store_world import ERROR, TTL_SECONDS, World, accepted, draft, file, ids, refused, waits
from teamster.kit import CountedNames
from teamster.model import Item, ItemStatus, LeaseLost, RootId, ShiftId
from teamster.store import Answer, ClaimFilter, Complete, Store
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_pool import PostgresPool

DEADLINE_SECONDS = 30.0
ITEMS = 60
A_WAITER = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'teamster' AND wait_event_type = 'Lock'"
T = TypeVar("T")


@pytest.fixture
def world(open_postgres_store: Callable[[], Store]) -> World:
    """Return a world with an empty PostgreSQL store."""
    return World(open_postgres_store)


@pytest.fixture
def after(world: World, server: PrivateServer) -> Callable[[Callable[[], Any], Callable[[], T]], T]:
    """Return what runs one thing to its end while another transaction is open: it must wait, and then go on."""

    def run(first: Callable[[], Any], then: Callable[[], T]) -> T:
        done: list[T] = []
        thread = threading.Thread(target=lambda: done.append(then()), daemon=True)
        with world.store.together():
            first()
            world.store.counts()  # what was held back is written now
            thread.start()
            while thread.is_alive() and not server.run_sql(A_WAITER):
                pass  # it is on its way
            assert done == [], "it did not wait"
        thread.join(DEADLINE_SECONDS)
        return done[0]

    return run


After = Callable[[Callable[[], Any], Callable[[], Any]], Any]


def two_running(world: World) -> tuple[Item, Item]:
    """Run the first two items of a batch."""
    world.shift()
    first, second = (world.start(item) for item in world.claim(limit=2))
    return first, second


@pytest.mark.req("DC-claim", "DC-own")
def test_two_threads_with_two_connections_claim_no_item_twice(world: World) -> None:
    """And leave none behind."""
    world.submit(*(draft(f"n{number}") for number in range(ITEMS)))
    taken: list[list[str]] = [[], []]
    for number in range(2):
        world.shift(f"shift-{number}")

    def work(number: int) -> None:
        store = world.open()
        while items := world.claim(f"shift-{number}", limit=3, store=store):
            taken[number] += [item.item_id for item in items]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)

    assert sorted(taken[0] + taken[1]) == sorted(item.item_id for item in world.store.items())


def test_two_that_end_at_once_free_what_waits_for_both(world: World, after: After) -> None:
    """Each would see the other's end as not made yet, and the dependant would wait for ever."""
    world.submit(draft("a"), draft("b"), draft("c", waits("a"), waits("b")))
    first, second = two_running(world)
    other, end = world.open(), Complete(guard=world.guard(second), result={})

    accepted(after(lambda: world.complete(first), lambda: world.apply(end, store=other)))

    assert ids(world.claim(limit=5)) == ["c"]


def test_what_begins_to_wait_while_the_step_ends_is_freed(world: World, after: After) -> None:
    """Whichever comes first."""
    world.submit(draft("a"), draft("b"))
    first, second = two_running(world)
    other, end = world.open(), Complete(guard=world.guard(second), result={})

    found = after(
        lambda: world.complete(first), lambda: other.enqueue(draft("c", waits("a"), generation=2), at=world.now)
    )
    freed = after(
        lambda: world.store.enqueue(draft("d", waits("b"), generation=2), at=world.now),
        lambda: world.apply(end, store=other),
    )

    assert found.status is ItemStatus.QUEUED
    accepted(freed)
    assert ids(world.claim(limit=5)) == ["c", "d"]


def test_the_same_request_at_once_gets_the_same_answer(world: World, after: After) -> None:
    """A client that lost its connection asks again while the first try still commits."""
    item = world.running()
    end = Complete(guard=world.guard(item), result={"ok": True})
    other, first = world.open(), list[Answer]()

    again = after(lambda: first.append(world.apply(end)), lambda: world.apply(end, store=other))

    assert [again] == [replace(answer, replayed=True) for answer in first]
    assert world.types(item)[-2:] == ["started", "succeeded"]


def test_one_request_id_for_two_items_at_once_is_good_for_one(world: World, after: After) -> None:
    """The second finds out when it writes, and then reads what the id was used for."""
    world.submit(draft("a"), draft("b"))
    first, second = two_running(world)
    request, other = world.request(), world.open()
    ends = [Complete(guard=world.guard(item, request=request), result={}) for item in (first, second)]

    answer = after(lambda: world.apply(ends[0]), lambda: world.apply(ends[1], store=other))

    assert "something else" in str(answer.refusal)
    assert world.fresh(second) == second


@pytest.mark.req("DC-own")
def test_a_shift_is_ended_after_what_is_being_written_in_its_name(world: World, after: After) -> None:
    """Once it is ended nobody writes in its name; a renewal in between waits for nobody."""
    item = world.running()
    other, third = world.open(), world.open()

    def complete_and_renew() -> None:
        world.complete(item)
        third.renew_shift(ShiftId("shift-a"), at=world.now)

    after(complete_and_renew, lambda: other.end_shift(ShiftId("shift-a"), at=world.now))

    assert world.fresh(item).status is ItemStatus.SUCCEEDED
    assert world.store.shifts() == []


def test_ends_and_renewals_wait_for_no_claim(world: World) -> None:
    """Nor for each other's counters: what can't be counted at once is counted beside."""
    world.submit(*(draft(f"n{number}") for number in range(4)))
    first, second = two_running(world)
    other = world.open()

    with world.store.together():
        world.complete(first)
        assert len(world.claim()) == 1
        end = Complete(guard=world.guard(second), result={})
        accepted(world.apply(end, store=other))
        other.renew_shift(ShiftId("shift-a"), at=world.now)
        assert other.counts()["succeeded"] == 1

    assert world.store.counts() == {
        "waiting": 0, "queued": 1, "claimed": 1, "running": 0, "stalled": 0, "succeeded": 2, "failed": 0
    }  # fmt: skip


def test_a_claim_passes_over_what_is_being_changed(world: World) -> None:
    """An operator's cancel that takes its time holds up nobody."""
    world.submit(draft("a"), draft("b"))
    world.shift()
    other = world.open()

    with world.store.together():
        world.cancel("batch-a-1")
        taken = world.claim(limit=2, store=other)

    assert ids(taken) == ["b"]
    assert world.store.counts()["failed"] == 1


def test_a_limit_is_never_overfilled_by_two_that_claim_at_once(world: World, after: After) -> None:
    """Limits are about all claims, also about those that look elsewhere; so claims take turns."""
    shop = frozenset({"directory:/srv/shop"})
    world.store.set_limit("directory:/srv/shop", 1)
    wide = replace(draft("wide", limit_keys=shop, priority=1), labels=frozenset({"gpu"}))
    world.submit(draft("plain", limit_keys=shop), wide)
    world.shift()
    other = world.open()

    second = after(
        world.claim, lambda: world.claim(limit=4, wanted=ClaimFilter(labels=frozenset({"gpu"})), store=other)
    )

    assert second == []


@pytest.mark.req("DC-events")
def test_a_reader_of_events_never_passes_one_that_is_still_to_come(world: World) -> None:
    """Numbers are given before the commit: who reads past a gap would miss what fills it."""
    world.submit(draft("a"), draft("b"))
    first, second = two_running(world)
    reader, other = world.open(), world.open()
    cursor = reader.events_after()[-1].cursor

    with world.store.together():
        world.complete(first)
        world.store.counts()  # what was held back is written now
        accepted(world.apply(Complete(guard=world.guard(second), result={}), store=other))
        assert reader.events_after(cursor) == []

    assert [noticed.item_id for noticed in reader.events_after(cursor)] == [first.item_id, second.item_id]


# many hosts


@pytest.mark.req("DC-own", "DC-lease")
def test_a_shift_of_another_host_is_judged_by_the_databases_clock(world: World, postgres_pool: PostgresPool) -> None:
    """Boot times of two machines don't compare, and another boot there says nothing about here."""
    item = world.running()
    other = PostgresStore(
        PostgresDatabase(postgres_pool, root="root-b", host="host-b"),
        names=CountedNames(1000),
        host="host-b",
        clock=lambda told, at: world.now.wall,  # noqa: ARG005 - one clock for all
    )
    there = replace(world.now, boot_id="boot-of-b", boot_seconds=5.0, wall=world.now.wall + timedelta(days=1))

    early = other.stall_lost(item.item_id, rev=item.rev, at=there, error=ERROR, attempt=None)
    world.clock.advance(TTL_SECONDS)
    late = world.apply(Complete(guard=world.guard(item), result={}))
    lost = other.stall_lost(item.item_id, rev=item.rev, at=there, error=ERROR, attempt=None)

    assert "may still write" in refused(early, LeaseLost)
    refused(late, LeaseLost)
    assert accepted(lost).status is ItemStatus.STALLED


def test_promised_files_are_written_beneath_their_own_root(world: World, postgres_pool: PostgresPool) -> None:
    """Another host has another disk: there nobody reads them."""
    world.submit(draft("one"), files=(file("runs/meta"),))
    other = PostgresStore(
        PostgresDatabase(postgres_pool, root="root-b", host="host-b"), names=CountedNames(1000), host="host-b"
    )

    assert [row.path for row in world.store.orphaned_outbox(at=world.now)] == ["runs/meta"]
    assert (other.orphaned_outbox(at=world.now), other.outbox()) == ([], [])


def test_files_are_promised_beneath_the_root_that_they_belong_to(world: World, postgres_pool: PostgresPool) -> None:
    """Who takes over from another host can tell what became of its attempt, and only there that is written."""
    item = world.running()
    there = PostgresStore(
        PostgresDatabase(postgres_pool, root="root-b", host="host-b"), names=CountedNames(1000), host="host-b"
    )
    world.clock.advance(TTL_SECONDS)

    accepted(world.stall_lost(item, files=(replace(file("runs/state.json"), root_id=RootId("root-b")),)))

    assert world.store.outbox() == []
    [row] = there.orphaned_outbox(at=world.now)
    assert (row.path, row.batch_id, row.job_id) == ("runs/state.json", "batch", "one")
    there.delivered([row.seq])
    assert there.outbox() == []


def test_the_moment_that_counts_is_the_databases(postgres_pool: PostgresPool) -> None:
    """A machine whose clock is a day ahead must not end the leases of all others."""
    store = PostgresStore(PostgresDatabase(postgres_pool), names=CountedNames(), host="host")
    [(now,)] = PostgresDatabase(postgres_pool).rows("SELECT clock_timestamp()")
    ahead = replace(World(lambda: store).now, wall=now + timedelta(days=1))

    moment = store.moment(ahead)

    assert now <= moment.wall < ahead.wall
    assert (moment.boot_id, moment.boot_seconds) == (ahead.boot_id, ahead.boot_seconds)
