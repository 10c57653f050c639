"""A batch as its files tell it: written from the requirements, without a look at the code that wrote them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledAttempt:
    """The directory of one attempt."""

    root: Path
    path: Path

    @property
    def name(self) -> str:
        """Where it lies, relative to the root."""
        return str(self.path.relative_to(self.root))

    @property
    def step(self) -> str:
        """`job.step`, as the path says it."""
        return f"{self.path.parents[3].name}.{self.path.parents[1].name}"

    @property
    def meta(self) -> Any:
        """How it was run."""
        return self.json("meta.json")

    @property
    def state(self) -> Any:
        """How it is."""
        return self.json("state.json")

    @property
    def run_id(self) -> str:
        """Its id, as the path says it."""
        return self.path.name.partition("_")[2]

    @property
    def home(self) -> Path:
        """Its session store."""
        return self.path / "codex_home"

    @property
    def rollout(self) -> Path:
        """The one conversation in its session store."""
        (path,) = self.home.glob("sessions/*/*/*/rollout-*.jsonl")
        return path

    @property
    def events(self) -> list[Any]:
        """What the agent said, event by event."""
        return [json.loads(line) for line in self.text("codex.events.jsonl").splitlines()]

    @property
    def turns(self) -> int:
        """How many turns its conversation has."""
        return turns_in(self.rollout)

    def json(self, name: str) -> Any:
        """Read one of its documents."""
        return json.loads(self.text(name))

    def text(self, name: str) -> str:
        """Read one of its files."""
        return (self.path / name).read_text(encoding="utf-8")

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return (self.path / name).is_file()


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledBatch:
    """The directory of one batch."""

    root: Path
    path: Path

    @property
    def attempts(self) -> list[FiledAttempt]:
        """All attempts, by job, step and start."""
        folders = sorted(self.path.glob("*/steps/*/attempts/*"))
        return [FiledAttempt(root=self.root, path=folder) for folder in folders]

    def tries(self, step: str) -> list[FiledAttempt]:
        """Return the attempts of one step, the oldest first."""
        return [attempt for attempt in self.attempts if attempt.step == step]

    def only(self, step: str) -> FiledAttempt:
        """Return the attempt of a step that needed but one."""
        (attempt,) = self.tries(step)
        return attempt

    def current(self, job: str) -> Any:
        """Return a job's pointers."""
        return json.loads((self.path / job / "current.json").read_bytes())

    def requests(self, step: str) -> list[Any]:
        """Return what the model was asked for a step."""
        lines = (self.root / "model" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
        return [value for value in map(json.loads, lines) if f"{value['job_id']}.{value['step_id']}" == step]


def batch_under(root: Path) -> FiledBatch:
    """Return the one batch of a root."""
    (path,) = (root / "runs").glob("[!_]*")
    return FiledBatch(root=root, path=path)


def turns_in(rollout: Path) -> int:
    """Count the turns of a conversation, each of which Codex begins with the same event."""
    lines = [json.loads(line) for line in rollout.read_text(encoding="utf-8").splitlines()]
    return sum(line["payload"].get("type") == "task_started" for line in lines)


def sha256(path: Path) -> str:
    """Return a file's digest."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
