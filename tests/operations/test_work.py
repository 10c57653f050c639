"""Working: what is adopted, what is claimed, and when it is over."""

from __future__ import annotations

from pathlib import Path

from operations.place import Place, step
from teamster.operations import Control, Worked, work
from teamster.runner import Happened
from teamster.store import Store


def test_a_run_claims_its_own_batch_and_leaves_the_others_alone(place: Place) -> None:
    """Somebody who runs one table did not ask for another one's agents."""
    mine = place.submit({"a": [step("only", "true")]}, "mine.json")
    other = place.submit({"b": [step("only", "true")]}, "other.json")

    assert place.work(mine).settled

    assert place.statuses(mine) == {"a.only": "succeeded"}
    assert place.statuses(other) == {"b.only": "ready"}
    assert place.work().settled
    assert place.statuses(other) == {"b.only": "succeeded"}


def test_a_batch_whose_rest_waits_for_a_failed_step_is_settled(place: Place) -> None:
    batch_id = place.submit({"a": [step("bad", "exit 1"), step("after", "true", depends_on=["bad"])]})

    worked = place.work(batch_id)

    assert worked == Worked(settled=True, counts=worked.counts)
    assert (worked.counts["failed"], worked.counts["waiting"]) == (1, 1)


def test_a_drain_finishes_what_runs_and_starts_nothing_new(place: Place) -> None:
    """The first Ctrl-C loses no work and begins none."""
    batch_id = place.submit({"a": [step("first", "echo 1"), step("second", "echo 2", depends_on=["first"])]})
    control = Control()

    def watch(happened: Happened, store: Store) -> None:
        del store
        if happened.started:
            control.interrupt()

    worked = work(place.harness, batch_id=batch_id, versions={}, control=control, watch=watch)

    assert not worked.settled
    assert place.statuses(batch_id) == {"a.first": "succeeded", "a.second": "ready"}


def test_a_stop_ends_agents_and_their_steps_may_run_again(place: Place) -> None:
    """The second Ctrl-C ends what is slow; nobody has to ask for these steps again."""
    slow = 'test -f "$TEAMSTER_STEP_ID" || { touch "$TEAMSTER_STEP_ID"; exec sleep 60; }'
    batch_id = place.submit({"a": [step("slow", slow)]})
    control = Control()
    begun = place.folder / "work" / "slow"

    def watch(happened: Happened, store: Store) -> None:
        del happened, store
        if begun.exists() and not control.stopping:
            control.interrupt()
            control.interrupt()

    worked = work(place.harness, batch_id=batch_id, versions={}, control=control, watch=watch)

    assert not worked.settled
    assert place.statuses(batch_id) == {"a.slow": "ready"}
    assert place.work(batch_id).settled
    assert place.statuses(batch_id) == {"a.slow": "succeeded"}
    assert place.board(batch_id).steps[0].attempts == 2


def test_a_retry_by_policy_is_told_while_it_is_due(place: Place) -> None:
    """A person sees that something still happens, and when."""
    again = step("flaky", "test -f again || { touch again; exit 1; }", retry_policy={"max_attempts": 2})
    batch_id = place.submit({"a": [again]})
    notes: list[str] = []

    def watch(happened: Happened, store: Store) -> None:
        del store
        if happened.ended:
            notes.append(place.board(batch_id).steps[0].note)

    worked = work(place.harness, batch_id=batch_id, versions={}, control=Control(), watch=watch)

    assert worked.settled
    assert notes[0] == "a retry is due"
    assert place.statuses(batch_id) == {"a.flaky": "succeeded"}


def test_a_step_works_in_its_directory_and_nothing_is_left_behind(place: Place) -> None:
    batch_id = place.submit({"a": [step("only", "echo found > here.txt")]})
    place.work(batch_id)

    assert (place.folder / "work" / "here.txt").read_text(encoding="utf-8") == "found\n"
    assert list(Path(place.root, "spool").iterdir()) == []
