"""The table that a batch was submitted with, read from its own record: the runs store alone says what was asked for."""

from __future__ import annotations

import json
from typing import Final

from teamster.artifacts import Root, batch_meta_path
from teamster.kit import OutsideRoot, read_beneath
from teamster.model import BatchId, Job, JobId, Step, StepId, Table, UsageError, WorldError

BATCH_META_BYTES_MAX: Final = 512 << 20


def table_of(root: Root, batch_id: BatchId) -> Table:
    """Read the normalised table of a batch.

    Raises:
        WorldError: its record is gone or damaged.
    """
    path = batch_meta_path(batch_id)
    try:
        record = json.loads(read_beneath(root.path, path, bytes_max=BATCH_META_BYTES_MAX))
        return Table.from_json(record["launch_table"])
    except (OSError, OutsideRoot, ValueError, KeyError, TypeError) as error:
        raise WorldError(f"{root.path / path} can't be read: {error}", hint="teamster verify tells more") from error


def steps_of(table: Table, job_id: JobId | None, step_id: StepId | None) -> list[tuple[Job, Step]]:
    """Choose the steps of a table that a person named: all, those of one job, or one.

    Raises:
        UsageError: there is no such job or step.
    """
    jobs = [job for job in table.jobs if job_id in {None, job.job_id}]
    if not jobs:
        known = ", ".join(job.job_id for job in table.jobs[:10])
        raise UsageError(f"batch {table.batch_id} has no job {job_id}", hint=f"its jobs: {known}")
    chosen = [(job, step) for job in jobs for step in job.steps if step_id in {None, step.step_id}]
    if not chosen:
        known = ", ".join(step.step_id for step in jobs[0].steps[:10])
        raise UsageError(f"job {job_id} of batch {table.batch_id} has no step {step_id}", hint=f"its steps: {known}")
    return chosen
