"""A root of its own with everything real: files, database, processes; tables of `command` steps to try on it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from teamster.intake import read_table
from teamster.kit import RandomNames, SystemClock
from teamster.model import BatchId, JobId, StepId, Table
from teamster.operations import Control, Harness, Submitted, Worked, submit, work
from teamster.runner import Happened
from teamster.store import Store
from teamster.views import Scoreboard, scoreboard
from teamster.wiring import Wiring

GOAL: Final = "Every sentence of this goal says that nothing may run twice and that nothing may be lost. " * 12
Steps = Sequence[Mapping[str, Any]]


def step(step_id: str, script: str, **more: Any) -> dict[str, Any]:
    """Write a step that a shell does."""
    return {"step_id": step_id, "agent": "command", "command": ["sh", "-c", script], "prompt": "Do it once.", **more}


@dataclass
class Place:
    """A folder with a root, a working directory and tables."""

    folder: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"], "HOME": "/nonexistent"})

    @property
    def root(self) -> Path:
        """Where everything lies."""
        return self.folder / "root"

    @property
    def wiring(self) -> Wiring:
        """What one process needs."""
        return Wiring(env=self.env, cwd=self.folder, clock=SystemClock(), names=RandomNames())

    @property
    def harness(self) -> Harness:
        """Everything that works on the root."""
        return self.wiring.open(self.root).harness

    def write(self, name: str, jobs: Mapping[str, Steps], **more: Any) -> Path:
        """Write a table; its jobs work in one folder."""
        workplace = self.folder / "work"
        workplace.mkdir(exist_ok=True)
        listed = [
            {"job_id": job_id, "working_directory": str(workplace), "steps": list(steps)}
            for job_id, steps in jobs.items()
        ]
        return self.write_jobs(name, listed, **more)

    def write_jobs(self, name: str, jobs: Sequence[Mapping[str, Any]], **more: Any) -> Path:
        """Write a table of jobs that say all themselves."""
        path = self.folder / name
        value = {"batch_goal_summary": GOAL, "concurrency": 4, "jobs": list(jobs), **more}
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def read(self, path: Path) -> Table:
        """Read a table."""
        return read_table(path, defaults=self.harness.defaults, root=self.root)

    def submit(self, jobs: Mapping[str, Steps], name: str = "table.json") -> BatchId:
        """Enqueue jobs and return their batch."""
        return self.submitted(jobs, name).batch_id

    def submitted(self, jobs: Mapping[str, Steps], name: str = "table.json") -> Submitted:
        """Enqueue jobs and return the answer."""
        return submit(self.harness, self.read(self.write(name, jobs)))

    def work(self, batch_id: BatchId | None = None, control: Control | None = None) -> Worked:
        """Work until nothing can run any more."""
        return work(self.harness, batch_id=batch_id, versions={}, control=control or Control(), watch=_nobody_watches)

    def board(self, batch_id: BatchId) -> Scoreboard:
        """Look at a batch."""
        harness = self.harness
        store = harness.open_store()
        try:
            batch = store.batch(batch_id)
            assert batch is not None
            return scoreboard(store, harness.root, batch, at=harness.clock.now().wall)
        finally:
            store.close()

    def statuses(self, batch_id: BatchId) -> dict[str, str]:
        """Say where each step of a batch is."""
        return {str(row.step): row.status.value for row in self.board(batch_id).steps}

    def attempts(self, batch_id: BatchId, job_id: str, step_id: str) -> list[Path]:
        """List the directories of a step's attempts, oldest first."""
        folder = self.root / "runs" / batch_id / JobId(job_id) / "steps" / StepId(step_id) / "attempts"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def everything(self, batch_id: BatchId, below: str = "") -> dict[str, bytes]:
        """Read all kept files of a batch."""
        folder = self.root / "runs" / batch_id / below
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _nobody_watches(happened: Happened, store: Store) -> None:
    """Watch nothing."""


def items_of(place: Place, batch_id: BatchId) -> list[dict[str, Any]]:
    """Read the records of a batch with their histories."""
    store = place.harness.open_store()
    try:
        items = store.items(batch_id=batch_id)
        return [dict(item.to_record(tuple(store.events(item.item_id)))) for item in items]
    finally:
        store.close()
