"""Hands a launch table over: what is acknowledged is not lost, and the same table again changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.artifacts import batch_meta, batch_meta_path, draft, inputs_path
from teamster.intake import batch_stem, changed_steps
from teamster.kit import Instant, canonical, document, sha256
from teamster.model import BatchId, ItemId, Job, JsonObject, Step, StepKey, StepWork, Table, UsageError, dedupe_key
from teamster.operations.harness import Harness, Opened
from teamster.operations.limiting import limit_keys_of, limits_of
from teamster.operations.snapshot import config_draft, harness_config, tell_configuration
from teamster.operations.tables import table_of
from teamster.store import Batch, BatchDraft, ItemDraft, Needs, Waits

GOAL_PREVIEW_CHARACTERS_MAX: Final = 120
CHANGED_STEPS_SHOWN_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The answer to a submission. `created` is False where the batch was there and is gone on with."""

    batch_id: BatchId
    created: bool
    job_ids: tuple[str, ...]


def submit(harness: Harness, table: Table, *, new: bool = False) -> Submitted:
    """Enqueue a table as a batch, or find the batch that it is already. `new`: it was given an id of its own.

    Raises:
        UsageError: another table has this id, or this table's file made another batch before.
    """
    with Opened.of(harness) as opened:
        known, created = opened.store.batch(table.batch_id) or _same_file(opened, table, new=new), False
        if known is None:
            now = harness.clock.now()
            for limit_key, maximum in limits_of(table).items():
                opened.store.set_limit(limit_key, maximum)  # before the first step could start without it
            submission = opened.store.submit(_batch(harness, table, now), at=now)
            opened.delivery.deliver(submission.rows)
            tell_configuration(harness, opened.store)
            known, created = submission.batch, submission.created
        if known.meta["table_sha256"] != table.digest:
            raise _changed(opened, known, table)
    return Submitted(batch_id=known.batch_id, created=created, job_ids=tuple(job.job_id for job in table.jobs))


def item_draft(harness: Harness, table: Table, job: Job, step: Step, *, generation: int = 1) -> ItemDraft:
    """Draft the item of one step."""
    batch_id = table.batch_id
    key = StepKey(batch_id, job.job_id, step.step_id)
    return ItemDraft(
        item_id=ItemId(harness.names.fresh("item")),
        dedupe_key=dedupe_key(StepWork(step=key, generation=generation)),
        step=key,
        generation=generation,
        target={"batch_id": batch_id, "job_id": job.job_id, "step_id": step.step_id},
        spec=step.to_json(),
        waits=tuple(
            Waits(step=dependency.within(batch_id, job.job_id), needs=Needs(dependency.needs))
            for dependency in step.depends_on
        ),
        runner_affinity=None if step.affinity is None else step.affinity.runner_id,
        limit_keys=limit_keys_of(table, job),
    )


def _batch(harness: Harness, table: Table, now: Instant) -> BatchDraft:
    config = harness_config(harness)
    record = batch_meta(
        table.to_json(),
        submitted_at=now.wall,
        harness_config_version=config.version,
        effective_defaults=_effective_defaults(harness),
    )
    return BatchDraft(
        batch_id=table.batch_id,
        concurrency=table.concurrency,
        meta={
            "table_sha256": table.digest,
            "root_id": harness.root.root_id,
            "source": table.source,
            "goal": " ".join(table.goal_summary.split())[:GOAL_PREVIEW_CHARACTERS_MAX],
            "jobs_total": len(table.jobs),
            "steps_total": sum(len(job.steps) for job in table.jobs),
            "agents": sorted({step.agent.agent for job in table.jobs for step in job.steps}),
        },
        items=tuple(item_draft(harness, table, job, step) for job in table.jobs for step in job.steps),
        files=(
            draft(batch_meta_path(table.batch_id), document(record)),
            draft(inputs_path(table.batch_id), _inputs(table)),
            config_draft(config),
        ),
    )


def _effective_defaults(harness: Harness) -> JsonObject:
    defaults, settings = harness.defaults, harness.settings
    return {
        "agent": defaults.agent.to_json(),
        "execution_policy": defaults.policy.to_json(),
        "retry_policy": defaults.retry.to_json(),
        "timeout_seconds": defaults.timeout_seconds,
        "concurrency": defaults.concurrency,
        "output_bytes_max": settings.output_bytes_max,
        "heartbeat_stale_after_seconds": settings.heartbeat_stale_after_seconds,
    }


def _inputs(table: Table) -> bytes:
    """Write each prompt and schema once, by its hash: editing a file later changes no queued step."""
    lines: dict[str, JsonObject] = {}
    for step in (step for job in table.jobs for step in job.steps):
        lines[step.prompt_sha256] = {"kind": "prompt", "text": step.prompt}
        if step.schema is not None:
            text = canonical(step.schema)
            lines[sha256(text)] = {"kind": "schema", "text": text.decode()}
    return b"".join(canonical({"sha256": name, **line}) + b"\n" for name, line in sorted(lines.items()))


def _same_file(opened: Opened, table: Table, *, new: bool) -> Batch | None:
    """Find the batch that this file made before: a slip of the hand must not run everything again.

    The one that asked for the same comes first, else the newest.
    """
    if new:
        return None
    made = [batch for batch in opened.store.batches() if batch.meta["source"] == table.source]
    same = [batch for batch in made if batch.meta["table_sha256"] == table.digest]
    assigned = [batch for batch in made if batch.batch_id.startswith(f"{batch_stem(Path(table.source))}-")]
    return next(iter([*same, *assigned]), None)


def _changed(opened: Opened, known: Batch, table: Table) -> UsageError:
    old = table_of(opened.harness.root, known.batch_id)
    changed = changed_steps(old, table)
    shown = ", ".join(changed[:CHANGED_STEPS_SHOWN_MAX]) or "nothing but settings of the whole table"
    more = len(changed) - CHANGED_STEPS_SHOWN_MAX
    return UsageError(
        f"{table.source} is not what became batch {known.batch_id}; changed: {shown}"
        + (f" and {more} more" if more > 0 else ""),
        hint="add --new to run it as another batch, or undo the change to go on with that one",
    )
