"""What every store promises about items that are no step, and about the events of all items."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.store_world import BATCH, PLANS, World, accepted, draft, ids, loose, waits
from teamster.model import BatchId, Item, ItemId, ItemStatus, UsageError
from teamster.store import ClaimFilter

EVERY_HOME = frozenset({BATCH, PLANS, BatchId("later")})


class CollectionContract:
    """Items that are no step of a batch: advances of plans, prompts."""

    @pytest.mark.req("DC-enq", "DC-target")
    def test_an_item_without_a_step_lies_in_a_collection(self, world: World) -> None:
        """Its first item makes it; it is no batch."""
        item = world.store.enqueue(loose("p1"), at=world.now)

        assert item is not None
        assert (item.step, item.collection, item.status) == (None, PLANS, ItemStatus.QUEUED)
        assert world.store.get(item.item_id) == item
        assert world.store.draft(item.item_id) == loose("p1")
        assert world.store.items(batch_id=PLANS) == [item]
        assert world.store.counts(batch_id=PLANS)["queued"] == world.store.counts()["queued"] == 1
        assert (world.store.batches(), world.store.batch(PLANS)) == ([], None)

    def test_a_collection_is_claimed_by_who_names_it(self, world: World) -> None:
        """A runner of batches could not carry it out."""
        world.store.enqueue(loose("p1", role="plan-coder"), at=world.now)
        world.submit(draft("a"))
        world.shift()

        assert ids(world.claim(limit=9)) == ["a"]
        wanted = ClaimFilter(batch_ids=frozenset({PLANS}), roles=frozenset({"plan-coder"}))
        (item,) = world.claim(limit=9, wanted=wanted)
        assert item.item_id == "plan-p1"

    @pytest.mark.req("DC-enq", "DC-life")
    def test_it_lives_the_life_of_any_item(self, world: World) -> None:
        """And a known dedupe key answers its end."""
        world.store.enqueue(loose("p1"), at=world.now)
        world.shift()
        (item,) = world.claim(wanted=ClaimFilter(batch_ids=frozenset({PLANS})))
        done = world.complete(accepted(world.apply_bare_start(item)))

        assert world.types(done) == ["enqueued", "claimed", "started", "succeeded"]
        assert world.store.enqueue(replace(loose("p1"), item_id=ItemId("again")), at=world.now) == done
        assert world.store.counts(batch_id=PLANS)["succeeded"] == 1

    def test_it_may_wait_for_steps_and_be_canceled(self, world: World) -> None:
        """Dependencies name steps, whoever has them."""
        world.submit(draft("a"))
        waiting = replace(loose("p1"), waits=(waits("a"),))
        assert world.store.enqueue(waiting, at=world.now) is None
        assert [one.draft for one in world.store.waiting(batch_id=PLANS)] == [waiting]

        released = world.store.request_cancel(
            waiting.item_id, at=world.now, actor="operator", draft=lambda _item: (None, ())
        )

        assert (released.item.status, released.item.error is None) == (ItemStatus.FAILED, False)
        assert world.store.waiting() == []

    @pytest.mark.req("DC-enq")
    def test_many_get_an_answer_each(self, world: World) -> None:
        """One that is refused leaves the others alone, and a repeat changes nothing."""
        twin = replace(loose("p9"), item_id=ItemId("plan-p1"))
        drafts = [loose("p1"), twin, draft("x", batch="nowhere"), loose("p2"), loose("p1")]

        first = world.store.enqueue_many(drafts, at=world.now)
        again = world.store.enqueue_many(drafts, at=world.now)

        assert [answer.refusal is None for answer in first] == [True, False, False, True, True]
        assert [answer.replayed for answer in first] == [False, False, False, False, True]
        assert [answer.item for answer in again] == [answer.item for answer in first]
        assert [answer.replayed for answer in again] == [True, False, False, True, True]
        assert [item.item_id for item in world.store.items()] == ["plan-p1", "plan-p2"]

    def test_batches_and_collections_take_turns(self, world: World) -> None:
        """A long queue of prompts starves no batch, and no batch starves them."""
        world.store.enqueue_many([loose(f"p{n}") for n in range(5)], at=world.now)
        world.submit(draft("a"), draft("b"))
        world.shift()

        taken: list[Item] = world.claim(limit=4, wanted=ClaimFilter(batch_ids=EVERY_HOME))

        assert [item.item_id for item in taken] == ["plan-p0", "batch-a-1", "plan-p1", "batch-b-1"]


class FeedContract:
    """What happened, to whoever asks from where they were."""

    @pytest.mark.req("DC-events")
    def test_every_event_is_met_once_and_in_order(self, world: World) -> None:
        """A reader goes on from its cursor, in pages of any size."""
        world.submit(draft("a"), draft("b", waits("a")))
        world.shift()
        for _ in range(2):
            [[claimed, _]] = world.claim_started()
            world.complete(claimed.item)

        met = self._read(world, limit=3)

        assert [(item_id.split("-")[1], kind) for item_id, kind in met] == [
            *(("a", kind) for kind in ("enqueued", "claimed", "started", "succeeded")),
            *(("b", kind) for kind in ("enqueued", "claimed", "started", "succeeded")),
        ]
        assert met == self._read(world, limit=1) == self._read(world, limit=100)
        whole = world.store.events_after()
        for item in world.store.items():
            of_item = [each.event for each in whole if each.item_id == item.item_id]
            assert of_item == list(world.store.events(item.item_id))

    def test_a_cursor_stays_good(self, world: World) -> None:
        """However long ago; what is not new is not told again."""
        world.submit(draft("a"))
        (first,) = world.store.events_after()
        assert world.store.events_after(first.cursor) == []
        world.submit(draft("b", batch="later"), batch="later")

        (second,) = world.open().events_after(first.cursor)

        assert second.item_id == "later-b-1"
        assert world.store.events_after(first.cursor, limit=0) == []

    @pytest.mark.parametrize("cursor", ["x", "-1", "1-", "1.5", "9" * 19, "1 ", "\u0661"])
    def test_what_is_no_cursor_is_refused(self, world: World, cursor: str) -> None:
        """A reader that lost its place must know."""
        with pytest.raises(UsageError, match="cursor"):
            world.store.events_after(cursor)

    def _read(self, world: World, *, limit: int) -> list[tuple[str, str]]:
        cursor, met = "", list[tuple[str, str]]()
        while page := world.store.events_after(cursor, limit=limit):
            assert len(page) <= limit
            met += [(each.item_id, each.event.type.value) for each in page]
            cursor = page[-1].cursor
        return met
