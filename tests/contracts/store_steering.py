"""What every store promises about moves that nobody owns: lost owners, adoption, requeue, abandon, cancel."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.store_world import ERROR, TTL_SECONDS, World, accepted, draft, file, refused, waits
from teamster.model import (
    AttemptStatus,
    Item,
    ItemId,
    ItemStatus,
    LeaseLost,
    RootId,
    ShiftId,
    UsageError,
)
from teamster.store import Adoption, Answer, Complete, Heartbeat, Needs


def adopt(world: World, item: Item, shift: str = "shift-b", **more: object) -> Answer:
    """Adopt one item."""
    adoption = Adoption(item_id=item.item_id, rev=item.rev, request_id=world.request(), facts=more)
    (answer,) = world.store.adopt(ShiftId(shift), [adoption], at=world.now)
    return answer


class LostOwnerContract:
    """The owner is gone: its items go on."""

    @pytest.mark.req("DC-stall")
    def test_a_lost_items_way_back_is_stalled_and_then_queued(self, world: World) -> None:
        """Two steps, each seen; it consumes no attempt and counts as a recovery."""
        item = world.running()
        world.clock.advance(TTL_SECONDS)
        lost = world.attempt(item, AttemptStatus.FAILED, failure_class="lost")

        stalled = accepted(world.stall_lost(item, attempt=lost, files=(file("runs/state.json"),)))
        queued = accepted(world.store.requeue(item.item_id, rev=stalled.rev, at=world.now, not_before=None))

        assert (stalled.status, stalled.recoveries, stalled.attempts_consumed) == (ItemStatus.STALLED, 1, 0)
        assert (queued.status, queued.attempt) == (ItemStatus.QUEUED, 1)
        assert world.types(item)[-2:] == ["stalled", "requeued"]
        assert list(world.store.attempts()) == [lost]
        assert [row.path for row in world.store.orphaned_outbox(at=world.now)] == ["runs/state.json"]

    def test_files_beneath_another_root_are_not_for_the_caller(self, world: World) -> None:
        """They lie on another machine: whoever takes over here must not write them here."""
        item = world.running()
        world.clock.advance(TTL_SECONDS)
        there = replace(file("runs/there"), root_id=RootId("another-root"))

        answer = world.stall_lost(item, files=(there, file("runs/here")))

        assert [row.path for row in answer.rows] == ["runs/here"]
        assert [row.path for row in world.store.orphaned_outbox(at=world.now)] == ["runs/here"]
        assert [row.path for row in world.store.outbox()] == ["runs/here"]

    @pytest.mark.req("DC-lease")
    def test_the_moment_that_counts_goes_as_its_leases_do(self, world: World) -> None:
        """What had run out at that moment is judged so by the store: nobody is ended before."""
        shift = world.shift()
        world.clock.advance(TTL_SECONDS - 0.001)
        [found] = world.store.shifts()
        assert world.store.moment(world.now).wall < found.expires_at
        assert world.store.claim(shift, limit=1, at=world.now) == []

        world.clock.advance(0.001)

        assert world.store.moment(world.now).wall >= found.expires_at
        with pytest.raises(LeaseLost):
            world.store.claim(shift, limit=1, at=world.now)

    @pytest.mark.req("DC-own")
    def test_an_item_of_a_living_shift_is_left_alone(self, world: World) -> None:
        """Nobody changes an owned item over its owner's head."""
        item = world.running()
        world.shift("shift-b")
        world.clock.advance(TTL_SECONDS - 0.001)

        for answer in (world.stall_lost(item), adopt(world, item)):
            assert "may still write" in refused(answer, LeaseLost)

        assert world.fresh(item) == item

    @pytest.mark.req("DC-own", "DC-stall")
    def test_a_new_boot_voids_every_lease(self, world: World) -> None:
        """No process of an earlier boot lives: nobody waits until its leases run out, those by heartbeats neither."""
        item = accepted(world.apply(Heartbeat(guard=world.guard(world.running()), ttl_seconds=3600)))
        booted = replace(world.now, boot_id="boot-2")

        (late,) = world.store.apply([Complete(guard=world.guard(item), result={})], at=booted)
        lost = world.store.stall_lost(item.item_id, rev=item.rev, at=booted, error=ERROR, attempt=None)

        refused(late, LeaseLost)
        assert accepted(lost).status is ItemStatus.STALLED

    def test_who_knows_that_a_shift_is_dead_ends_it_first(self, world: World) -> None:
        """A free lock tells it long before the lease runs out."""
        item = world.running()
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        assert accepted(world.stall_lost(item)).status is ItemStatus.STALLED

    @pytest.mark.parametrize("status", [ItemStatus.QUEUED, ItemStatus.STALLED, ItemStatus.SUCCEEDED])
    def test_what_nobody_owns_has_no_lost_owner(self, world: World, status: ItemStatus) -> None:
        """A taker that comes second finds the work done."""
        item = world.item_in(status)
        world.shift("shift-b")
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        for answer in (world.stall_lost(item), adopt(world, item)):
            refused(answer, LeaseLost)

    def test_an_old_rev_or_an_unknown_item_is_refused(self, world: World) -> None:
        """What the taker saw is no longer so."""
        item = world.running()
        world.shift("shift-b")
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        for wrong in (replace(item, rev=item.rev - 1), replace(item, item_id=ItemId("nobody"))):
            refused(world.stall_lost(wrong), LeaseLost)
            refused(adopt(world, wrong), LeaseLost)

    def test_an_attempt_that_never_was_leaves_no_open_row(self, world: World) -> None:
        """It would say for ever that it runs."""
        world.submit(draft("one"))
        world.shift()
        ((claimed, _),) = world.claim_started()
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        accepted(world.stall_lost(claimed.item, began=False))

        assert world.store.attempts() == []
        assert world.store.events(claimed.item.item_id)[-1].data["began"] is False


class AdoptionContract:
    """The agent lives: it gets another owner."""

    def test_an_adoption_is_stall_claim_and_start_in_one_step(self, world: World) -> None:
        """Attempt and fence grow, the token is fresh; run, directory and consumption stay."""
        item = world.running()
        (attempt,) = world.store.attempts()
        world.clock.advance(TTL_SECONDS)
        world.shift("shift-b")

        adopted = accepted(adopt(world, item, shim="new"))

        assert (adopted.status, adopted.attempt, adopted.fence, adopted.rev) == (ItemStatus.RUNNING, 2, 2, item.rev + 3)
        assert (adopted.shift_id, adopted.attempts_consumed, adopted.recoveries) == ("shift-b", 0, 0)
        assert adopted.claim_token != item.claim_token
        assert world.types(item)[-3:] == ["stalled", "claimed", "started"]
        assert list(world.store.attempts()) == [replace(attempt, facts={**attempt.facts, "shim": "new"})]
        assert world.complete(adopted).status is ItemStatus.SUCCEEDED

    @pytest.mark.req("DC-own")
    def test_the_old_owner_is_out(self, world: World) -> None:
        """Also when it wakes and guesses the rev."""
        item = world.running()
        world.clock.advance(TTL_SECONDS)
        world.shift("shift-b")
        adopted = accepted(adopt(world, item))

        refused(world.apply(Complete(guard=world.guard(item, rev=adopted.rev), result={})), LeaseLost)

        assert world.fresh(item) == adopted

    def test_an_adoption_can_be_repeated_and_its_id_used_for_nothing_else(self, world: World) -> None:
        """The answer may get lost like any other."""
        item = world.running()
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        world.shift("shift-b")
        adoption = Adoption(item_id=item.item_id, rev=item.rev, request_id=world.request())

        (first,) = world.store.adopt(ShiftId("shift-b"), [adoption], at=world.now)
        (again,) = world.store.adopt(ShiftId("shift-b"), [adoption], at=world.now)
        (other,) = world.store.adopt(ShiftId("shift-b"), [replace(adoption, facts={"a": 1})], at=world.now)

        assert again == replace(first, replayed=True)
        refused(other, UsageError)

    @pytest.mark.parametrize("adopter", ["shift-a", "shift-b", "nobody"])
    def test_a_shift_that_is_over_adopts_nothing(self, world: World, adopter: str) -> None:
        """Not even what was its own."""
        item = world.running()
        world.shift("shift-b")
        world.clock.advance(TTL_SECONDS)

        refused(adopt(world, item, adopter), LeaseLost)

    def test_two_takers_get_one_item_once(self, world: World) -> None:
        """Both saw it left behind; the rev decides."""
        item = world.running()
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        world.shift("shift-b")
        world.shift("shift-c")

        accepted(adopt(world, item, "shift-b"))

        refused(adopt(world, item, "shift-c"), LeaseLost)

    def test_a_request_to_cancel_goes_over_to_the_adopter(self, world: World) -> None:
        """Who asked was told that it will be done."""
        item = world.running()
        world.cancel(item.item_id)
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        world.shift("shift-b")

        accepted(adopt(world, item))

        assert world.store.cancel_requests(ShiftId("shift-b")) == [item.item_id]


class SteeringContract:
    """Policy and operators."""

    @pytest.mark.parametrize("verb", ["requeue", "abandon"])
    def test_a_stale_or_unknown_item_is_neither_requeued_nor_abandoned(self, world: World, verb: str) -> None:
        """Two schedulers may decide about the same item; one of them is late."""
        item = world.stall(world.running())

        def steer(item_id: str, rev: int) -> Answer:
            if verb == "requeue":
                return world.store.requeue(ItemId(item_id), rev=rev, at=world.now, not_before=None)
            return world.store.abandon(ItemId(item_id), rev=rev, at=world.now, error=ERROR)

        refused(steer(item.item_id, item.rev - 1), LeaseLost)
        refused(steer("nobody", 1), UsageError)
        accepted(steer(item.item_id, item.rev))
        refused(steer(item.item_id, item.rev), LeaseLost)

    def test_an_abandoned_item_fails_with_the_error_of_its_policy(self, world: World) -> None:
        """The second extension move."""
        item = world.stall(world.running())

        answer = world.store.abandon(
            item.item_id, rev=item.rev, at=world.now, error={"message": "lost too often"}, files=(file("runs/x"),)
        )

        failed = accepted(answer)
        assert (failed.status, failed.error) == (ItemStatus.FAILED, {"message": "lost too often"})
        assert [row.path for row in answer.rows] == ["runs/x"]

    def test_a_requeue_can_be_put_off(self, world: World) -> None:
        """By policy, until a quota resets."""
        item = world.stall(world.running())
        due = world.now.wall + timedelta(hours=1)

        queued = accepted(world.store.requeue(item.item_id, rev=item.rev, at=world.now, not_before=due))

        assert queued.not_before == due
        assert world.claim() == []

    @pytest.mark.parametrize("status", [ItemStatus.QUEUED, ItemStatus.STALLED])
    def test_what_nobody_owns_is_canceled_at_once(self, world: World, status: ItemStatus) -> None:
        """With its attempt and its files, so that every view says canceled."""
        item = world.item_in(status)

        released = world.cancel(item.item_id, actor="ann")

        assert released.changed
        assert released.item == world.fresh(item)
        assert (released.item.status, (released.item.error or {})["code"]) == (ItemStatus.FAILED, "canceled")
        assert world.store.events(item.item_id)[-1].actor == "ann"
        assert world.store.attempts()[-1].status is AttemptStatus.CANCELED
        assert [row.path for row in released.rows] == [f"runs/canceled-{item.item_id}/state.json"]

    def test_what_waits_gets_its_record_first(self, world: World) -> None:
        """A step that never started is canceled like any other, with a history."""
        world.submit(draft("a"), draft("b", waits("a")))

        released = world.cancel("batch-b-1")

        assert released.item.status is ItemStatus.FAILED
        assert world.types(released.item) == ["enqueued", "failed"]
        assert world.store.waiting() == []
        assert world.store.counts()["waiting"] == 0

    def test_an_owner_is_asked_and_not_overruled(self, world: World) -> None:
        """The request lies beside the record: no event, no rev; asking again changes nothing."""
        item = world.running()

        first, second = world.cancel(item.item_id), world.cancel(item.item_id)

        assert (first.changed, second.changed, first.rows) == (True, False, ())
        assert world.fresh(item) == replace(item, cancel_requested=True)
        assert world.store.cancel_requests(ShiftId("shift-a")) == [item.item_id]
        assert world.store.cancel_requests(ShiftId("shift-b")) == []
        world.fail(item)
        assert world.store.cancel_requests(ShiftId("shift-a")) == []

    def test_a_request_to_cancel_is_carried_out_in_place_of_a_requeue(self, world: World) -> None:
        """It came while the owner was giving up: what was promised to be canceled never runs again."""
        item = world.running()
        world.cancel(item.item_id)

        ended = world.stall(item, requeue_at=world.now.wall)

        assert (ended.status, (ended.error or {})["code"]) == (ItemStatus.FAILED, "canceled")
        assert world.types(item)[-2:] == ["stalled", "failed"]

    def test_a_lost_item_that_was_to_be_canceled_is_not_requeued(self, world: World) -> None:
        """The request outlives its owner."""
        item = world.running()
        world.cancel(item.item_id)
        world.clock.advance(TTL_SECONDS)
        stalled = accepted(world.stall_lost(item))

        assert stalled.cancel_requested
        answer = world.store.requeue(item.item_id, rev=stalled.rev, at=world.now, not_before=None)
        assert (accepted(answer).error or {})["code"] == "canceled"

    @pytest.mark.req("DC-life")
    def test_a_finished_item_stays_as_it_is(self, world: World) -> None:
        """It is too late, and the answer says so."""
        done = world.complete(world.running())

        assert world.cancel(done.item_id) == replace(world.cancel(done.item_id), item=done, changed=False)
        with pytest.raises(UsageError, match="no item"):
            world.cancel("nobody")

    def test_a_cancel_releases_nothing(self, world: World) -> None:
        """It left neither a success nor a base."""
        world.submit(draft("a"), draft("b", waits("a")), draft("c", waits("a", Needs.FINAL)))

        world.cancel("batch-a-1")

        assert [one.draft.item_id for one in world.store.waiting()] == ["batch-b-1", "batch-c-1"]
