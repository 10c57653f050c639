"""Submitting: what is acknowledged is not lost, and the same again changes nothing."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import pytest

from operations.place import Place, items_of, step
from teamster.artifacts import Rule
from teamster.model import BatchId, UsageError, history_faults, record_from_json
from teamster.operations import retry, submit, verify
from teamster.operations.submit import _batch

TWO = {"one": [step("first", "echo 1"), step("second", "echo 2", depends_on=["first"])], "two": [step("only", "true")]}


@pytest.mark.req("DC-enq")
def test_the_same_table_again_is_the_same_batch_and_changes_nothing(place: Place) -> None:
    """Before it ran and after it ended: running a table twice by mistake costs nothing."""
    first = place.submitted(TWO)
    queued, files = items_of(place, first.batch_id), place.everything(first.batch_id)
    again = place.submitted(TWO)

    assert (first.created, again.created) == (True, False)
    assert (again.batch_id, again.job_ids) == (first.batch_id, first.job_ids)
    assert (items_of(place, first.batch_id), place.everything(first.batch_id)) == (queued, files)

    place.work(first.batch_id)
    ended, files = items_of(place, first.batch_id), place.everything(first.batch_id)
    assert place.submitted(TWO).created is False
    assert (items_of(place, first.batch_id), place.everything(first.batch_id)) == (ended, files)


def test_a_changed_table_is_refused_and_its_changed_steps_are_named(place: Place) -> None:
    """A slip of the hand must not run everything again, nor pass a changed step off as done."""
    batch_id = place.submit(TWO)
    changed = {**TWO, "two": [step("only", "false")]}

    with pytest.raises(UsageError, match=rf"not what became batch {batch_id}; changed: .*two\.only") as caught:
        place.submit(changed)

    assert "--new" in caught.value.hint
    assert len(items_of(place, batch_id)) == 2


def test_another_table_with_a_known_id_is_refused(place: Place) -> None:
    """Ids are promises to whoever wrote them down."""
    submit(place.harness, place.read(place.write("a.json", TWO, batch_id="mine")))

    with pytest.raises(UsageError, match=r"b\.json is not what became batch mine; changed: .*two"):
        submit(place.harness, place.read(place.write("b.json", {"one": TWO["one"]}, batch_id="mine")))


def test_a_table_with_a_new_id_is_another_batch(place: Place) -> None:
    table = place.read(place.write("table.json", TWO))
    first = submit(place.harness, table)
    second = submit(place.harness, replace(table, batch_id=BatchId(f"{table.batch_id}-again")), new=True)

    assert first.created
    assert second.created
    assert first.batch_id != second.batch_id


def test_files_of_a_submission_that_died_after_its_commit_are_written_by_the_next_start(place: Place) -> None:
    """The commit is the acknowledgement; the files follow from it, whoever writes them."""
    table, harness = place.read(place.write("table.json", TWO)), place.harness
    store = harness.open_store()
    now = harness.clock.now()
    assert store.submit(_batch(harness, table, now), at=now).created
    store.close()
    assert not (place.root / "runs" / table.batch_id).exists()
    assert verify(place.harness).findings == ()

    assert place.work(table.batch_id).settled

    assert {"batch_meta.json", ".teamster/inputs.jsonl"} <= set(place.everything(table.batch_id))
    assert verify(place.harness).findings == ()


def test_the_record_of_a_batch_says_what_was_asked_for_and_never_changes(place: Place) -> None:
    """Whoever reads it later learns what was asked for, not what became of it."""
    batch_id = place.submit({"bad": [step("only", "exit 1")], **TWO})
    path = place.root / "runs" / batch_id / "batch_meta.json"
    before = path.read_bytes()
    place.work(batch_id)
    retry(place.harness, batch_id)
    place.work(batch_id)

    record = json.loads(before)
    assert path.read_bytes() == before
    assert {"batch_id", "spec_version", "submitted_at", "harness_config_version", "batch_goal_summary"} <= set(record)
    assert record["batch_id"] == batch_id
    assert {"launch_table", "launch_table_sha256", "effective_defaults"} <= set(record)
    jobs = {job["job_id"]: job for job in record["jobs"]}
    assert set(jobs) == {"bad", "one", "two"}
    assert jobs["one"]["working_directory"] == str(place.folder / "work")
    second = jobs["one"]["steps"][1]
    assert second["step_id"] == "second"
    assert "first" in json.dumps(second["depends_on"])
    assert second["resume_from"] is None
    ran = [attempt.name.partition("_")[2] for attempt in place.attempts(batch_id, "one", "first")]
    assert ran
    assert ran[0] not in before.decode()
    assert "succeeded" not in before.decode()


@pytest.mark.req("PH-6.4a", "PH-6.4b", "PH-14")
def test_what_the_harness_is_set_to_is_kept_with_the_batch(place: Place) -> None:
    """Who reads the batch next year finds what held then."""
    batch_id = place.submit(TWO)
    system = place.root / "runs" / "_system"
    record = json.loads((place.root / "runs" / batch_id / "batch_meta.json").read_bytes())

    snapshot = json.loads((system / "harness_config.json").read_bytes())
    (kept,) = (system / "harness_config_versions").iterdir()

    assert record["harness_config_version"] == snapshot["harness_config_version"] == kept.stem
    assert snapshot["limits"]["slots"] == place.harness.settings.slots
    assert snapshot["choices"]["workspace_mode"] == "shared"
    assert snapshot["choices"]["retry_thread"]["agent_failed"] == "fresh"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o444
    assert verify(place.harness).is_clean


def test_a_version_that_is_gone_is_missed(place: Place) -> None:
    """A batch without it can't be interpreted any more."""
    place.submit(TWO)
    (kept,) = (place.root / "runs" / "_system" / "harness_config_versions").iterdir()
    kept.unlink()

    (finding,) = verify(place.harness).findings

    assert finding.rule is Rule.MISSING
    assert f"configuration {kept.stem} is not kept" in finding.fact


@pytest.mark.req("DC-rec", "DC-ver", "DC-target", "DC-events")
def test_what_becomes_of_a_table_are_records_of_contract_v1_from_first_to_last(place: Place) -> None:
    """Workers of other programs read them; their keys name the steps."""
    batch_id = place.submit(TWO)
    queued = items_of(place, batch_id)
    place.work(batch_id)
    ended = items_of(place, batch_id)

    read = [record_from_json(value) for value in (*queued, *ended)]

    assert [record.to_json() for record in read] == [*queued, *ended]
    assert [history_faults(record) for record in read] == [()] * len(read)
    assert sorted(record.dedupe_key for record in read[len(queued) :]) == [
        f"step:{batch_id}/{step}/1" for step in ("one/first", "one/second", "two/only")
    ]
