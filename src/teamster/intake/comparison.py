"""What differs between two tables, said so that a person finds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from teamster.model import JsonObject, Table

THE_TABLE = "the table"
_IN_STEPS = {"steps"}
_IN_JOBS = {"jobs"}
_DERIVED = {"prompt_sha256"}


def changed_steps(old: Table, new: Table) -> tuple[str, ...]:
    """Name what differs: `job.step: added`, `job.step: removed`, `job.step: prompt, timeout_seconds`.

    What stands above the steps comes first, as `the table: concurrency` and `job: labels`. Ids of batches and
    sources don't count: the result is empty exactly where the digests are equal.
    """
    return tuple(_changes(old.content(), new.content()))


def _changes(old: JsonObject, new: JsonObject) -> Iterator[str]:
    if keys := _differing(old, new, but=_IN_JOBS):
        yield f"{THE_TABLE}: {keys}"
    before, after = _by_id(old["jobs"], "job_id"), _by_id(new["jobs"], "job_id")
    if list(before) != list(after) and set(before) == set(after):
        yield f"{THE_TABLE}: order of jobs"
    for job_id in {**before, **after}:
        was, now = before.get(job_id), after.get(job_id)
        if was and now and (keys := _differing(was, now, but=_IN_STEPS)):
            yield f"{job_id}: {keys}"
        yield from _steps(job_id, was, now)


def _steps(job_id: str, was: JsonObject | None, now: JsonObject | None) -> Iterator[str]:
    before = _by_id(was["steps"], "step_id") if was else {}
    after = _by_id(now["steps"], "step_id") if now else {}
    if list(before) != list(after) and set(before) == set(after):
        yield f"{job_id}: order of steps"
    for step_id in {**before, **after}:
        name = f"{job_id}.{step_id}"
        if step_id not in after:
            yield f"{name}: removed"
        elif step_id not in before:
            yield f"{name}: added"
        elif keys := _differing(before[step_id], after[step_id], but=_DERIVED):
            yield f"{name}: {keys}"


def _by_id(items: list[JsonObject], name: str) -> dict[str, JsonObject]:
    return {item[name]: item for item in items}


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], *, but: set[str]) -> str:
    return ", ".join(key for key in {**old, **new} if key not in but and old.get(key) != new.get(key))
