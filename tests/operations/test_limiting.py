"""Limits of a table: how many of its steps may run at once in a job, a directory, a repository."""

from __future__ import annotations

import json
from typing import Any

import pytest

from operations.place import Place, step
from teamster.model import BatchId, JobId, Table
from teamster.operations import retry, submit

ALONE = "mkdir busy || exit 9; sleep 0.05; rmdir busy"


def three(place: Place, *folders: str, **of_job: Any) -> list[dict[str, Any]]:
    """Write three jobs of two steps that fail where another one is at work in the same folder."""
    jobs = []
    for number, folder in enumerate(folders):
        (place.folder / folder).mkdir(exist_ok=True, parents=True)
        steps = [step("one", ALONE), step("two", ALONE)]
        jobs.append({"job_id": f"j{number}", "working_directory": folder, "steps": steps, **of_job})
    return jobs


def run(place: Place, jobs: list[dict[str, Any]], **of_table: Any) -> set[str]:
    """Run jobs and return how their steps ended."""
    table = place.read(place.write_jobs("table.json", jobs, **of_table))
    batch_id = submit(place.harness, table).batch_id
    place.work(batch_id)
    return set(place.statuses(batch_id).values())


@pytest.mark.req("PH-7.2")
def test_a_directory_is_shared_by_as_many_steps_as_the_table_says(place: Place) -> None:
    """Whoever finds a neighbour at work fails here; with the limit nobody does."""
    assert run(place, three(place, "a", "b", "a"), concurrency_per_directory=1) == {"succeeded"}


def test_without_the_limit_steps_meet(place: Place) -> None:
    """The test above shows something: four steps of one folder do run at once."""
    assert "failed" in run(place, three(place, "a", "a", "a"))


@pytest.mark.req("PH-7.2")
def test_a_job_bounds_its_own_steps_and_no_others(place: Place) -> None:
    assert run(place, three(place, "a", "b", concurrency=1)) == {"succeeded"}


@pytest.mark.req("PH-7.2")
def test_a_repository_is_one_place_with_all_of_its_folders(place: Place) -> None:
    """A limit of two tables is two limits, and a retry holds to them too."""
    (place.folder / "shop" / ".git").mkdir(parents=True)
    jobs = three(place, "shop/api", "shop/web", "shop")
    table = place.read(place.write_jobs("table.json", jobs, concurrency_per_repository=1))
    other = place.read(place.write_jobs("other.json", jobs, concurrency_per_repository=2))
    batch_ids = [submit(place.harness, one).batch_id for one in (table, other)]
    keys = [limit_keys(place, batch_id) for batch_id in batch_ids]

    assert [len(found) for found in keys] == [1, 1]
    assert keys[0].isdisjoint(keys[1])
    assert all(key.endswith(f":{place.folder / 'shop'}") for found in keys for key in found)
    store = place.harness.open_store()
    assert sorted(store.limits().values()) == [1, 2]
    store.close()

    place.work(batch_ids[0])
    retry(place.harness, batch_ids[0], job_id=JobId("j0"), succeeded_too=True)
    assert limit_keys(place, batch_ids[0]) == keys[0]


def limit_keys(place: Place, batch_id: BatchId) -> set[str]:
    """Read which limits the items of a batch name."""
    store = place.harness.open_store()
    try:
        drafts = [store.draft(item.item_id) for item in store.items(batch_id=batch_id)]
        return {key for draft in drafts if draft is not None for key in draft.limit_keys}
    finally:
        store.close()


@pytest.mark.req("PH-7.2b")
def test_a_step_that_names_a_runner_is_for_that_one_alone(place: Place) -> None:
    jobs = three(place, "a", runner_affinity={"runner_id": "somewhere-else"})
    table = place.read(place.write_jobs("table.json", jobs))
    batch_id = submit(place.harness, table).batch_id
    store = place.harness.open_store()
    drafts = [store.draft(item.item_id) for item in store.items(batch_id=batch_id)]
    store.close()

    assert {draft.runner_affinity for draft in drafts if draft is not None} == {"somewhere-else"}


def test_limits_are_kept_with_the_batch_and_change_no_other_digest(place: Place) -> None:
    table = place.read(place.write_jobs("table.json", three(place, "a", concurrency=2), concurrency_per_directory=3))
    plain = place.read(place.write_jobs("table.json", three(place, "a")))

    assert Table.from_json(json.loads(json.dumps(table.to_json()))) == table
    assert not [name for name in plain.to_json() if name.startswith("concurrency_")]
    assert "concurrency" not in plain.to_json()["jobs"][0]
