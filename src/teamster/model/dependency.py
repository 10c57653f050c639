"""What a step waits for, and the conversation that it goes on with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from teamster.model.ids import BatchId, JobId, RunId, StepId, StepKey
from teamster.model.record import JsonObject

Selector = Literal["latest_successful", "latest", "run_id"]
Need = Literal["succeeded", "final"]

SELECTORS: Final[tuple[Selector, ...]] = ("latest_successful", "latest", "run_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeFrom:
    """The conversation that a step goes on with: which step's, and which attempt's."""

    step_id: StepId
    selector: Selector = "latest_successful"
    run_id: RunId | None = None
    codex_thread_id: str | None = None

    def __post_init__(self) -> None:
        if (self.run_id is not None) != (self.selector == "run_id"):
            raise ValueError(f"{self.step_id}: `run_id` goes with the selector `run_id` and with no other")

    @property
    def needs(self) -> Need:
        """What must be true of the source: `latest` and `run_id` may go on from a failed attempt."""
        return "succeeded" if self.selector == "latest_successful" else "final"

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        optional = {"run_id": self.run_id, "codex_thread_id": self.codex_thread_id}
        return {
            "step_id": self.step_id,
            "selector": self.selector,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ResumeFrom:
        """Read what `to_json` wrote."""
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A step that must come first, and how it must have ended. Without a `job_id` it is one of the same job."""

    step_id: StepId
    needs: Need = "succeeded"
    job_id: JobId | None = None

    def __str__(self) -> str:
        """Write the reference as a launch table does: `step`, or `job.step`."""
        return self.step_id if self.job_id is None else f"{self.job_id}.{self.step_id}"

    def within(self, batch_id: BatchId, job_id: JobId) -> StepKey:
        """Name the step in full, for a step of this job that waits for it."""
        return StepKey(batch_id, self.job_id or job_id, self.step_id)


def dependencies_of(names: Iterable[str], resume: ResumeFrom | None) -> tuple[Dependency, ...]:
    """Join what a step names, `step` or `job.step`, with what its `resume_from` implies; the selector decides of it."""
    needs: dict[str, Need] = dict.fromkeys(names, "succeeded")
    if resume is not None:
        needs[resume.step_id] = resume.needs
    return tuple(_dependency(name, need) for name, need in needs.items())


def _dependency(name: str, needs: Need) -> Dependency:
    job_id, dot, step_id = name.rpartition(".")
    return Dependency(step_id=StepId(step_id), needs=needs, job_id=JobId(job_id) if dot else None)
