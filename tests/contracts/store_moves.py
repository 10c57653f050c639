"""What every store promises about the owner's moves: who may write, what changes, and what a repeat is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from contracts.store_world import ERROR, NO_TOKEN, RESULT, TTL_SECONDS, World, accepted, draft, file, refused
from teamster.model import (
    FINAL_STATUSES,
    MOVES,
    AttemptStatus,
    Item,
    ItemId,
    ItemStatus,
    LeaseLost,
    ShiftId,
    UsageError,
    Verb,
)
from teamster.store import Answer, Change, ClaimFilter, Complete, Fail, Heartbeat, Stall, Start

CHANGES: dict[Verb, Callable[[World, Item], Change]] = {
    Verb.START: lambda world, item: Start(guard=world.guard(item)),
    Verb.HEARTBEAT: lambda world, item: Heartbeat(guard=world.guard(item), ttl_seconds=30.0),
    Verb.COMPLETE: lambda world, item: Complete(guard=world.guard(item), result=RESULT),
    Verb.FAIL: lambda world, item: Fail(guard=world.guard(item), error=ERROR),
    Verb.STALL: lambda world, item: Stall(guard=world.guard(item), error=ERROR, requeue_at=None),
}


def try_verb(world: World, verb: Verb, item: Item) -> bool:
    """Try a verb on an item and tell whether it was carried out."""
    match verb:
        case Verb.ENQUEUE:
            return world.store.enqueue(draft("one", generation=1), at=world.now) != item
        case Verb.CLAIM:
            return bool(world.claim(wanted=ClaimFilter(stalled=True)))
        case Verb.REQUEUE:
            return world.store.requeue(item.item_id, rev=item.rev, at=world.now, not_before=None).refusal is None
        case Verb.ABANDON:
            return world.store.abandon(item.item_id, rev=item.rev, at=world.now, error=ERROR).refusal is None
        case Verb.CANCEL:
            released = world.cancel(item.item_id)
            return released.changed and released.item.status is not item.status
        case _:
            return world.apply(CHANGES[verb](world, item)).refusal is None


class MoveContract:
    """Legal moves, and who may make them."""

    @pytest.mark.req("DC-life", "DC-cas")
    @pytest.mark.parametrize(("status", "verb"), list(product(ItemStatus, Verb)), ids="-".join)
    def test_exactly_the_listed_moves_are_carried_out(self, world: World, status: ItemStatus, verb: Verb) -> None:
        """Every pair of state and verb is in the table or refused without a trace; there is no third case."""
        item = world.item_in(status)
        history, attempts = world.types(item), world.store.attempts()

        carried_out = try_verb(world, verb, item)

        legal = status in MOVES[verb].sources or (verb, status) == (Verb.CANCEL, ItemStatus.STALLED)
        assert carried_out is legal
        after = world.fresh(item)
        if legal:
            event = world.store.events(item.item_id)[-1]
            assert event.type is MOVES[verb].event
            assert (event.from_status, event.to_status) == (status, after.status)
            assert after.rev == item.rev + 1
        else:
            asked = verb is Verb.CANCEL and status not in FINAL_STATUSES
            assert after == replace(item, cancel_requested=asked)
            assert world.types(item) == history
            assert world.store.attempts() == attempts

    @pytest.mark.req("DC-result", "DC-end")
    def test_ends_carry_their_result_or_error_and_no_owner(self, world: World) -> None:
        """Who reads a finished record finds what came of it, and nobody to ask."""
        done = world.complete(world.running("one"))
        world.submit(draft("two", batch="later"), batch="later")
        (item,) = world.claim()
        failed = world.fail(world.start(item))

        assert (done.status, done.result, done.error, done.owner) == (ItemStatus.SUCCEEDED, RESULT, None, None)
        assert (failed.status, failed.result, failed.error, failed.lease) == (ItemStatus.FAILED, None, ERROR, None)
        assert [world.fresh(done), world.fresh(failed)] == [done, failed]

    def test_limits_count_consumed_attempts_and_not_claims(self, world: World) -> None:
        """Quota waits and lost hosts consume none; the count of claims grows all the same."""
        due = world.now.wall
        first = world.stall(world.running(), requeue_at=due, consumes_attempt=False)
        (item,) = world.claim()
        second = world.stall(world.start(item), requeue_at=due)
        (item,) = world.claim()
        third = world.fail(world.start(item))

        assert [(item.attempt, item.attempts_consumed) for item in (first, second, third)] == [(1, 0), (2, 1), (3, 2)]

    def test_recoveries_count_until_there_is_progress(self, world: World) -> None:
        """What loses its owner again and again must end some time."""
        due = world.now.wall
        seen = []
        item = world.stall(world.running(), requeue_at=due, recovery=True, consumes_attempt=False)
        for recovery in (True, False):
            seen.append(item.recoveries)
            (item,) = world.claim()
            item = world.stall(world.start(item), requeue_at=due, recovery=recovery)
        assert [*seen, item.recoveries] == [1, 2, 0]

    def test_a_stall_with_a_requeue_is_two_moves_that_a_reader_can_see(self, world: World) -> None:
        """`stalled`, then `queued`: the vocabulary knows no way around."""
        item = world.stall(world.running(), requeue_at=world.now.wall)

        stalled, requeued = world.store.events(item.item_id)[-2:]
        assert (stalled.type, stalled.to_status, stalled.data["error"]) == ("stalled", ItemStatus.STALLED, ERROR)
        assert (requeued.type, requeued.from_status) == ("requeued", ItemStatus.STALLED)
        assert (item.status, item.rev) == (ItemStatus.QUEUED, 5)

    def test_attempts_follow_their_items(self, world: World) -> None:
        """The attempt is part of the move's transaction, by its run id."""
        item = world.running()
        ended = world.attempt(item, AttemptStatus.SUCCEEDED, codex_thread_id="thread")
        world.complete(item, attempt=ended)

        assert list(world.store.attempts(item_id=item.item_id)) == [ended]

    def test_another_items_attempt_is_refused(self, world: World) -> None:
        """It would be filed under the wrong item for ever."""
        item = world.running()
        strange = replace(world.attempt(item), item_id=ItemId("other"))

        refused(world.apply(Complete(guard=world.guard(item), result={}, attempt=strange)), UsageError)

        assert world.fresh(item) == item

    @pytest.mark.req("DC-beat", "DC-lease")
    def test_a_heartbeat_holds_an_item_longer_than_its_shift(self, world: World) -> None:
        """Workers that we did not write beat for each item, with event and rev as the contract says."""
        item = world.running()
        beaten = accepted(world.apply(Heartbeat(guard=world.guard(item), ttl_seconds=10 * TTL_SECONDS)))
        world.clock.advance(5 * TTL_SECONDS)

        assert beaten.lease is not None
        assert beaten.lease.expires_at == world.now.wall + timedelta(seconds=5 * TTL_SECONDS)
        refused(world.stall_lost(beaten), LeaseLost)
        assert world.complete(world.fresh(beaten)).status is ItemStatus.SUCCEEDED

    @pytest.mark.parametrize("ttl_seconds", [0.0, -1.0, 25 * 3600.0])
    def test_a_heartbeat_has_bounds(self, world: World, ttl_seconds: float) -> None:
        """A lease without end would be an item without hope."""
        item = world.running()

        refused(world.apply(Heartbeat(guard=world.guard(item), ttl_seconds=ttl_seconds)), UsageError)

    @pytest.mark.req("DC-own", "DC-cas")
    @pytest.mark.parametrize("verb", CHANGES)
    def test_a_writer_that_overslept_changes_nothing_even_with_the_right_rev(self, world: World, verb: Verb) -> None:
        """The lease ran out, and nobody has taken the item yet: token and rev are still right."""
        item = world.running() if verb is not Verb.START else world.item_in(ItemStatus.CLAIMED)
        world.clock.advance(TTL_SECONDS)

        assert "ran out" in refused(world.apply(CHANGES[verb](world, item)), LeaseLost)

        assert replace(world.fresh(item), lease=item.lease) == item

    @pytest.mark.req("DC-own", "DC-cas")
    @pytest.mark.parametrize("verb", CHANGES)
    def test_an_old_owner_that_guesses_the_current_rev_changes_nothing(self, world: World, verb: Verb) -> None:
        """The rev can be read by anybody; the token is the new owner's alone."""
        old = world.item_in(ItemStatus.CLAIMED) if verb is Verb.START else world.running()
        world.clock.advance(TTL_SECONDS)
        world.shift("shift-b")
        assert world.stall_lost(old).refusal is None
        (new,) = world.claim("shift-b", wanted=ClaimFilter(stalled=True))
        new = new if verb is Verb.START else world.start(new)

        late = CHANGES[verb](world, replace(old, rev=new.rev))
        if not isinstance(late, Heartbeat):
            late = replace(late, files=(file("runs/late.json"),))
        refused(world.apply(late), LeaseLost)

        assert world.fresh(new) == new
        assert world.store.outbox() == []

    @pytest.mark.req("DC-cas")
    @pytest.mark.parametrize("verb", CHANGES)
    def test_a_writer_with_an_old_rev_changes_nothing(self, world: World, verb: Verb) -> None:
        """What it decided on is no longer so."""
        item = world.item_in(ItemStatus.CLAIMED) if verb is Verb.START else world.running()

        refused(world.apply(CHANGES[verb](world, replace(item, rev=item.rev - 1))), LeaseLost)

        assert world.fresh(item) == item

    @pytest.mark.req("DC-own")
    @pytest.mark.parametrize("item_id", ["batch-one-1", "nobody"])
    def test_a_writer_without_the_token_is_nobody(self, world: World, item_id: str) -> None:
        """Neither an item that exists nor one that doesn't."""
        item = world.running()
        guard = replace(world.guard(replace(item, claim_token=NO_TOKEN)), item_id=ItemId(item_id))

        refused(world.apply(Complete(guard=guard, result={})), LeaseLost)

        assert world.fresh(item) == item

    def test_in_one_call_each_item_gets_its_own_answer(self, world: World) -> None:
        """One stale writer among eight must not cost the other seven their results."""
        world.submit(*(draft(f"n{number}") for number in range(3)))
        world.shift()
        items = [claimed.item for claimed, _ in world.claim_started(limit=3)]
        world.store.apply([Start(guard=world.guard(items[0]))], at=world.now)  # refused: it runs already

        answers = world.store.apply(
            [
                Complete(guard=world.guard(items[0]), result={"n": 0}, files=(file("runs/0.json"),)),
                Complete(guard=world.guard(items[1], rev=99), result={"n": 1}, files=(file("runs/1.json"),)),
                Fail(guard=world.guard(items[2]), error=ERROR, files=(file("runs/2.json"),)),
            ],
            at=world.now,
        )

        assert [answer.refusal is None for answer in answers] == [True, False, True]
        assert [row.path for answer in answers for row in answer.rows] == ["runs/0.json", "runs/2.json"]
        statuses = [world.fresh(item).status for item in items]
        assert statuses == [ItemStatus.SUCCEEDED, ItemStatus.RUNNING, ItemStatus.FAILED]


class RepeatContract:
    """An answer that got lost is asked for again."""

    @pytest.mark.req("DC-beat", "DC-end")
    @pytest.mark.parametrize("verb", CHANGES)
    def test_the_same_request_gets_the_first_answer_again(self, world: World, verb: Verb) -> None:
        """The commit was made, the answer was lost: a repeat must neither fail nor count twice."""
        item = world.item_in(ItemStatus.CLAIMED) if verb is Verb.START else world.running()
        change = CHANGES[verb](world, item)
        first = world.apply(change)
        history = world.types(item)

        again = world.apply(change, store=world.open())

        assert again == replace(first, replayed=True)
        assert world.types(item) == history

    @pytest.mark.req("DC-beat")
    def test_the_first_answer_comes_even_after_the_item_moved_on(self, world: World) -> None:
        """Least of all may it show the next owner's token."""
        item = world.running()
        change = Stall(guard=world.guard(item), error=ERROR, requeue_at=world.now.wall)
        first = world.apply(change)
        (taken,) = world.claim()

        again = world.apply(change)

        assert again.item == first.item
        assert again.item != taken

    @pytest.mark.req("DC-cas")
    @pytest.mark.parametrize("verb", CHANGES)
    def test_a_request_id_with_another_payload_is_refused(self, world: World, verb: Verb) -> None:
        """Silently answering for something else would lose what was asked."""
        item = world.item_in(ItemStatus.CLAIMED) if verb is Verb.START else world.running()
        change = CHANGES[verb](world, item)
        world.apply(change)
        others: dict[Verb, Change] = {
            Verb.START: Start(guard=change.guard, files=(file("runs/other"),)),
            Verb.HEARTBEAT: Heartbeat(guard=change.guard, ttl_seconds=31.0),
            Verb.COMPLETE: Complete(guard=change.guard, result={"ok": False}),
            Verb.FAIL: Fail(guard=change.guard, error=ERROR, consumes_attempt=False),
            Verb.STALL: Stall(guard=change.guard, error=ERROR, requeue_at=world.now.wall),
        }
        before = world.fresh(item)

        refused(world.apply(others[verb]), UsageError)

        assert world.fresh(item) == before

    def test_a_repeat_within_one_call_is_a_repeat_too(self, world: World) -> None:
        """A caller that queues a change twice does no harm."""
        item = world.running()
        change = Complete(guard=world.guard(item), result=RESULT, files=(file("runs/once.json"),))

        first, second = world.store.apply([change, change], at=world.now)

        assert (first.replayed, second.replayed) == (False, True)
        assert first.item == second.item
        assert len(world.store.outbox()) == 1

    @pytest.mark.req("DC-end")
    @pytest.mark.parametrize("verb", [Verb.COMPLETE, Verb.FAIL])
    def test_the_same_end_by_the_same_owner_is_a_repeat_without_a_request_id_too(
        self, world: World, verb: Verb
    ) -> None:
        """Contract v1 guards an end by owner and rev or request id; the terminal event remembers the token."""
        item = world.running()
        first = world.apply(CHANGES[verb](world, item))

        again = world.apply(CHANGES[verb](world, item))

        assert again == replace(first, replayed=True)
        assert world.store.events(item.item_id)[-1].data["claim_token"] == item.claim_token

    @pytest.mark.req("DC-end", "DC-life")
    def test_an_end_is_written_once(self, world: World) -> None:
        """Neither another result, nor the other end, nor another owner's same words."""
        item = world.running()
        done = world.complete(item)
        stranger = replace(item, claim_token=NO_TOKEN)

        for answer in (
            world.apply(Complete(guard=world.guard(item), result={"ok": False})),
            world.apply(CHANGES[Verb.FAIL](world, item)),
            world.apply(CHANGES[Verb.COMPLETE](world, stranger)),
        ):
            refused(answer, LeaseLost)

        assert world.fresh(item) == done

    def test_a_repeat_is_told_which_files_still_lack(self, world: World) -> None:
        """Who lost the answer lost the rows with it, and must write those files."""
        item = world.running()
        change = Complete(guard=world.guard(item), result={}, files=(file("runs/a"), file("runs/b")))
        first = world.apply(change)
        world.store.delivered([first.rows[0].seq])

        assert world.apply(change).rows == first.rows[1:]

    def test_a_start_within_a_claim_can_be_repeated_as_a_start(self, world: World) -> None:
        """It is the same move, made in one commit with the claim."""
        world.submit(draft("one"))
        world.shift()
        ((claimed, rows),) = world.claim_started()
        began = world.store.events(claimed.item.item_id)[-1].request_id
        attempt = world.attempt(claimed.item)
        files = (file(f"{attempt.directory}/meta.json"), file(f"{attempt.directory}/state.json"))

        answer: Answer = world.apply(
            Start(guard=world.guard(claimed.item, request=began), attempt=attempt, files=files)
        )

        assert answer == Answer(item=claimed.item, replayed=True, rows=rows)

    def test_a_refused_request_leaves_its_id_unused(self, world: World) -> None:
        """Nothing was written, so there is nothing to repeat."""
        item = world.running()
        change = Complete(guard=world.guard(item, rev=99), result={})
        refused(world.apply(change), LeaseLost)

        accepted(world.apply(replace(change, guard=replace(change.guard, rev=item.rev))))

    def test_a_repeat_is_answered_after_the_shift_is_over(self, world: World) -> None:
        """It writes nothing, so there is nothing to guard."""
        item = world.running()
        change = Complete(guard=world.guard(item), result={})
        first = world.apply(change)
        world.store.end_shift(ShiftId("shift-a"), at=world.now)

        assert world.apply(change) == replace(first, replayed=True)
