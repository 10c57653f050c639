"""What every store promises about what comes in, what waits, what is read, and the files that were promised."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.store_world import BATCH, TTL_SECONDS, World, accepted, draft, file, ids, key, refused, waits
from teamster.model import AttemptStatus, BatchId, ItemId, ItemStatus, JobId, ShiftId, UsageError
from teamster.store import Complete, Needs, Waiting


def _nest(depth: int) -> list[object]:
    """Nest a list so deep that nobody can write it."""
    nest: list[object] = []
    for _ in range(depth):
        nest = [nest]
    return nest


class IntakeContract:
    """Submissions and later generations."""

    @pytest.mark.req("DC-enq")
    def test_the_same_batch_again_changes_nothing(self, world: World) -> None:
        """Whatever it carries: the caller compares."""
        first = world.submit(draft("a"), files=(file("runs/batch/batch_meta.json"),))
        world.clock.advance(1)

        again = world.submit(draft("b"), draft("c"))

        assert (first.created, again.created, again.rows) == (True, False, ())
        assert again.batch == first.batch == world.store.batch(BATCH)
        assert ids(world.store.items()) == ["a"]
        assert [(row.path, row.batch_id, row.job_id) for row in first.rows] == [
            ("runs/batch/batch_meta.json", "batch", None)
        ]

    def test_a_batch_with_a_taken_id_or_key_is_refused_as_a_whole(self, world: World) -> None:
        """Half a batch would run."""
        world.submit(draft("a"))

        for twin in (draft("x", batch="later", item_id="batch-a-1"), draft("a", batch="batch")):
            with pytest.raises(UsageError):
                world.store.enqueue(draft("y", item_id="batch-a-1"), at=world.now)
            if twin.home != BATCH:
                with pytest.raises(UsageError):
                    world.submit(draft("new", batch="later"), twin, batch="later")

        assert world.store.batch(BatchId("later")) is None
        assert ids(world.store.items()) == ["a"]

    @pytest.mark.req("DC-enq")
    def test_a_known_dedupe_key_answers_the_existing_record(self, world: World) -> None:
        """Also when it has ended; a next generation is another key."""
        done = world.complete(world.running("a"))

        assert world.store.enqueue(draft("a", item_id="other"), at=world.now) == done
        assert world.store.find(dedupe_key=done.dedupe_key) == done
        again = world.store.enqueue(draft("a", generation=2), at=world.now)
        assert again is not None
        assert (again.generation, again.status) == (2, ItemStatus.QUEUED)
        assert world.store.get(ItemId("other")) is None

    def test_an_item_of_an_unknown_batch_is_refused(self, world: World) -> None:
        """Nothing would show it."""
        with pytest.raises(UsageError, match="no batch"):
            world.store.enqueue(draft("a"), at=world.now)

    def test_what_waits_has_no_record(self, world: World) -> None:
        """`enqueued` is its release."""
        world.submit(draft("a"), draft("b", waits("a")))

        assert world.store.get(ItemId("batch-b-1")) is None
        assert world.store.find(dedupe_key="batch/b#1") is None
        assert world.store.events(ItemId("batch-b-1")) in ([], ())
        assert world.store.enqueue(draft("b"), at=world.now) is None
        assert world.store.waiting() == [Waiting(draft=draft("b", waits("a")), unmet=(waits("a"),))]

    def test_whatever_json_can_say_comes_back_as_it_was(self, world: World) -> None:
        """Agents write results: with NULs, halves of surrogate pairs, large numbers and deep nests."""
        odd = {"nul": "a\x00b", "half": "\ud800", "smile": "\U0001f600", "big": 2**70, "none": None, "deep": [[{}]]}
        world.submit(replace(draft("a"), spec=odd, target={"plan_id": "é"}))
        world.shift()
        (item,) = world.claim()
        item = world.start(item)
        content = bytes(range(256))

        done = world.apply(Complete(guard=world.guard(item), result=odd, files=(file("runs/bytes", content),)))

        seen = world.fresh(item)
        assert (seen.spec, seen.result, seen.target) == (odd, odd, {"plan_id": "é"})
        assert [row.content for row in world.store.outbox()] == [row.content for row in done.rows] == [content]

    @pytest.mark.parametrize("value", [float("nan"), float("-inf"), object(), {"deep": _nest(100_000)}])
    def test_what_json_cannot_say_is_refused_and_nothing_is_written(self, world: World, value: object) -> None:
        """One typed error each; in a call of several the others go on."""
        with pytest.raises(UsageError, match="not JSON"):
            world.submit(draft("a"), replace(draft("b"), spec={"x": value}))
        assert world.store.batches() == []
        item = world.running("c")

        wrong = Complete(guard=world.guard(item), result={"x": value})
        right = Complete(guard=world.guard(item), result={"x": 1})
        refusal, done = world.store.apply([wrong, right], at=world.now)

        assert "not JSON" in refused(refusal, UsageError)
        assert accepted(done).result == {"x": 1}

    def test_batches_are_listed_newest_first(self, world: World) -> None:
        """The one that somebody just submitted stands on top."""
        for name in ("one", "two"):
            world.submit(draft("a", batch=name), batch=name, concurrency=3)

        assert [(batch.batch_id, batch.concurrency, batch.meta) for batch in world.store.batches()] == [
            ("two", 3, {"of": "two"}),
            ("one", 3, {"of": "one"}),
        ]


class DependencyContract:
    """Who waits for whom."""

    def test_a_success_releases_its_dependants_in_the_same_transaction(self, world: World) -> None:
        """Between the two a death would leave a batch that stands still."""
        world.submit(draft("a"), draft("b", waits("a")), draft("c", waits("a")), draft("d", waits("b")))
        world.shift()
        (item,) = world.claim(limit=5)

        world.complete(world.start(item))

        assert ids(world.claim(limit=5)) == ["b", "c"]
        assert [one.draft.item_id for one in world.store.waiting(batch_id=BATCH)] == ["batch-d-1"]

    def test_a_fan_in_waits_for_all(self, world: World) -> None:
        """And shows what it still waits for."""
        world.submit(draft("a"), draft("b"), draft("all", waits("a"), waits("b"), waits("a")))
        world.shift()
        first, second = world.claim(limit=5)

        world.complete(world.start(first))
        (waiting,) = world.store.waiting()
        assert waiting.unmet == (waits("b"),)
        world.complete(world.start(second))

        assert ids(world.claim(limit=5)) == ["all"]

    def test_a_failure_leaves_its_dependants_blocked(self, world: World) -> None:
        """Until a later generation of the step succeeds."""
        world.submit(draft("a"), draft("b", waits("a")))
        world.shift()
        (item,) = world.claim()
        world.fail(world.start(item))
        assert world.claim(limit=5) == []

        world.store.enqueue(draft("a", generation=2), at=world.now)
        (item,) = world.claim()
        world.complete(world.start(item))

        assert ids(world.claim(limit=5)) == ["b"]

    @pytest.mark.parametrize("end", ["complete", "fail", "abandon"])
    @pytest.mark.parametrize("base", [True, False])
    def test_a_final_end_releases_who_needs_a_base_if_there_is_one(self, world: World, end: str, *, base: bool) -> None:
        """Resumes of failed attempts: without a whole base there is nothing to go on from."""
        world.submit(draft("a"), draft("b", waits("a", Needs.FINAL)))
        world.shift()
        (item,) = world.claim()
        item = world.start(item)
        facts = {"session_sha256": "0" * 64} if base else {}
        status = AttemptStatus.SUCCEEDED if end == "complete" else AttemptStatus.FAILED
        attempt = world.attempt(item, status, **facts)

        match end:
            case "complete":
                world.complete(item, attempt=attempt)
            case "fail":
                world.fail(item, attempt=attempt)
            case _:
                stalled = world.stall(item, attempt=attempt)
                accepted(world.store.abandon(item.item_id, rev=stalled.rev, at=world.now, error={"message": "lost"}))

        assert ids(world.claim(limit=5)) == (["b"] if base else [])

    def test_what_is_met_already_is_not_waited_for(self, world: World) -> None:
        """A later batch may depend on an earlier one, before or after its end."""
        world.submit(draft("early", waits("a"), batch="early"), batch="early")
        world.submit(draft("x", waits("a", batch="batch"), batch="later"), batch="later")
        world.complete(world.running("a"))
        world.submit(draft("y", waits("a", batch="batch"), batch="last"), batch="last")

        assert ids(world.claim(limit=5)) == ["early", "x", "y"]

    def test_a_claim_brings_the_attempts_of_what_was_waited_for(self, world: World) -> None:
        """A resume chooses its base among them, oldest first; a step without one is there too."""
        world.submit(draft("a"), draft("b"), draft("c", waits("a"), waits("b")))
        world.shift()
        first, second = world.claim(limit=2)
        world.stall(world.start(first), requeue_at=world.now.wall)
        (again,) = world.claim()
        world.complete(world.start(again))
        world.complete(accepted(world.apply_bare_start(second)))

        ((claimed, _),) = world.store.claim(ShiftId("shift-a"), limit=1, at=world.now)

        assert {step: [attempt.number for attempt in found] for step, found in claimed.parents.items()} == {
            key("a"): [1, 2],
            key("b"): [],
        }


class ReadingContract:
    """Looking changes nothing."""

    def test_items_are_listed_in_pages_and_by_what_is_asked(self, world: World) -> None:
        """In the order of their enqueueing, so that a page goes on where the last one ended."""
        world.submit(draft("a.x"), draft("a.y"), draft("b"))
        world.submit(draft("c", batch="later"), batch="later")
        world.shift()
        (item,) = world.claim()

        assert ids(world.store.items(limit=2)) == ["a.x", "a.y"]
        assert ids(world.store.items(after="batch-a-y-1", limit=2)) == ["b", "c"]
        assert ids(world.store.items(batch_id=BATCH, after="batch-a-x-1")) == ["a.y", "b"]
        assert ids(world.store.items(batch_id=BATCH, job_id=JobId("a"))) == ["a.x", "a.y"]
        assert ids(world.store.items(job_id=JobId("c"))) == ["c"]
        assert ids(world.store.items(batch_id=BATCH, status="queued")) == ["a.y", "b"]
        assert world.store.items(shift_id=ShiftId("shift-a")) == [item]
        assert world.store.items(status="claimed", batch_id=BATCH) == [item]
        assert world.store.items(status="claimed") == [item]
        assert world.store.items(status="unheard of") == []
        assert world.store.items(batch_id=BatchId("nobody")) == []

    def test_counts_tell_every_status_and_who_waits(self, world: World) -> None:
        """Progress bars ask for them all the time."""
        nothing = dict.fromkeys(("waiting", *(status.value for status in ItemStatus)), 0)
        assert world.store.counts() == world.store.counts(batch_id=BATCH) == nothing
        world.submit(draft("a"), draft("b"), draft("c", waits("a")))
        world.submit(draft("d", batch="later"), batch="later")
        world.shift()
        first, _ = world.claim(limit=2)
        world.start(first)

        assert world.store.counts(batch_id=BATCH) == {**nothing, "running": 1, "queued": 1, "waiting": 1}
        assert world.store.counts() == {**nothing, "running": 1, "claimed": 1, "waiting": 1, "queued": 1}

    def test_the_next_due_moment_is_known(self, world: World) -> None:
        """A loop sleeps until then; a moment that has passed means now."""
        assert world.store.next_due() is None
        world.submit(draft("a"), draft("b"))
        world.shift()
        due = world.store.next_due(batch_id=BATCH)
        assert due is not None
        assert due <= world.now.wall
        soon, late = world.claim(limit=2)
        assert world.store.next_due() is None
        moments = [world.now.wall + timedelta(seconds=seconds) for seconds in (10, 20)]
        world.stall(late, requeue_at=moments[1])
        assert world.store.next_due() == moments[1]
        world.stall(soon, requeue_at=moments[0])

        assert world.store.next_due() == world.store.next_due(batch_id=BATCH) == moments[0]
        assert world.store.next_due(batch_id=BatchId("nobody")) is None

    @pytest.mark.req("DC-events")
    def test_a_history_is_whole_and_in_order(self, world: World) -> None:
        """Each event goes on where the last one ended; ids are never used twice."""
        item = world.complete(world.running())

        events = world.store.events(item.item_id)

        assert [event.type for event in events] == ["enqueued", "claimed", "started", "succeeded"]
        assert [event.from_status for event in events[1:]] == [event.to_status for event in events[:-1]]
        assert len({event.event_id for event in events}) == len(events)
        assert events[0].from_status is None
        assert events[-1].actor == "runner-of-shift-a"

    def test_attempts_are_found_by_step_job_and_item(self, world: World) -> None:
        """Pointers are made for a job, resumes for a step."""
        world.submit(draft("a.x"), draft("a.y"), draft("b"))
        world.shift()
        runs = [claimed.item for claimed, _ in world.claim_started(limit=3)]
        expected = [world.attempt(item) for item in runs]

        assert list(world.store.attempts()) == expected
        assert list(world.store.attempts(job=(BATCH, JobId("a")))) == expected[:2]
        assert list(world.store.attempts(step=key("a.y"))) == expected[1:2]
        assert list(world.store.attempts(item_id=runs[2].item_id)) == expected[2:]
        assert list(world.store.attempts(item_id=runs[2].item_id, step=key("a.y"))) == []

    def test_what_is_not_there_is_none(self, world: World) -> None:
        """Nothing is made by asking."""
        assert world.store.get(ItemId("nobody")) is None
        assert world.store.find(dedupe_key="nobody") is None
        assert world.store.batch(BatchId("nobody")) is None
        assert world.store.waiting(batch_id=BatchId("nobody")) == []


class OutboxContract:
    """Files that follow from a commit."""

    def test_rows_stand_in_order_until_they_are_delivered(self, world: World) -> None:
        """The newest per path is the last one; a number is never given twice."""
        item = world.running()
        first = world.apply(Complete(guard=world.guard(item), result={}, files=(file("a", b"1"), file("a", b"2"))))
        assert [(row.path, row.content) for row in world.store.outbox()] == [("a", b"1"), ("a", b"2")]
        assert world.store.outbox(limit=1) == [first.rows[0]]
        assert world.store.outbox(after=first.rows[0].seq) == [first.rows[1]]

        world.store.delivered([row.seq for row in first.rows])
        later = world.cancel_of_new("later")

        assert world.store.outbox() == list(later)
        assert later[0].seq > first.rows[1].seq
        assert (later[0].batch_id, later[0].job_id) == ("later", "later")

    def test_delivered_rows_go_with_the_next_transaction(self, world: World) -> None:
        """Also when all that it asks for is refused: the files are there."""
        world.submit(draft("a"), files=(file("meta"),))
        (row,) = world.store.outbox()

        assert world.store.apply([], at=world.now, delivered=[row.seq, 99]) in ([], ())

        assert world.store.outbox() == []

    def test_rows_of_the_dead_and_of_operators_are_anybodys(self, world: World) -> None:
        """A living shift writes its own; what it leaves behind any harness of the root plays."""
        world.submit(draft("a"), draft("b"), files=(file("meta"),))
        world.shift("shift-a")
        world.shift("shift-b")
        ((_, of_a),) = world.claim_started("shift-a")
        ((_, of_b),) = world.claim_started("shift-b")
        meta = world.store.outbox(limit=1)

        assert list(world.store.orphaned_outbox(at=world.now)) == list(meta)
        world.store.end_shift(ShiftId("shift-a"), at=world.now)
        assert list(world.store.orphaned_outbox(at=world.now)) == [*meta, *of_a]
        world.clock.advance(TTL_SECONDS)
        assert list(world.store.orphaned_outbox(at=world.now)) == [*meta, *of_a, *of_b]
        assert list(world.store.orphaned_outbox(at=world.now, limit=2)) == [*meta, of_a[0]]
