"""What is wrong with a document of the runs store: builders and `verify` share this judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from teamster.kit import digest, from_iso
from teamster.model import FINAL_ATTEMPT_STATUSES, GOAL_WORDS_MIN, AttemptStatus, is_id

POLICY_KEYS: Final = ("sandbox", "approval_policy", "web_search_enabled", "model")
ENVIRONMENT_KEYS: Final = ("teamster_version", "agent", "agent_version", "python", "platform", "working_directory")
WORKSPACE_MODES: Final = ("shared", "isolated")
# What PH-7.1.1 forbids in the record of a submission: results belong to attempts and pointers.
RESULT_KEYS: Final = frozenset({"status", "run_ids", "by_run_id", "latest", "latest_successful", "exit_code"})


def batch_meta_faults(value: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with a `batch_meta.json`."""
    faults = _missing(value, "batch_id", "submitted_at", "harness_config_version", "batch_goal_summary", "jobs")
    faults += _missing(value, "effective_defaults") + _bad_moments(value, "submitted_at")
    if "launch_table" not in value and not {"launch_table_ref", "launch_table_sha256"} <= value.keys():
        faults.append("has neither the launch table nor a reference to it")
    elif "launch_table" in value and value.get("launch_table_sha256") != digest(value["launch_table"]):
        faults.append("its launch_table does not have the digest launch_table_sha256")
    if not faults and len(str(value["batch_goal_summary"]).split()) < GOAL_WORDS_MIN:
        faults.append(f"batch_goal_summary has fewer than {GOAL_WORDS_MIN} words")
    jobs = value.get("jobs")
    for job in jobs if isinstance(jobs, list) else ():
        faults += _job_faults(job)
    return faults


def meta_faults(value: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with a `meta.json`."""
    ids = ("batch_id", "job_id", "step_id", "run_id", "runner_id")
    faults = _missing(value, *ids, "created_at", "policy", "environment", "workspace_policy", "invocation")
    faults += [f"{name} is not an id" for name in ids if name in value and not _is_id(value[name])]
    faults += _bad_moments(value, "created_at")
    if not (value.get("prompt_sha256") or value.get("prompt_ref")):
        faults.append("names no prompt (prompt_sha256 or prompt_ref)")
    for name, keys in (("policy", POLICY_KEYS), ("environment", ENVIRONMENT_KEYS)):
        part = value.get(name)
        absent = [key for key in keys if not isinstance(part, Mapping) or key not in part]
        faults += [f"{name} lacks {key}" for key in absent]
    workspace = value.get("workspace_policy")
    if not isinstance(workspace, Mapping) or workspace.get("mode") not in WORKSPACE_MODES:
        faults.append(f"workspace_policy has no mode of {', '.join(WORKSPACE_MODES)}")
    return faults + _linkage_faults(value)


def state_faults(value: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with a `state.json`."""
    try:
        status = AttemptStatus(str(value.get("status")))
    except ValueError:
        return [f"status {value.get('status')!r} is none of PH's"]
    faults = _missing(value, "artifacts", "errors") + _bad_moments(value, "started_at", "ended_at", "last_heartbeat_at")
    if faults:
        return faults
    final, started, ended = status in FINAL_ATTEMPT_STATUSES, value.get("started_at"), value.get("ended_at")
    if (started is None) != (status is AttemptStatus.QUEUED):
        faults.append(f"{status} and started_at {started} disagree")
    if (ended is None) == final:
        faults.append(f"{status} and ended_at {ended} disagree")
    last = ended or value.get("last_heartbeat_at")
    if started is not None and last is not None and from_iso(last) < from_iso(started):
        faults.append(f"{last} lies before started_at {started}")
    return faults + _end_faults(status, value, final=final)


def _end_faults(status: AttemptStatus, value: Mapping[str, Any], *, final: bool) -> list[str]:
    end_facts = [name for name in ("failure_class", "reason", "exit_code", "signal") if value.get(name) is not None]
    if not final:
        return [f"{status} has {name}, which belongs to an end" for name in end_facts]
    if status is AttemptStatus.SUCCEEDED:
        faults = [f"succeeded has a {name}" for name in ("failure_class", "signal") if name in end_facts]
        return faults + (["succeeded has exit_code other than 0"] if value.get("exit_code") not in {None, 0} else [])
    return [] if "reason" in end_facts else [f"{status} has no reason"]


def _job_faults(job: Any) -> list[str]:
    if not isinstance(job, Mapping) or not _is_id(job.get("job_id")):
        return ["a job has no job_id"]
    name = job["job_id"]
    faults = [f"job {name} has no working_directory"] if job.get("working_directory") is None else []
    found = job.get("steps")
    steps = found if isinstance(found, list) else []
    for step in steps:
        if not isinstance(step, Mapping):
            faults.append(f"a step of job {name} is no map")
            continue
        if not _is_id(step.get("step_id")):
            faults.append(f"a step of job {name} has no step_id")
        if "depends_on" not in step or "resume_from" not in step:
            faults.append(f"step {name}.{step.get('step_id')} doesn't say what it waits for")
        faults += [f"job {name} holds {key}, a result" for key in RESULT_KEYS & step.keys()]
    if not steps:
        faults.append(f"job {name} has no steps")
    return faults + [f"job {name} holds {key}, a result" for key in RESULT_KEYS & job.keys()]


def _linkage_faults(value: Mapping[str, Any]) -> list[str]:
    source = value.get("resume_from")
    match value.get("invocation"):
        case "exec":
            linked = [name for name in ("parent_run_id", "resume_from") if value.get(name) is not None]
            return [f"invocation exec has a {name}" for name in linked]
        case "resume":
            keys = ("step_id", "run_id", "resume_base_dir", "source_session_sha256")
            if not isinstance(source, Mapping) or any(not source.get(key) for key in keys):
                return [f"resume_from lacks one of {', '.join(keys)}"]
            return [] if value.get("parent_run_id") == source["run_id"] else ["parent_run_id is not the source's run"]
        case other:
            return [f"invocation {other!r} is neither exec nor resume"]


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and is_id(value)


def _missing(value: Mapping[str, Any], *names: str) -> list[str]:
    return [f"lacks {name}" for name in names if value.get(name) is None]


def _bad_moments(value: Mapping[str, Any], *names: str) -> list[str]:
    faults = []
    for name in names:
        moment = value.get(name)
        try:
            if moment is not None and not (from_iso(moment) and str(moment).endswith("Z")):
                faults.append(f"{name} is not in UTC with Z")
        except (TypeError, ValueError):
            faults.append(f"{name} is no moment")
    return faults
