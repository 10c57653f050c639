"""What a scene is played with: steps, the scripts of their agents, harnesses that die or fall asleep."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from teamster.artifacts import AttemptFile
from teamster.kit import Instant
from teamster.model import (
    AgentChoice,
    ExecutionPolicy,
    Exited,
    OutboxRow,
    Outcome,
    ResumeFrom,
    RetryPolicy,
    Step,
    StepId,
    dependencies_of,
)
from teamster.process import Ended, Order, ScriptedHost
from teamster.runner import Delivery
from teamster.store import Answer, Change, MemoryStore

OK = {
    "schema_version": "1.0.0",
    "status": "ok",
    "summary": "did it",
    "files_read": [],
    "files_written": [],
    "artifacts": [],
}


class Killed(BaseException):
    """What a harness meets that is killed in the middle of a line."""


class DyingDelivery(Delivery):
    """A delivery whose harness is killed when it has written so many files of one commit."""

    files_max: int | None = None
    dies_at: AttemptFile = AttemptFile.MANIFEST  # the commit that holds such a file

    def deliver(self, rows: Sequence[OutboxRow]) -> None:
        """Write, or die on the way."""
        if self.files_max is None or not any(row.path.endswith(f"/{self.dies_at}") for row in rows):
            super().deliver(rows)
            return
        self._outbox.write(rows[: self.files_max])
        raise Killed


class ForgetfulHost(ScriptedHost):
    """A host in whose arms the harness falls asleep: `sleep` is called once, in the middle of the next tick."""

    sleep: Callable[[], object] | None = None

    def ended(self, *, limit: int) -> Sequence[Ended]:
        """Look, after what happened meanwhile."""
        sleep, self.sleep = self.sleep, None
        if sleep is not None:
            sleep()
        return super().ended(limit=limit)


class ForgetfulStore(MemoryStore):
    """A store on the way to which the harness falls asleep: `sleep` is called once, before the next recorded end."""

    sleep: Callable[[], object] | None = None

    def apply(self, changes: Sequence[Change], *, at: Instant, delivered: Sequence[int] = ()) -> Sequence[Answer]:
        """Record, after what happened meanwhile."""
        sleep, self.sleep = self.sleep, None
        if sleep is not None:
            sleep()
        return super().apply(changes, at=at, delivered=delivered)


def step(name: str = "main", *, agent: AgentChoice | None = None, **fields: Any) -> Step:
    """Return a step of a `command` agent; `resume` names the step that it goes on from."""
    resume = fields.pop("resume", None)
    if isinstance(resume, str):
        resume = ResumeFrom(step_id=StepId(resume))
    return Step(
        **{
            "step_id": StepId(name),
            "working_directory": "/",
            "prompt": f"do {name}",
            "agent": agent or AgentChoice(agent="command", command=("agent", "{run_id}")),
            "policy": ExecutionPolicy(skip_git_repo_check=True),
            "timeout_seconds": 60.0,
            "retry": RetryPolicy(attempts_max=fields.pop("attempts_max", 1)),
            "resume": resume,
            "depends_on": dependencies_of((), resume),
            **fields,
        }
    )


@dataclass
class Script:
    """What agents do, by step: what they print, what they report, how they end (None: they run on)."""

    outcome: Outcome | None = None
    stdout: bytes = b""
    report: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)  # below the agent's home

    def __call__(self, order: Order) -> Outcome | None:
        """Play it."""
        order.places.stdout.write_bytes(self.stdout)
        order.places.stderr.write_bytes(b"")
        order.places.exit_record.parent.mkdir(parents=True, exist_ok=True)
        if self.report is not None and "TEAMSTER_REPORT_FILE" in order.env:
            Path(order.env["TEAMSTER_REPORT_FILE"]).write_text(self.report)
        for name, content in self.files.items():
            place = Path(order.env["CODEX_HOME"]) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return self.outcome


def report(**changes: Any) -> str:
    """Return a Run Report."""
    return json.dumps({**OK, **changes})


DONE = Script(Exited(0), b"working\n", report())
RUNS_ON = Script(stdout=b"working\n")
