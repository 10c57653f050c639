"""`current.json`: pointers, and nothing but pointers."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from artifacts.samples import BATCH, FIRST, OTHER, ROLLOUT, SECOND, START, Writer
from teamster.artifacts import (
    AttemptFile,
    Sealed,
    attempt_file,
    attempt_folder,
    codex_home,
    current_path,
    is_unchanged,
    pointers,
    pointers_faults,
    restore,
    session_files,
)
from teamster.kit import iso
from teamster.model import Attempt, AttemptStatus, ItemId, JsonObject, RunId, StepKey

S = AttemptStatus


def attempt(number: int, status: AttemptStatus, *, step: StepKey = FIRST, **facts: Any) -> Attempt:
    started_at = START + timedelta(minutes=number)
    run_id = RunId(f"run_{number}")
    return Attempt(
        run_id=run_id,
        item_id=ItemId("item_1"),
        step=step,
        number=number,
        directory=attempt_folder(step, run_id, started_at),
        status=status,
        started_at=started_at,
        ended_at=None if status in {S.QUEUED, S.RUNNING} else started_at + timedelta(seconds=30),
        facts=facts,
    )


def pointed(*attempts: Attempt) -> JsonObject:
    value = pointers(batch_id=BATCH, job_id=FIRST.job_id, attempts=attempts, updated_at=START)
    assert pointers_faults(value) == []
    return value


@pytest.mark.req("PH-8.3", "PH-5.2")
def test_a_job_points_at_the_newest_and_the_last_good_attempt_of_each_step() -> None:
    """An orchestrator finds the base to resume from without listing a folder."""
    first, good, bad = attempt(1, S.FAILED), attempt(2, S.SUCCEEDED, codex_thread_id="t2"), attempt(3, S.FAILED)
    value = pointed(first, good, bad)
    step = value["steps"]["s1"]

    assert (value["batch_id"], value["job_id"], value["updated_at"]) == ("b1", "j1", iso(START))
    assert step["latest"] == {
        "run_id": "run_3",
        "attempt_dir": f"{bad.directory}/",
        "resume_base_dir": f"{codex_home(bad.directory)}/",
    }
    assert step["latest_successful"] == {
        "run_id": "run_2",
        "attempt_dir": f"{good.directory}/",
        "resume_base_dir": f"{codex_home(good.directory)}/",
        "codex_thread_id": "t2",
    }
    assert list(step["by_run_id"]) == ["run_1", "run_2", "run_3"]
    assert step["by_run_id"]["run_1"] == {
        "attempt_dir": f"{first.directory}/",
        "resume_base_dir": f"{codex_home(first.directory)}/",
        "status": "failed",
        "ended_at": iso(first.ended_at or START),
    }


@pytest.mark.req("PH-8.3")
def test_it_is_written_at_the_start_too() -> None:
    """A running attempt is found before it has ended."""
    step = pointed(attempt(1, S.RUNNING))["steps"]["s1"]

    assert step["latest"]["run_id"] == "run_1"
    assert "latest_successful" not in step
    assert (step["by_run_id"]["run_1"]["status"], step["by_run_id"]["run_1"]["ended_at"]) == ("running", None)


@pytest.mark.req("PH-8.3")
def test_it_holds_no_reasons_errors_or_activity() -> None:
    """Those who want to know why open the attempt that it points at."""
    value = pointed(attempt(1, S.FAILED, failure_class="timeout", reason="slow", current_item="testing"))

    assert value.keys() == {"batch_id", "job_id", "updated_at", "steps"}
    assert value["steps"]["s1"].keys() == {"latest", "by_run_id"}
    assert value["steps"]["s1"]["latest"].keys() == {"run_id", "attempt_dir", "resume_base_dir"}
    assert value["steps"]["s1"]["by_run_id"]["run_1"].keys() == {
        "attempt_dir",
        "resume_base_dir",
        "status",
        "ended_at",
    }


@pytest.mark.req("PH-8.3", "PH-7.4")
@pytest.mark.parametrize("selector", ["latest", "latest_successful", "run_id"])
def test_each_selector_leads_to_a_base_that_can_be_restored(writer: Writer, tmp_path: Path, selector: str) -> None:
    """From the pointers alone: no folder is listed, no log is read."""
    value = json.loads(writer.root.at(current_path(BATCH, FIRST.job_id)).read_bytes())
    step = value["steps"]["s1"]
    pointer = step["by_run_id"]["run_1"] if selector == "run_id" else step[selector]
    session = writer.root.at(attempt_file(pointer["attempt_dir"].rstrip("/"), AttemptFile.SESSION))
    base = writer.root.at(pointer["resume_base_dir"])
    sealed = Sealed.from_bytes(session.read_bytes())
    restore(base, sealed, tmp_path / "fresh")

    assert session_files(tmp_path / "fresh") == (ROLLOUT,)
    assert (tmp_path / "fresh" / ROLLOUT).read_bytes() == b'{"turn of":"run_1"}\n'
    assert is_unchanged(base, sealed)


def test_steps_do_not_mix() -> None:
    value = pointed(attempt(1, S.SUCCEEDED), attempt(2, S.SUCCEEDED, step=SECOND))

    assert {step_id: step["latest"]["run_id"] for step_id, step in value["steps"].items()} == {
        "s1": "run_1",
        "s2": "run_2",
    }
    with pytest.raises(ValueError, match="not to job j1"):
        pointed(attempt(3, S.SUCCEEDED, step=OTHER))
    with pytest.raises(ValueError, match="not to job j1"):
        pointed(replace(attempt(3, S.SUCCEEDED), step=StepKey(RunId("b2"), FIRST.job_id, FIRST.step_id)))  # type: ignore[arg-type]


@pytest.mark.req("PH-8.3")
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"updated_at": None}, "lacks updated_at"),
        ({"steps": []}, "steps is no map"),
        ({"steps": {"s1": 1}}, "step s1 is no map"),
        ({"steps": {"s1": {"latest": {"run_id": "run_1"}, "by_run_id": {}}}}, "step s1 has a pointer that lacks"),
        ({"steps": {"s1": {"latest": None}}}, "step s1 has a run in by_run_id that lacks"),
        ({"steps": {"s1": {"blocked": "why"}}}, "step s1 holds blocked, which is no pointer"),
    ],
)
def test_each_fault_of_pointers_is_named(changes: dict[str, Any], fault: str) -> None:
    value = {**pointed(attempt(1, S.SUCCEEDED)), **changes}

    assert any(found.startswith(fault) for found in pointers_faults(value))
