"""One batch at a glance: how many steps are where, and which of them a person should look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from teamster.artifacts import EVIDENCE, AttemptFile, Root, attempt_file, batch_folder, batch_meta_path
from teamster.kit import from_iso, iso
from teamster.model import (
    OWNED_STATUSES,
    Attempt,
    BatchId,
    Item,
    ItemStatus,
    JobId,
    JsonObject,
    StepId,
    StepKey,
    StepStatus,
)
from teamster.store import Batch, Store, Waiting
from teamster.views.reading import read_json
from teamster.views.usage import total

STEPS_MAX: Final = 1_000_000
REASONS_SHOWN_MAX: Final = 6
ATTENTION: Final = (StepStatus.NEEDS_ATTENTION, StepStatus.FAILED)
ACTIVE: Final = (ItemStatus.QUEUED, ItemStatus.CLAIMED, ItemStatus.RUNNING, ItemStatus.STALLED)
_ENDED_BADLY: Final = (StepStatus.FAILED, StepStatus.NEEDS_ATTENTION, StepStatus.CANCELED)
_BY_CODE: Final = {"needs_attention": StepStatus.NEEDS_ATTENTION, "canceled": StepStatus.CANCELED}
_BY_ITEM: Final = {
    ItemStatus.QUEUED: StepStatus.READY,
    ItemStatus.STALLED: StepStatus.READY,
    ItemStatus.CLAIMED: StepStatus.RUNNING,
    ItemStatus.RUNNING: StepStatus.RUNNING,
    ItemStatus.SUCCEEDED: StepStatus.SUCCEEDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One step: where it is, and what to say about it in one line."""

    step: StepKey
    status: StepStatus
    note: str = ""
    run_id: str | None = None
    attempt_dir: str | None = None
    attempts: int = 0
    usage: JsonObject | None = None
    due_at: datetime | None = None
    started_at: datetime | None = None
    last_heartbeat_at: datetime | None = None

    def running_seconds(self, at: datetime) -> float | None:
        """Say how long it has run; None where it doesn't run."""
        return _since(self.started_at, at)

    def silent_seconds(self, at: datetime) -> float | None:
        """Say how long ago its harness was last seen watching it; None where it doesn't run."""
        return _since(self.last_heartbeat_at, at)

    def to_json(self, at: datetime) -> JsonObject:
        """Write it for a program, as it is at a moment."""
        return {
            "job_id": self.step.job_id,
            "step_id": self.step.step_id,
            "status": self.status.value,
            "note": self.note,
            "run_id": self.run_id,
            "attempt_dir": self.attempt_dir,
            "attempts": self.attempts,
            "usage": self.usage,
            "due_at": None if self.due_at is None else iso(self.due_at),
            "started_at": None if self.started_at is None else iso(self.started_at),
            "run_duration_seconds": self.running_seconds(at),
            "last_heartbeat_at": None if self.last_heartbeat_at is None else iso(self.last_heartbeat_at),
            "seconds_since_last_heartbeat": self.silent_seconds(at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoreboard:
    """A batch with its steps, in the order of its table."""

    batch_id: BatchId
    submitted_at: datetime
    computed_at: datetime
    goal: str
    jobs_total: int
    steps_total: int
    steps: tuple[StepRow, ...]
    is_settled: bool  # nothing in it can run any more
    superseded: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many steps have each status."""
        found = Counter(row.status for row in self.steps)
        return {status.value: found[status] for status in StepStatus}

    @property
    def attention(self) -> tuple[StepRow, ...]:
        """The steps that a person should look at, doubtful ones before failed ones."""
        return tuple(row for status in ATTENTION for row in self.steps if row.status is status)

    @property
    def usage(self) -> JsonObject | None:
        """What all attempts of the newest generation have used, as far as it is known."""
        return total(row.usage for row in self.steps)

    def to_json(self) -> JsonObject:
        """Write it for a program."""
        return {
            "batch_id": self.batch_id,
            "submitted_at": iso(self.submitted_at),
            "computed_at": iso(self.computed_at),
            "batch_goal_summary": self.goal,
            "jobs_total": self.jobs_total,
            "steps_total": self.steps_total,
            "settled": self.is_settled,
            "counts": dict(self.counts),
            "usage": self.usage,
            "attention": [row.to_json(self.computed_at) for row in self.attention],
            "steps": [row.to_json(self.computed_at) for row in self.steps],
            "superseded": list(self.superseded),
        }


def scoreboard(store: Store, root: Root, batch: Batch, *, at: datetime) -> Scoreboard:
    """Look at one batch."""
    items = store.items(batch_id=batch.batch_id, limit=STEPS_MAX)
    newest = _newest(items)
    rows = {step: _row(item, store, root) for step, item in newest.items()}
    for found in store.waiting(batch_id=batch.batch_id, limit=STEPS_MAX):
        # What waits again after a retry says so; a success of an earlier generation stays one.
        step = found.draft.step
        if step is not None and ((known := rows.get(step)) is None or known.status is not StepStatus.SUCCEEDED):
            rows[step] = _waiting(step, found, rows)
    places = _places(root, batch.batch_id)
    return Scoreboard(
        batch_id=batch.batch_id,
        submitted_at=batch.submitted_at,
        computed_at=at,
        goal=batch.meta["goal"],
        jobs_total=batch.meta["jobs_total"],
        steps_total=batch.meta["steps_total"],
        steps=tuple(sorted(rows.values(), key=lambda row: (places.get(row.step, len(places)), row.step))),
        is_settled=not any(item.status in ACTIVE for item in items),
        superseded=superseded(root, batch.batch_id),
    )


def superseded(root: Root, batch_id: BatchId, run_id: str = "") -> tuple[str, ...]:
    """Name the folders with what writers found after they had lost their lease: `<run_id>-<fence>`."""
    folder = root.at(f"{batch_folder(batch_id)}/{EVIDENCE}/superseded")
    found = (path.name for path in folder.glob("*-*"))
    return tuple(sorted(name for name in found if not run_id or name.rpartition("-")[0] == run_id))


def _newest(items: Sequence[Item]) -> Mapping[StepKey, Item]:
    """Choose each step's item to show: what runs, else what succeeded once, else the newest generation."""
    chosen: dict[StepKey, Item] = {}
    for item in items:
        known = chosen.get(_key(item))
        if known is None or _rank(known) <= _rank(item):
            chosen[_key(item)] = item
    return chosen


def _rank(item: Item) -> tuple[bool, bool, int]:
    return item.status in OWNED_STATUSES, item.status is ItemStatus.SUCCEEDED, item.generation


def _key(item: Item) -> StepKey:
    assert item.step is not None
    return item.step


def _places(root: Root, batch_id: BatchId) -> Mapping[StepKey, int]:
    """Say where each step stands in its table; nothing without a record that can be read."""
    record = read_json(root, batch_meta_path(batch_id)) or {}
    try:
        named = [(job["job_id"], step["step_id"]) for job in record["jobs"] for step in job["steps"]]
        return {StepKey(batch_id, JobId(job), StepId(step)): place for place, (job, step) in enumerate(named)}
    except (KeyError, TypeError):
        return {}


def _waiting(step: StepKey, found: Waiting, rows: Mapping[StepKey, StepRow]) -> StepRow:
    unmet, spoiled = [], []
    for need in found.unmet:
        ended = rows.get(need.step)
        if ended is not None and ended.status in _ENDED_BADLY:
            spoiled.append(f"{need.step} ({ended.status.value})")
        else:
            unmet.append(str(need.step))
    reasons = [*spoiled, *unmet]  # what will never come by itself is what a person must know first
    more = len(reasons) - REASONS_SHOWN_MAX
    shown = ", ".join(reasons[:REASONS_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
    return StepRow(step=step, status=StepStatus.BLOCKED, note=f"waits for {shown}")


def _row(item: Item, store: Store, root: Root) -> StepRow:
    facts: dict[str, Any] = {"step": _key(item), "attempts": item.attempt}
    attempts: Sequence[Attempt] = ()
    if item.attempt != 1 or item.generation > 1 or item.status in {ItemStatus.CLAIMED, ItemStatus.RUNNING}:
        attempts = store.attempts(step=item.step)  # claims count adoptions too
        facts["attempts"] = len(attempts)
    facts["usage"] = _usage(item, attempts)
    match item.status:
        case ItemStatus.SUCCEEDED:
            result = item.result or {}
            facts |= {"note": result.get("summary", ""), **_run(result, attempts)}
        case ItemStatus.FAILED:
            error = item.error or {}
            message = error.get("message", "").removeprefix(f"{item.item_id} was ")
            facts |= {"note": message, **_run(error.get("details", {}), attempts)}
            return StepRow(status=_BY_CODE.get(error.get("code", ""), StepStatus.FAILED), **facts)
        case ItemStatus.CLAIMED | ItemStatus.RUNNING:
            facts |= _running(attempts, root)
        case ItemStatus.QUEUED | ItemStatus.STALLED:
            note = "a retry is due" if item.attempts_consumed else "runs again" if item.attempt else ""
            facts |= {"due_at": item.not_before, "note": note}
    return StepRow(status=_BY_ITEM[item.status], **facts)


def _usage(item: Item, attempts: Sequence[Attempt]) -> JsonObject | None:
    """Add up the attempts; what the only one has used stands in the step's own end."""
    if attempts:
        return total(attempt.facts.get("usage") for attempt in attempts)
    known: JsonObject | None = (item.result or (item.error or {}).get("details") or {}).get("usage")
    return known


def _run(value: Mapping[str, Any], attempts: Sequence[Attempt]) -> JsonObject:
    """Name the attempt that an end speaks of; one that was canceled before its start is known by the store alone."""
    if value.get("run_id") is None and attempts:
        return {"run_id": attempts[-1].run_id, "attempt_dir": f"{attempts[-1].directory}/"}
    return {"run_id": value.get("run_id"), "attempt_dir": value.get("attempt_dir")}


def _running(attempts: Sequence[Attempt], root: Root) -> JsonObject:
    if not attempts:
        return {}
    attempt = attempts[-1]
    state = read_json(root, attempt_file(attempt.directory, AttemptFile.STATE)) or {}
    beat = state.get("last_heartbeat_at")
    return {
        "run_id": attempt.run_id,
        "attempt_dir": f"{attempt.directory}/",
        "started_at": attempt.started_at,
        "note": state.get("current_item") or "",
        "last_heartbeat_at": None if beat is None else from_iso(beat),
    }


def _since(moment: datetime | None, at: datetime) -> float | None:
    return None if moment is None else round(max(0.0, (at - moment).total_seconds()), 3)
