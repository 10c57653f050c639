"""`current.json`: which attempt, and which resume base, each step of a job has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from teamster.artifacts.layout import codex_home
from teamster.kit import iso
from teamster.model import Attempt, AttemptStatus, BatchId, JobId, JsonObject

STEP_KEYS: Final = frozenset({"latest", "latest_successful", "by_run_id"})
POINTER_KEYS: Final = ("run_id", "attempt_dir", "resume_base_dir")
RUN_KEYS: Final = ("attempt_dir", "resume_base_dir", "status", "ended_at")


def pointers(*, batch_id: BatchId, job_id: JobId, attempts: Sequence[Attempt], updated_at: datetime) -> JsonObject:
    """Build a job's pointers from all of its attempts, oldest first. Nothing else goes into them.

    Raises:
        ValueError: an attempt belongs to another job.
    """
    steps: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if (attempt.step.batch_id, attempt.step.job_id) != (batch_id, job_id):
            raise ValueError(f"{attempt.run_id} belongs to {attempt.step}, not to job {job_id} of batch {batch_id}")
        steps.setdefault(attempt.step.step_id, []).append(attempt)
    return {
        "batch_id": batch_id,
        "job_id": job_id,
        "updated_at": iso(updated_at),
        "steps": {step_id: _step(found) for step_id, found in sorted(steps.items())},
    }


def pointers_faults(value: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with the shape of a `current.json`."""
    faults = [f"lacks {name}" for name in ("batch_id", "job_id", "updated_at", "steps") if value.get(name) is None]
    if not isinstance(value.get("steps", {}), Mapping):
        return [*faults, "steps is no map"]
    for step_id, step in value.get("steps", {}).items():
        faults += [f"step {step_id} {fault}" for fault in _step_faults(step)]
    return faults


def _step_faults(step: Any) -> list[str]:
    if not isinstance(step, Mapping):
        return ["is no map"]
    faults = [f"holds {key}, which is no pointer" for key in sorted(step.keys() - STEP_KEYS)]
    pointers = [step.get("latest"), *([step["latest_successful"]] if "latest_successful" in step else [])]
    if any(not _has(pointer, POINTER_KEYS) for pointer in pointers):
        faults.append(f"has a pointer that lacks one of {', '.join(POINTER_KEYS)}")
    runs = step.get("by_run_id")
    if not isinstance(runs, Mapping) or any(not _has(run, RUN_KEYS) for run in runs.values()):
        faults.append(f"has a run in by_run_id that lacks one of {', '.join(RUN_KEYS)}")
    return faults


def _has(value: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(value, Mapping) and all(key in value for key in keys)


def _step(attempts: Sequence[Attempt]) -> JsonObject:
    value: JsonObject = {"latest": _pointer(attempts[-1])}
    successful = _last(attempt for attempt in attempts if attempt.status is AttemptStatus.SUCCEEDED)
    if successful is not None:
        value["latest_successful"] = _pointer(successful)
    value["by_run_id"] = {
        attempt.run_id: {
            **_place(attempt),
            "status": attempt.status.value,
            "ended_at": None if attempt.ended_at is None else iso(attempt.ended_at),
        }
        for attempt in attempts
    }
    return value


def _pointer(attempt: Attempt) -> JsonObject:
    thread_id = attempt.facts.get("codex_thread_id")
    return {
        "run_id": attempt.run_id,
        **_place(attempt),
        **({} if thread_id is None else {"codex_thread_id": thread_id}),
    }


def _place(attempt: Attempt) -> JsonObject:
    return {
        "attempt_dir": f"{attempt.directory}/",
        "resume_base_dir": f"{codex_home(attempt.directory)}/",
    }


def _last(attempts: Iterable[Attempt]) -> Attempt | None:
    found = None
    for attempt in attempts:
        found = attempt
    return found
