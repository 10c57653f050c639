"""The base that a step goes on from: chosen when the step is claimed, and kept with the attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from teamster.model import Attempt, AttemptStatus, JsonObject, ResumeFrom, RunId, StepId

NO_BASE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An attempt whose conversation is gone on with. Without digest or thread it left no base.

    `thread_usage` is what the whole conversation had used by then, where its agent counts so.
    """

    step_id: StepId
    run_id: RunId
    directory: str
    session_sha256: str | None
    thread_id: str | None
    thread_usage: JsonObject | None = None

    def to_json(self) -> JsonObject:
        """Write it for an attempt's facts."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: JsonObject) -> Source:
        """Read what `to_json` wrote."""
        return cls(**value)


def choose_source(resume: ResumeFrom, attempts: Sequence[Attempt]) -> Source | None:
    """Choose among a step's attempts, oldest first, the one that the selector means. Pure."""
    match resume.selector:
        case "latest":
            fitting = [attempt for attempt in attempts if attempt.ended_at is not None]
        case "latest_successful":
            fitting = [attempt for attempt in attempts if attempt.status is AttemptStatus.SUCCEEDED]
        case "run_id":
            fitting = [attempt for attempt in attempts if attempt.run_id == resume.run_id]
    if not fitting:
        return None
    chosen = fitting[-1]
    return Source(
        step_id=chosen.step.step_id,
        run_id=chosen.run_id,
        directory=chosen.directory,
        session_sha256=chosen.facts.get("session_sha256"),
        thread_id=resume.codex_thread_id or chosen.facts.get("codex_thread_id"),
        thread_usage=chosen.facts.get("thread_usage"),
    )
