"""The real Codex, called as an attempt calls it, on a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codex_cli_bin import bundled_codex_path

from teamster.agents import CodexAgent, Request
from teamster.model import RUN_REPORT_SCHEMA
from teamster.rehearsal import Model

CODEX_SECONDS_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexRun:
    """What a run of Codex left behind."""

    exit_code: int
    events: tuple[Mapping[str, Any], ...]
    last_message: str
    complaints: str

    @property
    def thread_id(self) -> str:
        """The conversation's name."""
        return next(str(event["thread_id"]) for event in self.events if event["type"] == "thread.started")

    @property
    def report(self) -> Any:
        """The last message as JSON."""
        return json.loads(self.last_message)

    @property
    def failure(self) -> str:
        """What `turn.failed` says."""
        return "".join(str(event["error"]["message"]) for event in self.events if event["type"] == "turn.failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A folder where the attempts of one test run: with a working directory and a home that they share."""

    folder: Path
    model: Model

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.folder / "work"

    def run(
        self,
        *,
        job: str = "job",
        step: str = "step",
        attempt: int = 1,
        session: str | None = None,
        prompt: str = "Do it.",
        schema: Mapping[str, Any] = RUN_REPORT_SCHEMA,
        env: Mapping[str, str] | None = None,
    ) -> CodexRun:
        """Run one attempt to its end."""
        scratch = self.folder / f"scratch-{job}-{step}-{attempt}"
        request = Request(
            prompt=prompt,
            working_directory=self.work,
            home=self.folder / "home",
            scratch=scratch,
            staging=scratch,
            run_id=f"run_{job}_{step}_{attempt}",
            job_id=job,
            step_id=step,
            attempt=attempt,
            schema=schema,
            session=session,
            skip_git_repo_check=True,
            extra_arguments=self.model.codex_arguments(),
            key_variable=self.model.key_variable,
            key=self.model.key,
            base_env=self.model.agent_env({**os.environ, **(env or {})}),
        )
        return _ended(request)


def _ended(request: Request) -> CodexRun:
    plan = CodexAgent(str(bundled_codex_path())).plan(request)
    for folder in (request.working_directory, request.home, *(request.scratch / name for name in plan.folders)):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in plan.files:
        (request.scratch / name).write_bytes(content)
    with (request.scratch / str(plan.stdin_file)).open("rb") as prompt:
        done = subprocess.run(
            plan.argv, env=plan.env, stdin=prompt, capture_output=True, timeout=CODEX_SECONDS_MAX, check=False
        )
    staged = request.staging / plan.staged_report
    return CodexRun(
        exit_code=done.returncode,
        events=tuple(json.loads(line) for line in done.stdout.splitlines()),
        last_message=staged.read_text(encoding="utf-8") if staged.exists() else "",
        complaints=done.stderr.decode(),
    )
