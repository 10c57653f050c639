"""What every store promises about who may take what: routing, limits, fairness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from contracts.store_world import World, draft, ids, waits
from teamster.model import Item, ItemId, RunnerId, ShiftId, UsageError
from teamster.store import ANY_ITEM, ClaimFilter, ItemDraft

SHOP = frozenset({"directory:/srv/shop"})


def aimed(name: str, *, labels: Sequence[str] = (), runner: str | None = None, **target: str) -> ItemDraft:
    """Draft a step that says whom it is for."""
    return replace(
        draft(name),
        target={"plan_id": name, **target},
        labels=frozenset(labels),
        runner_affinity=None if runner is None else RunnerId(runner),
    )


class RoutingContract:
    """Whom an item is for."""

    @pytest.mark.req("DC-claim", "DC-role", "PH-7.2b")
    @pytest.mark.parametrize(
        ("wanted", "taken"),
        [
            (ANY_ITEM, "plain code coder ours"),
            (ClaimFilter(commands=frozenset({"code", "review"})), "code"),
            (ClaimFilter(roles=frozenset({"plan-coder"})), "coder"),
            (ClaimFilter(commands=frozenset({"code"}), roles=frozenset({"plan-coder"})), ""),
            (ClaimFilter(commands=frozenset()), ""),
            (ClaimFilter(runtimes=frozenset({"cursor"})), "plain code coder cursor ours"),
            (ClaimFilter(labels=frozenset({"gpu"})), "plain code coder gpu ours"),
            (ClaimFilter(labels=frozenset({"gpu", "big"})), "plain code coder gpu big ours"),
            (ClaimFilter(runners=frozenset({RunnerId("elsewhere")})), "plain code coder ours theirs"),
        ],
    )
    def test_a_claim_takes_what_is_for_it_alone(self, world: World, wanted: ClaimFilter, taken: str) -> None:
        """By command, role, runtime, labels and runner; what asks for nothing is for all."""
        world.submit(
            aimed("plain"),
            aimed("code", workflow_command="code"),
            aimed("coder", role="plan-coder"),
            aimed("cursor", runtime="cursor"),
            aimed("gpu", labels=["gpu"]),
            aimed("big", labels=["gpu", "big"]),
            aimed("ours", runner="runner-of-shift-a", runtime="teamster"),
            aimed("theirs", runner="elsewhere"),
        )
        world.shift()

        assert ids(world.claim(limit=20, wanted=wanted)) == taken.split()

    def test_what_is_for_others_stands_in_nobodys_way(self, world: World) -> None:
        """Also where it is older and higher in priority, and goes to its own later."""
        world.submit(*(replace(aimed(f"gpu{n}", labels=["gpu"]), priority=9) for n in range(3)), aimed("plain"))
        world.shift()

        assert ids(world.claim(limit=1)) == ["plain"]
        assert world.claim(limit=1) == []
        assert ids(world.claim(limit=9, wanted=ClaimFilter(labels=frozenset({"gpu"})))) == ["gpu0", "gpu1", "gpu2"]

    def test_a_draft_tells_whom_its_item_is_for(self, world: World) -> None:
        """An operator who asks why nothing happens reads it there; also of what waits."""
        made = replace(
            aimed("b", labels=["gpu"], runner="r1", role="x"), limit_keys=SHOP, priority=3, waits=(waits("a"),)
        )
        world.submit(draft("a"), made)

        assert world.store.draft(made.item_id) == made
        assert [one.draft for one in world.store.waiting()] == [made]
        assert world.store.draft(ItemId("nobody")) is None


class LimitContract:
    """How many may be owned at once."""

    @pytest.mark.req("PH-7.2", "PH-2.2")
    def test_a_key_lets_so_many_run_whoever_claims(self, world: World) -> None:
        """Two harnesses on one database share the limits; what has no such key goes past."""
        world.store.set_limit("directory:/srv/shop", 2)
        world.submit(*(draft(f"s{n}", limit_keys=SHOP) for n in range(4)), draft("other"))
        world.shift("shift-a")
        world.shift("shift-b")

        (first,) = world.claim("shift-a")
        assert ids(world.claim("shift-b", limit=9, store=world.open())) == ["s1", "other"]
        assert world.claim("shift-a", limit=9) == []
        assert world.store.held() == {"*": 3, "directory:/srv/shop": 2}
        world.complete(world.start(first))
        assert ids(world.claim("shift-b", limit=9)) == ["s2"]

    def test_a_kind_limits_each_of_its_keys(self, world: World) -> None:
        """One agent in each directory, without a list of directories; a key of its own may have another limit."""
        world.store.set_limit("directory:*", 1)
        world.store.set_limit("directory:/wide", 2)
        names = ["/a", "/a", "/b", "/b", "/wide", "/wide", "/wide"]
        world.submit(*(draft(f"n{n}", limit_keys=frozenset({f"directory:{name}"})) for n, name in enumerate(names)))
        world.shift()

        assert ids(world.claim(limit=9)) == ["n0", "n2", "n4", "n5"]

    def test_an_item_needs_room_in_all_its_keys(self, world: World) -> None:
        """Its repository's and its directory's; which of the two was full first makes no difference."""
        both = frozenset({"repository:shop", "directory:/srv/shop"})
        world.store.set_limit("repository:shop", 1)
        world.store.set_limit("directory:*", 1)
        world.submit(
            draft("a", limit_keys=SHOP),
            draft("b", limit_keys=both),
            draft("c", limit_keys=frozenset({"repository:shop"})),
        )
        world.shift()

        first, second = world.claim(limit=9)
        assert ids([first, second]) == ["a", "c"]
        world.complete(world.start(first))
        assert world.claim(limit=9) == []
        world.complete(world.start(second))
        assert ids(world.claim(limit=9)) == ["b"]

    def test_everything_has_a_limit_too(self, world: World) -> None:
        """So many agents at once, however many harnesses and batches; 0 holds all back."""
        world.submit(*(draft(f"n{n}") for n in range(3)))
        world.submit(draft("x", batch="later"), batch="later")
        world.shift()
        world.store.set_limit("*", 0)
        assert world.claim(limit=9) == []

        world.store.set_limit("*", 2)
        assert len(world.claim(limit=9)) == 2
        assert world.claim(limit=9) == []

        world.store.set_limit("*", None)
        assert len(world.claim(limit=9)) == 2
        assert world.store.limits() == {}

    @pytest.mark.parametrize("change", [5, None])
    def test_a_limit_that_is_raised_frees_what_it_held_back(self, world: World, change: int | None) -> None:
        """In the order in which it would have gone."""
        world.store.set_limit("directory:/srv/shop", 0)
        world.submit(*(draft(f"n{n}", limit_keys=SHOP, priority=n) for n in range(3)))
        world.shift()
        assert world.claim(limit=9) == []

        world.store.set_limit("directory:/srv/shop", change)

        assert ids(world.claim(limit=9)) == ["n2", "n1", "n0"]

    def test_what_a_limit_held_back_keeps_its_place(self, world: World) -> None:
        """It goes before what came later, as if the limit had not been there."""
        world.store.set_limit("directory:/srv/shop", 1)
        world.submit(draft("a", limit_keys=SHOP), draft("b", limit_keys=SHOP), *(draft(f"n{n}") for n in range(3)))
        world.shift()
        first, plain = world.claim(limit=2)
        assert ids([first, plain]) == ["a", "n0"]
        world.complete(world.start(first))

        assert ids(world.claim(limit=2)) == ["b", "n1"]

    def test_slots_are_counted_from_what_is_owned(self, world: World) -> None:
        """Whatever an end is called, and whoever brings it about, it frees the slot."""
        world.store.set_limit("directory:/srv/shop", 1)
        world.submit(*(draft(f"n{n}", limit_keys=SHOP) for n in range(5)))
        world.shift()
        ends: list[Callable[[Item], Item]] = [
            world.complete,
            world.fail,
            world.stall,
            lambda item: world.stall(item, requeue_at=world.now.after(900).wall),
        ]
        for end in ends:
            (item,) = world.claim(limit=9)
            assert world.claim(limit=9) == []
            end(world.start(item))
        (last,) = world.claim(limit=9)
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        world.shift("shift-b")
        assert world.claim("shift-b", limit=9) == []
        world.stall_lost(last)

        assert world.store.held() == {"*": 0}
        assert world.store.limits() == {"directory:/srv/shop": 1}

    def test_a_canceled_item_is_held_back_by_nothing_any_more(self, world: World) -> None:
        """It is over, and leaves the others their turn."""
        world.store.set_limit("directory:/srv/shop", 1)
        world.submit(*(draft(f"n{n}", limit_keys=SHOP) for n in range(3)))
        world.shift()
        (first,) = world.claim(limit=9)
        world.cancel("batch-n1-1")
        world.complete(world.start(first))

        assert ids(world.claim(limit=9)) == ["n2"]

    def test_a_reclaim_of_stalled_items_heeds_the_limits(self, world: World) -> None:
        """Contract v1 allows it; a limit is a limit all the same."""
        world.store.set_limit("directory:/srv/shop", 1)
        world.submit(*(draft(f"n{n}", limit_keys=SHOP) for n in range(2)))
        world.shift()
        for _ in range(2):
            (item,) = world.claim()
            world.stall(item)

        assert ids(world.claim(limit=9, wanted=ClaimFilter(stalled=True))) == ["n0"]
        assert world.claim(limit=9, wanted=ClaimFilter(stalled=True)) == []

    def test_many_items_behind_a_full_limit_hide_nothing_for_long(self, world: World) -> None:
        """A claim looks at a bounded number of them; the next ones start behind these."""
        world.store.set_limit("directory:/srv/shop", 1)
        world.submit(*(draft(f"s{n}", limit_keys=SHOP) for n in range(700)), draft("other"))
        world.shift()

        taken = [name for _ in range(3) for name in ids(world.claim(limit=2))]

        assert taken == ["s0", "other"]

    @pytest.mark.parametrize(
        "limit_key", ["", "shop", "Directory:/x", "directory:", "directory:a\nb", "a:" + "x" * 600]
    )
    def test_a_limit_that_no_item_can_name_is_refused(self, world: World, limit_key: str) -> None:
        """It would hold nothing back, and nobody would know why."""
        with pytest.raises(UsageError, match="limit_key"):
            world.store.set_limit(limit_key, 1)

        assert world.store.limits() == {}

    @pytest.mark.parametrize(
        "ask",
        [
            lambda world: world.store.set_limit("*", -1),
            lambda world: world.claim(limit=-1),
            lambda world: world.store.items(limit=-1),
            lambda world: world.store.waiting(limit=-1),
            lambda world: world.store.outbox(limit=-1),
            lambda world: world.store.orphaned_outbox(at=world.now, limit=-1),
            lambda world: world.store.events_after(limit=-1),
        ],
        ids=["set_limit", "claim", "items", "waiting", "outbox", "orphaned_outbox", "events_after"],
    )
    def test_fewer_than_none_is_refused(self, world: World, ask: Any) -> None:
        """Databases take a negative limit for no limit at all."""
        world.submit(draft("a"))
        world.shift()
        before = world.store.items()

        with pytest.raises(UsageError, match="is negative"):
            ask(world)

        assert world.store.items() == before
        assert world.store.limits() == {}


class FairnessContract:
    """Whose turn it is."""

    @pytest.mark.req("PH-2.2")
    def test_ten_items_do_not_wait_behind_ten_thousand(self, world: World) -> None:
        """Batches take turns, also where one slot is all there is."""
        world.submit(*(draft(f"big{n}") for n in range(50)))
        world.submit(*(draft(f"small{n}", batch="later") for n in range(3)), batch="later")
        world.shift()
        order = []
        for _ in range(6):
            (item,) = world.claim()
            order += ids([item])
            world.complete(world.start(item))

        assert order == ["big0", "small0", "big1", "small1", "big2", "small2"]

    def test_the_batch_with_the_fewest_owned_goes_first(self, world: World) -> None:
        """Long items of one batch don't keep the slots that get free for it."""
        world.submit(*(draft(f"a{n}") for n in range(9)))
        world.shift()
        world.claim(limit=4)
        world.submit(*(draft(f"b{n}", batch="later") for n in range(9)), batch="later")

        assert ids(world.claim(limit=5)) == ["b0", "b1", "b2", "b3", "a4"]

    def test_priority_goes_before_fairness(self, world: World) -> None:
        """Who says that something is urgent means it."""
        world.submit(*(draft(f"a{n}", priority=1) for n in range(3)))
        world.submit(draft("b", batch="later"), batch="later")
        world.shift()

        assert ids(world.claim(limit=4)) == ["a0", "a1", "a2", "b"]

    def test_within_a_batch_the_oldest_goes_first(self, world: World) -> None:
        """Fairness is between batches alone."""
        world.submit(draft("a"), draft("b"), draft("c"))
        world.shift()
        first, _ = world.claim(limit=2)
        world.stall(first, requeue_at=world.now.wall)

        assert ids(world.claim(limit=2)) == ["a", "c"]
