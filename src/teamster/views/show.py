"""One step with its attempts, and one attempt with all that is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from teamster.artifacts import AttemptFile, Root, attempt_file, attempt_name
from teamster.kit import iso
from teamster.model import Attempt, JsonObject, RunId, StepKey, UsageError
from teamster.store import Store
from teamster.views.reading import read_json, read_text
from teamster.views.scoreboard import superseded

TEXTS: Final = (AttemptFile.FINAL_TEXT, AttemptFile.GIT_DIFF, AttemptFile.STDERR)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """A step's attempts, oldest first."""

    step: StepKey
    attempts: tuple[Attempt, ...]

    def to_json(self) -> JsonObject:
        """Write it for a program."""
        return {
            "batch_id": self.step.batch_id,
            "job_id": self.step.job_id,
            "step_id": self.step.step_id,
            "attempts": [
                {
                    "run_id": attempt.run_id,
                    "status": attempt.status.value,
                    "attempt_dir": f"{attempt.directory}/",
                    "started_at": iso(attempt.started_at),
                    "ended_at": None if attempt.ended_at is None else iso(attempt.ended_at),
                    "codex_thread_id": attempt.facts.get("codex_thread_id"),
                    "usage": attempt.facts.get("usage"),
                    "failure_class": attempt.facts.get("failure_class"),
                    "reason": attempt.facts.get("reason"),
                }
                for attempt in self.attempts
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt, from its files alone. `path` is where they lie."""

    run_id: RunId
    directory: str
    path: str
    documents: Mapping[str, JsonObject | None]
    texts: Mapping[str, str | None]
    superseded: tuple[str, ...]

    @property
    def is_kept(self) -> bool:
        """Something of it is there: a person may have removed its files, and the database still knows it."""
        return any(document is not None for document in self.documents.values()) or any(
            text is not None for text in self.texts.values()
        )

    def to_json(self) -> JsonObject:
        """Write it for a program; long texts stay in their files."""
        return {
            "run_id": self.run_id,
            "attempt_dir": f"{self.directory}/",
            "path": self.path,
            **dict(self.documents),
            "files": sorted(name for name, text in self.texts.items() if text is not None),
            "superseded": list(self.superseded),
        }


def show_step(store: Store, step: StepKey) -> StepView:
    """Look at a step.

    Raises:
        UsageError: it was never started.
    """
    attempts = tuple(store.attempts(step=step))
    if not attempts:
        raise UsageError(
            f"{step} was never started", hint=f"teamster status {step.batch_id} says where it is and what it waits for"
        )
    return StepView(step=step, attempts=attempts)


def step_of(directory: str) -> StepKey:
    """Say whose attempt lies in a directory."""
    return attempt_name(directory).step


def show_attempt(root: Root, run_id: RunId, directory: str) -> AttemptView:
    """Look at an attempt."""
    documents: dict[str, Any] = {
        name.value.rpartition("/")[2].removesuffix(".json"): read_json(root, attempt_file(directory, name))
        for name in (AttemptFile.META, AttemptFile.STATE, AttemptFile.FINAL, AttemptFile.VERDICT)
    }
    return AttemptView(
        run_id=run_id,
        directory=directory,
        path=str(root.at(directory)),
        documents=documents,
        texts={name.value: read_text(root, attempt_file(directory, name)) for name in TEXTS},
        superseded=superseded(root, attempt_name(directory).step.batch_id, run_id),
    )
