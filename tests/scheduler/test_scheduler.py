"""What becomes of a stalled item is one table, and one conditional write that anybody may do."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from contracts.store_world import World
from teamster.kit import Instant
from teamster.model import AttemptStatus, Item, ItemId, ItemStatus
from teamster.policy import GiveUp, Retry, RetryLimits
from teamster.scheduler import Scheduler, after_stall
from teamster.store import Answer, MemoryStore

S = ItemStatus
LIMITS = RetryLimits(recoveries_max=2)


@pytest.fixture
def world() -> World:
    """Give a world with an empty store."""
    first = MemoryStore()
    return World(lambda: MemoryStore.open(first))


@pytest.fixture
def stalled(world: World) -> Item:
    """Give an item whose owner was lost."""
    return world.item_in(S.STALLED)


def tick(world: World, *, store: MemoryStore | None = None) -> int:
    """Let a scheduler look once."""
    return Scheduler(store or world.store, limits=LIMITS).tick(world.now)


@pytest.mark.req("DC-stall")
@pytest.mark.parametrize(
    ("changes", "last", "expected"),
    [
        ({}, None, (True, False)),
        ({}, AttemptStatus.FAILED, (True, False)),
        ({"recoveries": 2}, AttemptStatus.FAILED, (True, False)),
        ({"recoveries": 3}, AttemptStatus.FAILED, (False, True)),
        ({}, AttemptStatus.NEEDS_ATTENTION, (False, True)),
        ({"cancel_requested": True}, None, (False, False)),
        ({"cancel_requested": True, "recoveries": 3}, AttemptStatus.NEEDS_ATTENTION, (False, False)),
    ],
    ids=["never began", "lost", "lost to the limit", "lost too often", "in doubt", "canceled", "canceled and lost"],
)
def test_what_follows_a_lost_owner(
    world: World,
    stalled: Item,
    *,
    changes: dict[str, object],
    last: AttemptStatus | None,
    expected: tuple[bool, bool],
) -> None:
    """Our fault consumes nothing and has a limit; what is in doubt, or was canceled, doesn't run again."""
    item = replace(stalled, **changes)  # type: ignore[arg-type] # a table of differing fields
    attempts = [] if last is None else [world.attempt(item, last)]

    follows = after_stall(item, attempts, limits=LIMITS, now=world.now.wall)

    is_retry, needs_attention = expected
    if is_retry:
        assert follows == Retry(at=world.now.wall, consumes=False)
    else:
        assert isinstance(follows, GiveUp)
        assert follows.needs_attention is needs_attention


@pytest.mark.req("DC-stall", "DC-life")
def test_a_lost_item_is_requeued_at_once(world: World, stalled: Item) -> None:
    """Nobody waits for what was our own fault."""
    assert tick(world) == 1

    item = world.fresh(stalled)
    assert (item.status, item.not_before, item.attempts_consumed) == (S.QUEUED, None, stalled.attempts_consumed)
    assert tick(world) == 0


def test_a_cancel_that_was_asked_of_a_lost_owner_is_carried_out(world: World) -> None:
    """The owner that was asked is gone; the request is not."""
    item = world.item_in(S.RUNNING)
    world.cancel(item.item_id)
    lost = world.fresh(item)
    assert lost.shift_id is not None
    world.store.end_shift(lost.shift_id, at=world.now)
    world.stall_lost(lost)

    tick(world)

    item = world.fresh(item)
    assert (item.status, item.error and item.error["code"]) == (S.FAILED, "canceled")


class OvertakenStore(MemoryStore):
    """A store in which another scheduler is always quicker."""

    def requeue(self, item_id: ItemId, *, rev: int, at: Instant, not_before: datetime | None) -> Answer:
        """Be too late."""
        MemoryStore.open(self).requeue(item_id, rev=rev, at=at, not_before=not_before)
        return super().requeue(item_id, rev=rev, at=at, not_before=not_before)


@pytest.mark.req("DC-cas")
def test_a_refused_write_means_that_somebody_was_quicker(world: World, stalled: Item) -> None:
    """Any scheduler may do it; two of them do it once."""
    assert isinstance(world.store, MemoryStore)
    store = OvertakenStore()
    store._shared = world.store._shared

    assert tick(world, store=store) == 1

    item = world.fresh(stalled)
    assert (item.status, item.rev) == (S.QUEUED, stalled.rev + 1)


def test_who_gives_up_says_why_and_where_to_look(world: World) -> None:
    """A person finds the directory of the last try in the error itself."""
    item = world.item_in(S.RUNNING)
    [attempt] = world.store.attempts(item_id=item.item_id)
    for number in range(LIMITS.recoveries_max + 1):
        lost = world.fresh(item)
        assert lost.shift_id is not None
        world.store.end_shift(lost.shift_id, at=world.now)
        world.stall_lost(lost)
        tick(world)
        if number < LIMITS.recoveries_max:
            world.shift(f"shift-{number}")
            assert world.claim(f"shift-{number}")

    error = world.fresh(item).error
    assert error is not None
    assert (error["code"], error["message"]) == ("needs_attention", "its runner was lost 3 times")
    assert error["details"] == {"run_id": attempt.run_id, "attempt_dir": f"{attempt.directory}/"}
