"""Asking again: a new run, history as it was, dependants released by the new success."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from operations.place import Place, items_of, step
from teamster.model import BatchId, JobId, StepId, UsageError
from teamster.operations import cancel, retry, verify


@pytest.fixture
def failed(place: Place) -> BatchId:
    """Run a batch with two jobs that fail until a file is there, and a third that succeeds."""
    script = "echo tried; test -f mended"
    jobs = {
        "a": [step("first", script), step("second", "echo after", depends_on=["first"])],
        "b": [step("only", script)],
        "c": [step("only", "echo fine")],
    }
    batch_id = place.submit(jobs)
    assert place.work(batch_id).settled
    assert place.statuses(batch_id) == {
        "a.first": "failed",
        "a.second": "blocked",
        "b.only": "failed",
        "c.only": "succeeded",
    }
    return batch_id


def mend(place: Place) -> None:
    """Make the steps succeed from now on."""
    (place.folder / "work" / "mended").touch()


def run_ids(attempts: list[Path]) -> list[str]:
    """Read which runs there were."""
    return [json.loads((path / "meta.json").read_bytes())["run_id"] for path in attempts]


@pytest.mark.req("PH-5.3b")
def test_a_retry_is_a_new_run_and_the_old_one_stays_as_it_was(place: Place, failed: BatchId) -> None:
    """History is never rewritten: what failed can be read for ever."""
    (old,) = place.attempts(failed, "a", "first")
    before = place.everything(failed, f"a/steps/first/attempts/{old.name}")
    mend(place)

    retried = retry(place.harness, failed, job_id=JobId("a"), step_id=StepId("first"))
    place.work(failed)

    assert [row.generation for row in retried] == [2]
    attempts = place.attempts(failed, "a", "first")
    assert len(set(run_ids(attempts))) == len(attempts) == 2
    assert place.everything(failed, f"a/steps/first/attempts/{old.name}") == before
    assert place.statuses(failed) == {
        "a.first": "succeeded",
        "a.second": "succeeded",
        "b.only": "failed",
        "c.only": "succeeded",
    }
    assert verify(place.harness).findings == ()


def test_a_job_or_a_whole_batch_is_asked_for_again_without_what_succeeded(place: Place, failed: BatchId) -> None:
    mend(place)
    assert [row.step for row in retry(place.harness, failed, job_id=JobId("b"))] == ["b.only"]
    assert [row.step for row in retry(place.harness, failed)] == ["a.first"]

    place.work(failed)

    assert set(place.statuses(failed).values()) == {"succeeded"}
    assert len(place.attempts(failed, "c", "only")) == 1


def test_asking_twice_before_it_ran_makes_one_run(place: Place, failed: BatchId) -> None:
    """Two impatient people are one request."""
    retry(place.harness, failed, job_id=JobId("b"))
    records = items_of(place, failed)

    with pytest.raises(UsageError, match="there is nothing to retry"):
        retry(place.harness, failed, job_id=JobId("b"))

    assert items_of(place, failed) == records


def test_what_succeeded_runs_again_only_on_demand(place: Place, failed: BatchId) -> None:
    with pytest.raises(UsageError, match="there is nothing to retry") as caught:
        retry(place.harness, failed, job_id=JobId("c"))
    assert "--succeeded-too" in caught.value.hint

    retry(place.harness, failed, job_id=JobId("c"), succeeded_too=True)
    assert not place.board(failed).is_settled
    place.work(failed)

    assert len(place.attempts(failed, "c", "only")) == 2
    assert place.statuses(failed)["c.only"] == "succeeded"


def test_a_canceled_batch_can_be_asked_for_again(place: Place) -> None:
    """Its steps wait for each other as they did the first time."""
    batch_id = place.submit({"a": [step("first", "echo 1"), step("second", "echo 2", depends_on=["first"])]})
    cancel(place.harness, batch_id, actor="operator:me")
    assert len(retry(place.harness, batch_id)) == 2
    assert place.statuses(batch_id) == {"a.first": "ready", "a.second": "blocked"}

    place.work(batch_id)

    assert place.statuses(batch_id) == {"a.first": "succeeded", "a.second": "succeeded"}
    states = {
        name: json.loads((attempt / "state.json").read_bytes())
        for name in ("first", "second")
        for attempt in place.attempts(batch_id, "a", name)
        if b"succeeded" in (attempt / "state.json").read_bytes()
    }
    assert states["first"]["ended_at"] <= states["second"]["started_at"]
    assert verify(place.harness).findings == ()
