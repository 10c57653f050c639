"""Canceling what waits and what has ended; what runs is tried with the whole program in tests/cli."""

from __future__ import annotations

import json

import pytest

from operations.place import Place, step
from teamster.model import JobId, StepId, UsageError
from teamster.operations import cancel, verify

JOBS = {
    "one": [step("first", "echo 1"), step("second", "echo 2", depends_on=["first"])],
    "two": [step("only", "true")],
}


def test_a_canceled_batch_never_starts_and_says_so_in_its_files(place: Place) -> None:
    """A step that was canceled before its start has a directory all the same: scoreboards need files alone."""
    batch_id = place.submit(JOBS)

    canceled = cancel(place.harness, batch_id, actor="operator:me")
    place.work(batch_id)

    assert {row.step: row.changed for row in canceled} == dict.fromkeys(("one.first", "one.second", "two.only"), True)
    assert set(place.statuses(batch_id).values()) == {"canceled"}
    for job, name in (("one", "first"), ("one", "second"), ("two", "only")):
        (attempt,) = place.attempts(batch_id, job, name)
        state = json.loads((attempt / "state.json").read_bytes())
        assert state["status"] == "canceled"
        assert state["started_at"] == state["ended_at"]
    assert verify(place.harness).findings == ()


def test_one_step_is_canceled_alone_and_its_dependants_stay_blocked(place: Place) -> None:
    batch_id = place.submit(JOBS)
    cancel(place.harness, batch_id, job_id=JobId("one"), step_id=StepId("first"), actor="operator:me")
    place.work(batch_id)

    assert place.statuses(batch_id) == {"one.first": "canceled", "one.second": "blocked", "two.only": "succeeded"}


def test_what_has_ended_stays_as_it_is(place: Place) -> None:
    """A cancel that comes too late rewrites no history."""
    batch_id = place.submit(JOBS)
    place.work(batch_id)
    before = place.everything(batch_id)

    assert [row.changed for row in cancel(place.harness, batch_id, actor="operator:me")] == [False] * 3
    assert place.everything(batch_id) == before


def test_what_is_not_there_is_named_with_what_is(place: Place) -> None:
    batch_id = place.submit(JOBS)

    with pytest.raises(UsageError, match="has no job three") as job:
        cancel(place.harness, batch_id, job_id=JobId("three"), actor="operator:me")
    with pytest.raises(UsageError, match="has no step third") as no_step:
        cancel(place.harness, batch_id, job_id=JobId("one"), step_id=StepId("third"), actor="operator:me")

    assert job.value.hint == "its jobs: one, two"
    assert no_step.value.hint == "its steps: first, second"
