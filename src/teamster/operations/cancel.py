"""Cancels steps: what waits ends at once, what runs is ended by its owner, what has ended stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from teamster.artifacts import (
    AttemptFile,
    attempt_file,
    attempt_folder,
    draft,
    manifest,
    manifest_entry,
    meta,
    terminal,
)
from teamster.kit import document
from teamster.model import (
    Attempt,
    AttemptStatus,
    BatchId,
    FileDraft,
    Item,
    ItemId,
    JobId,
    JsonObject,
    RunId,
    Step,
    StepId,
    StepKey,
)
from teamster.operations.harness import Harness, Opened
from teamster.operations.tables import steps_of, table_of

REASON: Final = "canceled on request"
STEPS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Canceled:
    """What became of one step: `changed` is False where it had ended before."""

    step: str
    status: str
    changed: bool


def cancel(
    harness: Harness, batch_id: BatchId, *, job_id: JobId | None = None, step_id: StepId | None = None, actor: str
) -> Sequence[Canceled]:
    """Cancel a batch, a job or a step. A step that runs is ended by its owner, soon.

    Raises:
        UsageError: there is no such job or step.
    """
    steps = steps_of(table_of(harness.root, batch_id), job_id, step_id)
    wanted = {StepKey(batch_id, job.job_id, step.step_id) for job, step in steps}
    with Opened.of(harness) as opened:
        chosen = {step: item_id for step, item_id in _items(opened, batch_id) if step in wanted}
        return [_cancel(harness, opened, step, item_id, actor) for step, item_id in chosen.items()]


def _items(opened: Opened, batch_id: BatchId) -> list[tuple[StepKey, ItemId]]:
    """List steps with their newest item, dependants first: an end before theirs would release some in between."""
    waiting = opened.store.waiting(batch_id=batch_id, limit=STEPS_MAX)
    items = opened.store.items(batch_id=batch_id, limit=STEPS_MAX)
    found = [
        *((each.draft.step, each.draft.item_id) for each in reversed(waiting)),
        *((item.step, item.item_id) for item in items),
    ]
    return [(step, item_id) for step, item_id in found if step is not None]


def _cancel(harness: Harness, opened: Opened, step: StepKey, item_id: ItemId, actor: str) -> Canceled:
    now = harness.clock.now()

    def never_started(item: Item) -> tuple[Attempt, tuple[FileDraft, ...]]:
        return _never_started(harness, item, at=now.wall)

    released = opened.store.request_cancel(item_id, at=now, actor=actor, draft=never_started)
    opened.delivery.deliver(released.rows)
    return Canceled(step=str(step), status=released.item.status.value, changed=released.changed)


def _never_started(harness: Harness, item: Item, *, at: datetime) -> tuple[Attempt, tuple[FileDraft, ...]]:
    """Draft the attempt of a step that was canceled before its agent started: it began and ended at once."""
    assert item.step is not None
    run_id = RunId(harness.names.fresh("run"))
    attempt = Attempt(
        run_id=run_id,
        item_id=item.item_id,
        step=item.step,
        number=item.attempt + 1,
        directory=attempt_folder(item.step, run_id, at),
        status=AttemptStatus.CANCELED,
        started_at=at,
        ended_at=at,
        facts={"failure_class": None, "root_id": harness.root.root_id},
    )
    contents: Mapping[AttemptFile, JsonObject] = {
        AttemptFile.META: _meta(harness, item, attempt),
        AttemptFile.STATE: terminal(AttemptStatus.CANCELED, started_at=at, ended_at=at, reason=REASON),
    }
    files = {name: document(value) for name, value in contents.items()}
    listed = {name.value: manifest_entry(content) for name, content in files.items()}
    ordered = {
        AttemptFile.META: files[AttemptFile.META],
        AttemptFile.MANIFEST: document(manifest(run_id, listed)),
        AttemptFile.STATE: files[AttemptFile.STATE],
    }
    return attempt, tuple(draft(attempt_file(attempt.directory, name), content) for name, content in ordered.items())


def _meta(harness: Harness, item: Item, attempt: Attempt) -> JsonObject:
    step = Step.from_json(item.spec)
    return meta(
        step=attempt.step,
        run_id=attempt.run_id,
        runner_id=harness.runner_id,
        created_at=attempt.started_at,
        prompt_sha256=step.prompt_sha256,
        policy=step.policy.to_json(),
        environment={
            **harness.environment,
            "agent": step.agent.agent,
            "agent_version": None,
            "working_directory": step.working_directory,
        },
        workspace_policy={"mode": step.workspace_mode},
        extra={"item_id": item.item_id, "attempt": attempt.number, "generation": item.generation},
    )
