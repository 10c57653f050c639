"""The JSON documents of the runs store: values in, values out.

A document with a fault can't be built. Keys come in a fixed order, moments in UTC with `Z`, paths relative to the
root. Moments, prompts and policies come in; nothing here looks at a clock or a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from teamster.artifacts.faults import batch_meta_faults, meta_faults, state_faults
from teamster.kit import digest, iso, one_line, sha256
from teamster.model import FINAL_ATTEMPT_STATUSES, AttemptStatus, JsonObject, RunId, RunnerId, StepId, StepKey

ERRORS_MAX: Final = 20
ERROR_CHARACTERS_MAX: Final = 500
CURRENT_ITEM_CHARACTERS_MAX: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedResume:
    """The resolved source of a resume. `resume_base_dir` is the source's `codex_home/`, relative to the root."""

    step_id: StepId
    run_id: RunId
    resume_base_dir: str
    source_session_sha256: str
    codex_thread_id: str | None = None


def batch_meta(
    table: JsonObject,
    *,
    submitted_at: datetime,
    harness_config_version: str,
    effective_defaults: JsonObject,
    extra: JsonObject | None = None,
) -> JsonObject:
    """Build `batch_meta.json` from the normalised table: what was asked for, never what became of it.

    Raises:
        ValueError: the table lacks what PH-7.1.1 wants.
    """
    return _whole(
        {
            "batch_id": table.get("batch_id"),
            "spec_version": table.get("spec_version"),
            "submitted_at": iso(submitted_at),
            "harness_config_version": harness_config_version,
            "batch_goal_summary": table.get("batch_goal_summary"),
            "launch_table": table,
            "launch_table_sha256": digest(table),
            "jobs": [_planned_job(job) for job in table.get("jobs", ())],
            "effective_defaults": effective_defaults,
            **(extra or {}),
        },
        batch_meta_faults,
    )


def meta(
    *,
    step: StepKey,
    run_id: RunId,
    runner_id: RunnerId,
    created_at: datetime,
    prompt_sha256: str,
    policy: Mapping[str, Any],
    environment: Mapping[str, Any],
    workspace_policy: Mapping[str, Any],
    resume: ResolvedResume | None = None,
    extra: Mapping[str, Any] | None = None,
) -> JsonObject:
    """Build `meta.json`: who runs what, where, under which policy, and what it continues.

    `extra` holds fields of ours: `item_id`, `attempt`, `output_schema_sha256`, `shift_id`.

    Raises:
        ValueError: a field of PH-8.2.1 is missing or doesn't fit.
    """
    linkage: JsonObject = {"parent_run_id": None, "resume_from": None, "codex_thread_id": None}
    if resume is not None:
        source = {name: value for name, value in asdict(resume).items() if name != "codex_thread_id"}
        linkage = {
            "parent_run_id": resume.run_id,
            "resume_from": source,
            "codex_thread_id": resume.codex_thread_id,
        }
    return _whole(
        {
            "batch_id": step.batch_id,
            "job_id": step.job_id,
            "step_id": step.step_id,
            "run_id": run_id,
            "runner_id": runner_id,
            "created_at": iso(created_at),
            "invocation": "exec" if resume is None else "resume",
            **linkage,
            "prompt_sha256": prompt_sha256,
            "policy": dict(policy),
            "environment": dict(environment),
            "workspace_policy": dict(workspace_policy),
            **(extra or {}),
        },
        meta_faults,
    )


def queued() -> JsonObject:
    """Build the `state.json` of an attempt whose agent has not been started."""
    return _state(AttemptStatus.QUEUED)


def running(
    *, started_at: datetime, at: datetime | None = None, current_item: str | None = None, **facts: Any
) -> JsonObject:
    """Build the first `state.json` of a running attempt. `facts`: see `heartbeat`.

    Raises:
        ValueError: the beat lies before the start.
    """
    return _state(
        AttemptStatus.RUNNING,
        started_at=started_at,
        last_heartbeat_at=at or started_at,
        current_item=current_item,
        **facts,
    )


def heartbeat(
    state: JsonObject,
    *,
    at: datetime,
    current_item: str | None = None,
    codex_thread_id: str | None = None,
    usage: JsonObject | None = None,
    artifacts: Sequence[JsonObject] | None = None,
) -> JsonObject:
    """Build the next `state.json` of a running attempt; what isn't given stays.

    Raises:
        ValueError: the attempt isn't running, or the beat lies before its start.
    """
    if state.get("status") != AttemptStatus.RUNNING:
        raise ValueError(f"only a running attempt has a heartbeat, this one is {state.get('status')}")
    given = {"codex_thread_id": codex_thread_id, "usage": usage, "artifacts": artifacts}
    return _whole(
        {
            **state,
            "last_heartbeat_at": iso(at),
            "current_item": state["current_item"] if current_item is None else _item_line(current_item),
            **{name: value for name, value in given.items() if value is not None},
        },
        state_faults,
    )


def terminal(status: AttemptStatus, *, started_at: datetime, ended_at: datetime, **facts: Any) -> JsonObject:
    """Build the last `state.json`.

    `facts`: `reason` and `failure_class` (both not for a success), `exit_code`, `signal`, `artifacts`, `errors`,
    `session_sha256`, `codex_thread_id`, `usage`, `current_item`, `last_heartbeat_at`.

    Raises:
        ValueError: the status isn't final, or the facts contradict it.
    """
    if status not in FINAL_ATTEMPT_STATUSES:
        raise ValueError(f"{status} is not the end of an attempt")
    last_heartbeat_at = facts.pop("last_heartbeat_at", None) or ended_at
    return _state(status, started_at=started_at, ended_at=ended_at, last_heartbeat_at=last_heartbeat_at, **facts)


def files_touched(
    *, run_id: RunId, files: Sequence[tuple[str, str]], shared: bool, truncated: bool = False
) -> JsonObject:
    """Build `files_touched.json` from paths and what happened to each; it says when neighbours may have a part."""
    return {
        "run_id": run_id,
        "best_effort": True,
        "may_include_neighbours": shared,
        "truncated": truncated,
        "files": [{"path": path, "change": change} for path, change in sorted(files)],
    }


def manifest(run_id: RunId, files: Mapping[str, tuple[str, int]], *, is_partial: bool = False) -> JsonObject:
    """Build the list of an ended attempt's files: name to digest and size, `state.json` included.

    A partial one was promised by somebody who could not see the directory: it is made whole before it is written.
    """
    return {
        "version": 1,
        "run_id": run_id,
        **({"partial": True} if is_partial else {}),
        "files": {name: {"sha256": files[name][0], "bytes": files[name][1]} for name in sorted(files)},
    }


def manifest_entry(content: bytes) -> tuple[str, int]:
    """Return what a manifest says about a file with this content."""
    return sha256(content), len(content)


def _state(status: AttemptStatus, **facts: Any) -> JsonObject:
    known: JsonObject = {
        "status": status.value,
        "started_at": None,
        "ended_at": None,
        "last_heartbeat_at": None,
        "current_item": None,
        "exit_code": None,
        "signal": None,
        "reason": None,
        "failure_class": None,
        "artifacts": [],
        "errors": [],
        "codex_thread_id": None,
        "session_sha256": None,
        "usage": None,
    }
    if unknown := facts.keys() - known.keys():
        raise ValueError(f"state.json has no {', '.join(sorted(unknown))}")
    errors = [one_line(str(error), characters_max=ERROR_CHARACTERS_MAX) for error in facts.pop("errors", ())]
    moments = {name: iso(value) for name, value in facts.items() if isinstance(value, datetime)}
    item = facts.pop("current_item", None)
    value = {
        **known,
        **facts,
        **moments,
        "current_item": None if item is None else _item_line(item),
        "artifacts": list(facts.get("artifacts", ())),
        "errors": errors[:ERRORS_MAX],
    }
    return _whole(value, state_faults)


def _planned_job(job: Mapping[str, Any]) -> JsonObject:
    return {
        "job_id": job.get("job_id"),
        "working_directory": job.get("working_directory"),
        "steps": [
            {
                "step_id": step.get("step_id"),
                "depends_on": list(step.get("depends_on") or ()),
                "resume_from": step.get("resume_from"),
            }
            for step in job.get("steps", ())
        ],
    }


def _item_line(text: str) -> str:
    return one_line(text, characters_max=CURRENT_ITEM_CHARACTERS_MAX)


def _whole(value: JsonObject, faults_of: Callable[[Mapping[str, Any]], list[str]]) -> JsonObject:
    if faults := faults_of(value):
        raise ValueError("; ".join(faults))
    return value
