"""What a person means by a few letters: a batch by the beginning of its id, a step as `job.step`, a run by its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from teamster.artifacts import RUNS, Root
from teamster.model import ID_RULE, BatchId, JobId, RunId, StepId, StepKey, UsageError, is_id
from teamster.store import Batch, Store

NAMES_SHOWN_MAX: Final = 8
STEPS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A job, or one of its steps."""

    job_id: JobId | None = None
    step_id: StepId | None = None


def parse_reference(text: str | None) -> Reference:
    """Read `job` or `job.step`; nothing means everything.

    Raises:
        UsageError: it is neither.
    """
    if text is None:
        return Reference()
    job, dot, step = text.partition(".")
    if not is_id(job) or (dot and not is_id(step)):
        raise UsageError(f"{text!r} is neither a job nor a `job.step`", hint=f"an id is {ID_RULE}")
    return Reference(job_id=JobId(job), step_id=StepId(step) if dot else None)


def find_batch(store: Store, text: str | None) -> Batch:
    """Find a batch by its id, or by a beginning that fits only one; the newest where none is named.

    Raises:
        UsageError: none fits, or several.
    """
    if text is not None and not is_id(text):
        raise UsageError(f"{text!r} is not the id of a batch, nor the beginning of one", hint=f"an id is {ID_RULE}")
    if text is not None and (batch := store.batch(BatchId(text))) is not None:
        return batch
    batches = store.batches()
    fitting = [batch for batch in batches if text is None or batch.batch_id.startswith(text)]
    if not batches:
        raise UsageError("there is no batch yet", hint="run a table first: teamster run TABLE")
    if not fitting:
        raise UsageError(f"there is no batch {text}", hint=f"batches: {_names(batches)}")
    if len(fitting) > 1 and text is not None:
        raise UsageError(f"{text} fits {len(fitting)} batches", hint=f"write more of it: {_names(fitting)}")
    return fitting[0]


def batch_forgotten(store: Store, text: str) -> Batch | None:
    """Return the newest batch where a word names no batch, but a job or a step of that one: its name was left out."""
    batches = store.batches()
    if not batches or any(batch.batch_id.startswith(text) for batch in batches):
        return None
    job_id, _, step_id = text.partition(".")
    known = _steps(store, batches[0].batch_id)
    return batches[0] if any(step.job_id == job_id and step_id in {"", step.step_id} for step in known) else None


def find_steps(store: Store, batch: Batch, reference: Reference) -> Sequence[StepKey]:
    """Find the steps that a person means, by name.

    Raises:
        UsageError: the batch has no such job or step.
    """
    known = _steps(store, batch.batch_id)
    jobs = sorted({step.job_id for step in known})
    of_job = sorted(step for step in known if reference.job_id in {None, step.job_id})
    if not of_job:
        raise UsageError(f"batch {batch.batch_id} has no job {reference.job_id}", hint=f"its jobs: {_shown(jobs)}")
    found = [step for step in of_job if reference.step_id in {None, step.step_id}]
    if not found:
        names = _shown([str(step) for step in of_job])
        raise UsageError(f"job {reference.job_id} has no step {reference.step_id}", hint=f"its steps: {names}")
    return found


def find_run(root: Root, text: str) -> tuple[RunId, str]:
    """Find an attempt's directory by its run id alone.

    Raises:
        UsageError: there is none.
    """
    found = list(root.at(RUNS).glob(f"*/*/steps/*/attempts/*_{text}")) if is_id(text) else []
    if len(found) != 1:
        raise UsageError(f"there is no run {text}", hint="teamster show BATCH JOB.STEP lists the runs of a step")
    return RunId(text), found[0].relative_to(root.path).as_posix()


def _steps(store: Store, batch_id: BatchId) -> set[StepKey]:
    known = {item.step for item in store.items(batch_id=batch_id, limit=STEPS_MAX) if item.step is not None}
    waiting = {found.draft.step for found in store.waiting(batch_id=batch_id, limit=STEPS_MAX)}
    return known | {step for step in waiting if step is not None}


def _names(batches: Sequence[Batch]) -> str:
    return _shown([batch.batch_id for batch in batches])


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMES_SHOWN_MAX]) + (" …" if len(names) > NAMES_SHOWN_MAX else "")
