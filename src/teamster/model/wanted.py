"""What a table asks for beyond the work itself: what must be there at the end, where to run, how long to keep it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from teamster.model.ids import ID_RULE, RunnerId, StepId, is_id
from teamster.model.record import JsonObject
from teamster.model.report import ARTIFACT_KINDS

RETENTION_DAYS: Final = ("raw_logs_days", "diffs_days", "outputs_days")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedArtifact:
    """A file or folder below the working directory that must be there when a step has succeeded."""

    path: str
    kind: str = "file"

    def __post_init__(self) -> None:
        if self.kind not in ARTIFACT_KINDS:
            raise ValueError(f"{self.path}: {self.kind!r} is none of {', '.join(ARTIFACT_KINDS)}")
        path = PurePosixPath(self.path)
        if not path.parts or path.is_absolute() or ".." in path.parts or str(path) != self.path or "\0" in self.path:
            raise ValueError(f"{self.path!r} is no plain path below a working directory")

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        return {"path": self.path, "kind": self.kind}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerAffinity:
    """Where a step should run: on the runner that ran an earlier step of its job, or on one with a name."""

    step_id: StepId | None = None
    runner_id: RunnerId | None = None

    def __post_init__(self) -> None:
        named = [name for name in (self.step_id, self.runner_id) if name is not None]
        if len(named) != 1 or not is_id(named[0]):
            raise ValueError(f"an affinity names a step or a runner, by {ID_RULE}")

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        return {"runner_id": self.runner_id} if self.step_id is None else {"step_id": self.step_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How many days what is kept, and whether old logs are packed. None: as the harness does."""

    raw_logs_days: int | None = None
    diffs_days: int | None = None
    outputs_days: int | None = None
    compress_raw_logs: bool | None = None

    def __post_init__(self) -> None:
        for name in RETENTION_DAYS:
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} is negative")
        if self.outputs_days is not None and max(self.raw_logs_days or 0, self.diffs_days or 0) > self.outputs_days:
            raise ValueError("outputs are kept at least as long as logs and diffs")

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        names = (*RETENTION_DAYS, "compress_raw_logs")
        said: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {name: value for name, value in said.items() if value is not None}
