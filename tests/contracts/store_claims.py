"""What every store promises about shifts and claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.store_world import BATCH, TTL_SECONDS, World, draft, ids, waits
from teamster.model import (
    BatchId,
    Event,
    EventType,
    ItemStatus,
    LeaseLost,
    Owner,
    ShiftId,
    UsageError,
)
from teamster.store import Begin, Claimed, ClaimFilter, Complete


class ShiftContract:
    """The right to claim, and its end."""

    def test_a_shift_is_kept_as_it_was_begun(self, world: World) -> None:
        """Takers judge it by its host, boot and process."""
        world.shift()

        assert world.open().shifts() == [world.shift_value("shift-a")]

    def test_a_shift_id_is_used_once(self, world: World) -> None:
        """One incarnation, one id: a restart would inherit another one's leases."""
        world.shift()

        with pytest.raises(UsageError, match="begun before"):
            world.shift()

    @pytest.mark.req("DC-lease")
    def test_a_renewal_moves_the_lease_of_every_item_without_event_or_rev(self, world: World) -> None:
        """A thousand running items cost one narrow update for each beat."""
        item = world.running()
        world.clock.advance(TTL_SECONDS - 1)

        renewed = world.store.renew_shift(ShiftId("shift-a"), at=world.now)

        seen = world.fresh(item)
        assert renewed.expires_at == world.now.wall + timedelta(seconds=TTL_SECONDS)
        assert seen.lease is not None
        assert (seen.lease.expires_at, seen.lease.renewed_at) == (renewed.expires_at, world.now.wall)
        assert seen.rev == item.rev
        assert world.types(item) == ["enqueued", "claimed", "started"]

    @pytest.mark.req("DC-own")
    def test_a_shift_that_expired_never_comes_back(self, world: World) -> None:
        """Somebody may have taken its items already."""
        world.shift()
        world.clock.advance(TTL_SECONDS)

        with pytest.raises(LeaseLost):
            world.store.renew_shift(ShiftId("shift-a"), at=world.now)

        assert world.store.shifts() == [replace(world.store.shifts()[0], ended_at=None)]

    def test_a_shift_of_another_boot_is_over(self, world: World) -> None:
        """No process survives a boot, and boot seconds of two boots don't compare."""
        world.shift()

        with pytest.raises(LeaseLost):
            world.store.renew_shift(ShiftId("shift-a"), at=replace(world.now, boot_id="boot-2"))

    def test_a_lease_is_judged_by_boot_time_alone(self, world: World) -> None:
        """A wall clock that steps ends no lease."""
        world.shift()
        stepped = replace(world.now, wall=world.now.wall + timedelta(days=2))

        assert world.store.renew_shift(ShiftId("shift-a"), at=stepped).ended_at is None

    def test_an_unknown_shift_can_neither_renew_nor_claim_nor_end(self, world: World) -> None:
        """A database that was lost and made again knows no old shifts."""
        with pytest.raises(LeaseLost):
            world.store.renew_shift(ShiftId("nobody"), at=world.now)
        with pytest.raises(LeaseLost):
            world.claim("nobody")
        with pytest.raises(UsageError):
            world.store.end_shift(ShiftId("nobody"), at=world.now)

    def test_an_ended_shift_is_over_and_the_end_can_be_repeated(self, world: World) -> None:
        """The first end is the true one."""
        world.shift()
        ended_at = world.now.wall
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        world.clock.advance(1)
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        assert [shift.ended_at for shift in world.store.shifts(ended=True)] == [ended_at]
        with pytest.raises(LeaseLost):
            world.store.renew_shift(ShiftId("shift-a"), at=world.now)

    def test_shifts_that_own_nothing_and_ended_are_left_out(self, world: World) -> None:
        """Takers look at what is left to take; the rest is history."""
        world.running()
        world.shift("shift-b")
        for name in ("shift-a", "shift-b"):
            world.store.end_shift(ShiftId(name), at=world.now)

        assert [shift.shift_id for shift in world.store.shifts()] == ["shift-a"]
        assert [shift.shift_id for shift in world.store.shifts(ended=True)] == ["shift-a", "shift-b"]


class ClaimContract:
    """Who gets what."""

    @pytest.mark.req("DC-claim", "DC-lease")
    def test_a_claim_sets_owner_lease_attempt_rev_and_event_in_one_step(self, world: World) -> None:
        """Half a claim would be an item that nobody owns and nobody may take."""
        world.submit(draft("one"))
        world.shift()

        (item,) = world.claim()

        assert item == world.fresh(item)
        assert (item.status, item.attempt, item.fence, item.rev) == (ItemStatus.CLAIMED, 1, 1, 2)
        assert item.owner == Owner(worker_id="runner-of-shift-a", runtime="teamster", host="host", pid=4711)
        assert item.lease is not None
        assert item.lease.expires_at == world.now.wall + timedelta(seconds=TTL_SECONDS)
        last = world.store.events(item.item_id)[-1]
        assert last == Event(
            event_id=last.event_id,
            type=EventType.CLAIMED,
            from_status=ItemStatus.QUEUED,
            to_status=ItemStatus.CLAIMED,
            at=world.now.wall,
            actor="runner-of-shift-a",
            data={"shift_id": "shift-a", "attempt": 1, "fence": 1},
        )

    @pytest.mark.req("DC-claim", "DC-own")
    def test_no_item_is_claimed_twice(self, world: World) -> None:
        """Two owners would mean two agents in one workspace."""
        world.submit(*(draft(f"n{number}") for number in range(5)))
        world.shift("shift-a")
        world.shift("shift-b")
        other = world.open()

        taken = [*world.claim("shift-a", limit=3), *world.claim("shift-b", limit=3, store=other)]

        assert ids(taken) == ["n0", "n1", "n2", "n3", "n4"]
        assert world.claim("shift-a") == []
        assert len({item.claim_token for item in taken}) == len(taken)

    def test_higher_priority_goes_first_and_then_the_oldest(self, world: World) -> None:
        """The order is the same whoever asks, across batches."""
        world.submit(draft("a"), draft("b", priority=1))
        world.submit(draft("c", batch="later", priority=1), draft("d", batch="later"), batch="later")
        world.shift()

        assert ids(world.claim(limit=10)) == ["b", "c", "a", "d"]

    def test_a_limit_is_a_limit(self, world: World) -> None:
        """No more than there are free slots."""
        world.submit(*(draft(f"n{number}") for number in range(4)))
        world.shift()

        assert world.claim(limit=0) == []
        assert len(world.claim(limit=3)) == 3

    def test_a_batch_runs_no_more_at_once_than_it_allows(self, world: World) -> None:
        """The limit counts owned items of all shifts, and a full batch doesn't stand in another one's way."""
        world.submit(*(draft(f"n{number}") for number in range(4)), concurrency=2)
        world.submit(draft("other", batch="later"), batch="later")
        world.shift("shift-a")
        world.shift("shift-b")
        (first,) = world.claim("shift-a")

        assert ids(world.claim("shift-b", limit=10)) == ["other", "n1"]
        assert world.claim("shift-b", limit=10) == []
        world.complete(world.start(first))
        assert ids(world.claim("shift-b", limit=10)) == ["n2"]

    def test_a_stalled_item_frees_its_place_in_the_batch(self, world: World) -> None:
        """What nobody owns runs nowhere."""
        world.submit(draft("a"), draft("b"), concurrency=1)
        world.shift()
        (item,) = world.claim()
        world.stall(item)

        assert ids(world.claim(limit=5)) == ["b"]

    def test_a_claim_can_be_narrowed_to_batches(self, world: World) -> None:
        """`run` works on its own batch alone."""
        world.submit(draft("a"))
        world.submit(draft("b", batch="mine"), batch="mine")
        world.shift()

        wanted = ClaimFilter(batch_ids=frozenset({BatchId("mine")}))

        assert ids(world.claim(limit=5, wanted=wanted)) == ["b"]
        assert world.claim(limit=5, wanted=ClaimFilter(batch_ids=frozenset())) == []

    def test_an_item_waits_for_its_time(self, world: World) -> None:
        """A retry is due when it is due."""
        item = world.running()
        due = world.now.wall + timedelta(seconds=60)
        queued = world.stall(item, requeue_at=due)

        assert (queued.status, queued.not_before) == (ItemStatus.QUEUED, due)
        assert world.store.next_due() == due
        assert world.claim() == []
        world.clock.advance(60)
        world.store.renew_shift(ShiftId("shift-a"), at=world.now)
        (again,) = world.claim()
        assert (again.attempt, again.fence, again.not_before) == (2, 2, None)
        assert again.claim_token != item.claim_token

    @pytest.mark.req("DC-stall")
    def test_stalled_items_are_claimed_only_where_asked_for(self, world: World) -> None:
        """Contract v1 allows a reclaim; our own policy requeues first."""
        stalled = world.stall(world.running())

        assert world.claim() == []
        (item,) = world.claim(wanted=ClaimFilter(stalled=True))
        assert (item.item_id, item.status, item.attempt) == (stalled.item_id, ItemStatus.CLAIMED, 2)

    @pytest.mark.req("DC-own")
    def test_a_shift_that_is_over_claims_nothing(self, world: World) -> None:
        """It would own items that anybody may take from it at once."""
        world.submit(draft("one"))
        world.shift()
        world.clock.advance(TTL_SECONDS)

        with pytest.raises(LeaseLost):
            world.claim()

        assert world.only().status is ItemStatus.QUEUED

    def test_claim_identity_and_start_are_one_commit(self, world: World) -> None:
        """Killed in between, an agent would run that nobody knows."""
        world.submit(draft("one"))
        world.shift()

        ((claimed, rows),) = world.claim_started()

        item = claimed.item
        assert item == world.fresh(item)
        assert (item.status, item.rev) == (ItemStatus.RUNNING, 3)
        assert world.types(item) == ["enqueued", "claimed", "started"]
        assert list(world.store.attempts(item_id=item.item_id)) == [world.attempt(item)]
        assert [row.path for row in rows] == [f"runs/run-{item.item_id}-1/{name}.json" for name in ("meta", "state")]
        assert tuple(world.store.outbox()) == rows

    def test_a_drafter_that_breaks_claims_nothing(self, world: World) -> None:
        """All or nothing: the items that were drafted before it are free again too."""
        world.submit(draft("a"), draft("b"))
        world.shift()

        def breaks_at_second(claimed: Claimed, place: int) -> Begin:
            if place == 1:
                raise OSError("no room")
            return world.begin(claimed, place)

        with pytest.raises(OSError, match="no room"):
            world.store.claim(ShiftId("shift-a"), limit=2, at=world.now, begin=breaks_at_second)

        assert world.store.counts(batch_id=BATCH)["queued"] == 2
        assert world.store.outbox() == []
        assert world.store.attempts() == []
        assert len(world.claim_started(limit=2)) == 2

    def test_a_start_needs_a_request_id_and_an_attempt_of_its_own(self, world: World) -> None:
        """A used id would answer for another start; another item's attempt would be overwritten."""
        used = world.claim_of_new("a")
        world.submit(draft("b", batch="later"), batch="later")

        def uses_again(claimed: Claimed, place: int) -> Begin:
            return replace(world.begin(claimed, place), request_id=used)

        def takes_other(claimed: Claimed, place: int) -> Begin:
            return replace(world.begin(claimed, place), attempt=world.store.attempts()[0])

        for wrong in (uses_again, takes_other):
            with pytest.raises(UsageError):
                world.store.claim(ShiftId("shift-a"), limit=1, at=world.now, begin=wrong)

        assert world.store.counts(batch_id=BatchId("later"))["queued"] == 1

    def test_a_finished_item_is_never_claimed_again(self, world: World) -> None:
        """Its result would be overwritten."""
        done = world.running()
        world.apply(Complete(guard=world.guard(done), result={}))

        assert world.claim(limit=5, wanted=ClaimFilter(stalled=True)) == []

    def test_an_end_and_the_claims_that_follow_are_one_commit(self, world: World) -> None:
        """A slot that is free goes to the next item with one flush; a reader sees both or neither."""
        world.submit(draft("a"), draft("b", waits("a")))
        world.shift()
        [[claimed, _]] = world.claim_started()
        reader = world.open()

        with world.store.together():
            world.complete(claimed.item)
            [[released, _]] = world.claim_started()

        assert released.item.step is not None
        assert released.item.step.job_id == "b"
        assert {item.status for item in reader.items()} == {ItemStatus.SUCCEEDED, ItemStatus.RUNNING}

    def test_what_was_done_together_is_undone_together(self, world: World) -> None:
        """A commit that fails acknowledges nothing: the end is told again by the next tick."""
        item = world.running()
        rows = list(world.store.outbox())

        def break_off() -> None:
            with world.store.together():
                world.complete(item)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            break_off()

        assert world.fresh(item) == item
        assert list(world.store.outbox()) == rows
        assert world.complete(item).status is ItemStatus.SUCCEEDED

    def test_a_refused_claim_leaves_the_end_beside_it_alone(self, world: World) -> None:
        """A shift may end between the two."""
        item = world.running()

        with world.store.together():
            world.complete(item)
            with pytest.raises(LeaseLost):
                world.store.claim(ShiftId("shift-a"), limit=1, at=world.now.after(2 * TTL_SECONDS))

        assert world.fresh(item).status is ItemStatus.SUCCEEDED
