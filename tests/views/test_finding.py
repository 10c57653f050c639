"""A few letters are enough, and too few are told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from operations.place import Place, step
from teamster.model import JobId, StepId, UsageError
from teamster.store import Store
from teamster.views import Reference, find_batch, find_run, find_steps, parse_reference

JOBS = {"a": [step("first", "true"), step("second", "true", depends_on=["first"])], "b": [step("only", "true")]}


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    opened = place.harness.open_store()
    yield opened
    opened.close()


def test_a_batch_is_found_by_the_beginning_of_its_id(place: Place, store: Store) -> None:
    first = place.submit(JOBS, "apples.json")
    second = place.submit({"b": JOBS["b"]}, "apricots.json")

    assert find_batch(store, "app").batch_id == first
    assert find_batch(store, second).batch_id == second
    assert find_batch(store, None).batch_id == second
    with pytest.raises(UsageError, match="ap fits 2 batches") as several:
        find_batch(store, "ap")
    assert {first, second} <= set(several.value.hint.replace(",", "").split())
    with pytest.raises(UsageError, match="there is no batch pears") as none:
        find_batch(store, "pears")
    assert first in none.value.hint
    for wrong in ("", "../x", "[red]"):
        with pytest.raises(UsageError, match="is not the id of a batch"):
            find_batch(store, wrong)


def test_without_any_batch_the_way_out_is_named(store: Store) -> None:
    with pytest.raises(UsageError, match="there is no batch yet") as caught:
        find_batch(store, "a")

    assert caught.value.hint == "run a table first: teamster run TABLE"


def test_a_reference_names_a_job_or_one_of_its_steps() -> None:
    assert parse_reference(None) == Reference()
    assert parse_reference("a") == Reference(job_id=JobId("a"))
    assert parse_reference("a.b") == Reference(job_id=JobId("a"), step_id=StepId("b"))
    for wrong in ("", ".", "a.", ".b", "a.b.c", "../a", "a b"):
        with pytest.raises(UsageError, match="is neither a job nor"):
            parse_reference(wrong)


def test_steps_are_found_whether_they_have_started_or_wait(place: Place, store: Store) -> None:
    batch = find_batch(store, place.submit(JOBS))

    assert [str(key) for key in find_steps(store, batch, parse_reference("a"))] == ["a.first", "a.second"]
    assert [str(key) for key in find_steps(store, batch, parse_reference("a.second"))] == ["a.second"]
    with pytest.raises(UsageError, match="has no job c") as job:
        find_steps(store, batch, parse_reference("c"))
    with pytest.raises(UsageError, match="job b has no step first") as no_step:
        find_steps(store, batch, parse_reference("b.first"))
    assert (job.value.hint, no_step.value.hint) == ("its jobs: a, b", "its steps: b.only")


def test_an_attempt_is_found_by_its_run_id_alone(place: Place) -> None:
    """Nothing but files is needed."""
    batch_id = place.submit({"b": JOBS["b"]})
    place.work(batch_id)
    (attempt,) = place.attempts(batch_id, "b", "only")
    run_id = attempt.name.partition("_")[2]

    found, directory = find_run(place.harness.root, run_id)

    assert (found, place.root / directory) == (run_id, attempt)
    for wrong in ("run_nothing", "*", "../x", ""):
        with pytest.raises(UsageError, match="there is no run"):
            find_run(place.harness.root, wrong)
