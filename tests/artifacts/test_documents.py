"""The documents: what is built has no fault, and each fault that was read is named."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from artifacts.samples import BATCH, ENVIRONMENT, FIRST, GOAL, SECOND, START, table
from teamster.artifacts import (
    ResolvedResume,
    batch_meta,
    batch_meta_faults,
    files_touched,
    heartbeat,
    manifest,
    manifest_entry,
    meta,
    meta_faults,
    queued,
    running,
    state_faults,
    terminal,
)
from teamster.artifacts.documents import CURRENT_ITEM_CHARACTERS_MAX, ERROR_CHARACTERS_MAX, ERRORS_MAX
from teamster.artifacts.faults import ENVIRONMENT_KEYS, POLICY_KEYS
from teamster.kit import iso, sha256
from teamster.model import (
    ATTEMPT_MOVES,
    FINAL_ATTEMPT_STATUSES,
    GOAL_WORDS_MIN,
    AttemptStatus,
    ExecutionPolicy,
    JsonObject,
    RunId,
    RunnerId,
    StepId,
)

S = AttemptStatus
LATER = START + timedelta(seconds=90)
SOURCE = ResolvedResume(
    step_id=StepId("s1"),
    run_id=RunId("run_1"),
    resume_base_dir="runs/b1/j1/steps/s1/attempts/20260114T173000Z_run_1/codex_home/",
    source_session_sha256="a" * 64,
    codex_thread_id="0199a213-81c0-7800-8aa1-bbab2a035a53",
)


def record(resume: ResolvedResume | None = None) -> JsonObject:
    return meta(
        step=SECOND,
        run_id=RunId("run_2"),
        runner_id=RunnerId("runner_1"),
        created_at=START,
        prompt_sha256="b" * 64,
        policy=ExecutionPolicy().to_json(),
        environment=ENVIRONMENT,
        workspace_policy={"mode": "shared"},
        resume=resume,
        extra={"item_id": "item_1", "attempt": 1},
    )


def submission() -> JsonObject:
    return batch_meta(
        table(FIRST, SECOND).to_json(),
        submitted_at=START,
        harness_config_version="1",
        effective_defaults={"timeout_seconds": 3600},
    )


def end(status: AttemptStatus, **facts: Any) -> JsonObject:
    reason = {} if status is S.SUCCEEDED else {"reason": "why"}
    return terminal(status, started_at=START, ended_at=LATER, **{**reason, **facts})


# meta.json


@pytest.mark.req("PH-8.2.1m", "PH-5.2")
def test_meta_says_who_runs_what_under_which_policy() -> None:
    """Years later it is the only witness."""
    value = record()

    assert {name: value[name] for name in ("batch_id", "job_id", "step_id", "run_id", "runner_id")} == {
        "batch_id": "b1",
        "job_id": "j1",
        "step_id": "s2",
        "run_id": "run_2",
        "runner_id": "runner_1",
    }
    assert (value["invocation"], value["parent_run_id"], value["resume_from"]) == ("exec", None, None)
    assert value["prompt_sha256"] == "b" * 64
    assert (
        value["policy"].items()
        >= {
            "sandbox": "workspace-write",
            "approval_policy": "never",
            "web_search_enabled": False,
        }.items()
    )
    assert value["environment"] == ENVIRONMENT
    assert value["workspace_policy"] == {"mode": "shared"}
    assert value["item_id"] == "item_1"


@pytest.mark.req("PH-8.2.1m", "PH-5.3b")
def test_a_resume_names_its_source_its_base_and_its_thread() -> None:
    """The chain of a conversation can be walked back from any of its runs."""
    value = record(SOURCE)

    assert value["invocation"] == "resume"
    assert value["parent_run_id"] == "run_1"
    assert value["codex_thread_id"] == SOURCE.codex_thread_id
    assert value["resume_from"] == {
        "step_id": "s1",
        "run_id": "run_1",
        "resume_base_dir": SOURCE.resume_base_dir,
        "source_session_sha256": "a" * 64,
    }


META_DAMAGES: dict[str, dict[str, Any]] = {
    **{f"lacks {name}": {name: None} for name in ("batch_id", "created_at", "policy", "workspace_policy")},
    **{f"{name} is not an id": {name: "a/b"} for name in ("job_id", "step_id", "run_id", "runner_id")},
    "created_at is no moment": {"created_at": "yesterday"},
    "created_at is not in UTC with Z": {"created_at": "2026-01-14T18:30:00+01:00"},
    "names no prompt": {"prompt_sha256": ""},
    **{f"policy lacks {key}": {"policy": dict.fromkeys(set(POLICY_KEYS) - {key})} for key in POLICY_KEYS},
    **{
        f"environment lacks {key}": {"environment": dict.fromkeys(set(ENVIRONMENT_KEYS) - {key})}
        for key in ENVIRONMENT_KEYS
    },
    "workspace_policy has no mode": {"workspace_policy": {"mode": "elsewhere"}},
    "invocation 'fork' is neither": {"invocation": "fork"},
    "invocation exec has a parent_run_id": {"invocation": "exec", "resume_from": None},
    "parent_run_id is not the source's run": {"parent_run_id": "run_9"},
    "resume_from lacks one of": {"resume_from": {"step_id": "s1"}},
}


@pytest.mark.req("PH-8.2.1m")
@pytest.mark.parametrize("fault", META_DAMAGES)
def test_each_fault_of_a_meta_is_named(fault: str) -> None:
    """Field by field: what is required is missed when it is gone."""
    assert meta_faults(record(SOURCE)) == []
    assert any(found.startswith(fault) for found in meta_faults({**record(SOURCE), **META_DAMAGES[fault]}))


def test_a_document_with_a_fault_can_not_be_built() -> None:
    """Nothing that `verify` would complain about leaves our hands."""
    with pytest.raises(ValueError, match="policy lacks sandbox"):
        meta(
            step=FIRST,
            run_id=RunId("run_1"),
            runner_id=RunnerId("runner_1"),
            created_at=START,
            prompt_sha256="b" * 64,
            policy={},
            environment=ENVIRONMENT,
            workspace_policy={"mode": "shared"},
        )


# state.json


@pytest.mark.req("PH-8.2.1s")
def test_a_state_has_all_fields_in_each_status() -> None:
    """A reader must not have to ask which fields there are."""
    states = [queued(), running(started_at=START), *(end(status) for status in sorted(FINAL_ATTEMPT_STATUSES))]
    fields = {
        "status",
        "started_at",
        "ended_at",
        "last_heartbeat_at",
        "current_item",
        "exit_code",
        "reason",
        "artifacts",
        "errors",
    }

    assert {state["status"] for state in states} == {status.value for status in AttemptStatus}
    assert all(fields <= state.keys() for state in states)
    assert len({tuple(state) for state in states}) == 1
    assert all(state_faults(state) == [] for state in states)


@pytest.mark.req("PH-8.2.1s")
def test_started_from_running_on_and_ended_when_terminal() -> None:
    assert (queued()["started_at"], queued()["ended_at"]) == (None, None)
    assert (running(started_at=START)["started_at"], running(started_at=START)["ended_at"]) == (iso(START), None)
    for status in FINAL_ATTEMPT_STATUSES:
        assert (end(status)["started_at"], end(status)["ended_at"]) == (iso(START), iso(LATER))


@pytest.mark.req("PH-8.2.1s")
def test_a_terminal_status_leads_nowhere() -> None:
    """The table of moves and the builders agree: only a running attempt has a next state."""
    assert {status for status, moves in ATTEMPT_MOVES.items() if not moves} == FINAL_ATTEMPT_STATUSES
    for state in (queued(), *(end(status) for status in FINAL_ATTEMPT_STATUSES)):
        with pytest.raises(ValueError, match="only a running attempt has a heartbeat"):
            heartbeat(state, at=LATER)
    for status in set(AttemptStatus) - FINAL_ATTEMPT_STATUSES:
        with pytest.raises(ValueError, match="is not the end of an attempt"):
            terminal(status, started_at=START, ended_at=LATER)


def test_a_heartbeat_changes_what_it_is_given_and_keeps_the_rest() -> None:
    state = running(started_at=START, current_item="reading", codex_thread_id="t1")
    later = heartbeat(state, at=LATER, usage={"input": 1}, artifacts=[{"path": "a"}])

    assert later == {
        **state,
        "last_heartbeat_at": iso(LATER),
        "usage": {"input": 1},
        "artifacts": [{"path": "a"}],
    }
    assert heartbeat(later, at=LATER, current_item="testing")["current_item"] == "testing"


def test_an_activity_can_neither_fill_the_scoreboard_nor_steer_a_terminal() -> None:
    """It is what an agent printed."""
    item = running(started_at=START, current_item="x\n\x1b[2J" + "y" * 500)["current_item"]

    assert len(item) <= CURRENT_ITEM_CHARACTERS_MAX
    assert item.isprintable()


@pytest.mark.req("PH-8.2.1s")
def test_errors_are_summaries() -> None:
    """No traces: a scoreboard reads this file for each attempt."""
    state = end(S.FAILED, errors=["line one\nline two", "x" * 9000, *["more"] * 100])

    assert len(state["errors"]) == ERRORS_MAX
    assert state["errors"][0] == "line one line two"
    assert max(len(error) for error in state["errors"]) <= ERROR_CHARACTERS_MAX


STATE_DAMAGES: dict[str, tuple[AttemptStatus, dict[str, Any]]] = {
    "status 'done' is none of PH's": (S.RUNNING, {"status": "done"}),
    "lacks artifacts": (S.RUNNING, {"artifacts": None}),
    "lacks errors": (S.RUNNING, {"errors": None}),
    "started_at is no moment": (S.RUNNING, {"started_at": 5}),
    "running and started_at None disagree": (S.RUNNING, {"started_at": None}),
    "queued and started_at": (S.QUEUED, {"started_at": iso(START)}),
    "running and ended_at": (S.RUNNING, {"ended_at": iso(LATER)}),
    "succeeded and ended_at None disagree": (S.SUCCEEDED, {"ended_at": None}),
    f"{iso(START)} lies before started_at": (S.SUCCEEDED, {"started_at": iso(LATER), "ended_at": iso(START)}),
    "running has exit_code": (S.RUNNING, {"exit_code": 0}),
    "succeeded has a failure_class": (S.SUCCEEDED, {"failure_class": "timeout"}),
    "succeeded has exit_code other than 0": (S.SUCCEEDED, {"exit_code": 1}),
    "failed has no reason": (S.FAILED, {"reason": None}),
}


@pytest.mark.req("PH-8.2.1s")
@pytest.mark.parametrize("fault", STATE_DAMAGES)
def test_each_fault_of_a_state_is_named(fault: str) -> None:
    status, changes = STATE_DAMAGES[fault]
    states = {S.QUEUED: queued(), S.RUNNING: running(started_at=START)}
    state = states.get(status) or end(status)

    assert state_faults(state) == []
    assert any(found.startswith(fault) for found in state_faults({**state, **changes}))


def test_a_state_takes_no_field_that_nobody_knows() -> None:
    with pytest.raises(ValueError, match=r"state\.json has no colour"):
        end(S.FAILED, colour="red")


# batch_meta.json


@pytest.mark.req("PH-7.1.1")
def test_the_record_of_a_submission_says_what_was_asked_for() -> None:
    value = submission()
    steps = {step["step_id"]: step for step in value["jobs"][0]["steps"]}

    assert (value["batch_id"], value["spec_version"], value["harness_config_version"]) == (BATCH, "1.0.0", "1")
    assert value["batch_goal_summary"] == GOAL
    assert value["submitted_at"] == iso(START)
    assert value["launch_table"] == table(FIRST, SECOND).to_json()
    assert (value["jobs"][0]["job_id"], value["jobs"][0]["working_directory"]) == ("j1", "/somewhere")
    assert steps.keys() == {"s1", "s2"}
    assert steps["s1"] == {"step_id": "s1", "depends_on": [], "resume_from": None}
    assert value["effective_defaults"] == {"timeout_seconds": 3600}
    assert batch_meta_faults(value) == []


def job(**changes: Any) -> dict[str, Any]:
    return {"jobs": [{**submission()["jobs"][0], **changes}]}


BATCH_DAMAGES: dict[str, dict[str, Any]] = {
    **{
        f"lacks {name}": {name: None}
        for name in ("batch_id", "submitted_at", "harness_config_version", "effective_defaults")
    },
    "submitted_at is no moment": {"submitted_at": "soon"},
    "its launch_table does not have the digest": {"launch_table": {}},
    "batch_goal_summary has fewer": {"batch_goal_summary": "word " * (GOAL_WORDS_MIN - 1)},
    "a job has no job_id": {"jobs": [5]},
    "job j1 has no working_directory": job(working_directory=None),
    "job j1 has no steps": job(steps="none"),
    "a step of job j1 is no map": job(steps=[5]),
    "a step of job j1 has no step_id": job(steps=[{"depends_on": [], "resume_from": None}]),
    "step j1.s1 doesn't say what it waits for": job(steps=[{"step_id": "s1"}]),
    "job j1 holds status, a result": job(status="succeeded"),
    "job j1 holds latest, a result": job(
        steps=[{"step_id": "s1", "depends_on": [], "resume_from": None, "latest": {}}]
    ),
}


@pytest.mark.req("PH-7.1.1")
@pytest.mark.parametrize("fault", BATCH_DAMAGES)
def test_each_fault_of_a_submission_is_named(fault: str) -> None:
    """Results are faults too: the record never changes, so they would be lies tomorrow."""
    assert any(found.startswith(fault) for found in batch_meta_faults({**submission(), **BATCH_DAMAGES[fault]}))


def test_a_table_by_reference_needs_its_digest() -> None:
    value = {name: part for name, part in submission().items() if name != "launch_table"}

    assert "has neither the launch table nor a reference to it" in batch_meta_faults(value)
    assert batch_meta_faults({**value, "launch_table_ref": "tables/b1.json"}) == []


# the others


def test_what_was_touched_says_when_neighbours_may_have_a_part_in_it() -> None:
    """In a shared workspace nobody can tell whose change it was."""
    value = files_touched(run_id=RunId("run_1"), files=[("b", "modified"), ("a", "added")], shared=True)

    assert value["files"] == [{"path": "a", "change": "added"}, {"path": "b", "change": "modified"}]
    assert (value["best_effort"], value["may_include_neighbours"], value["truncated"]) == (True, True, False)


def test_a_manifest_lists_files_by_name() -> None:
    value = manifest(RunId("run_1"), {"b": manifest_entry(b"x"), "a": manifest_entry(b"")})

    assert list(value["files"]) == ["a", "b"]
    assert value["files"]["b"] == {"sha256": sha256(b"x"), "bytes": 1}
