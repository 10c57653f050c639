"""The real programs, called by their plans; where `make agents` puts them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from agents.requests import request
from teamster.agents import Agent, Reading
from teamster.model import RUN_REPORT_SCHEMA, Exited, Signalled
from teamster.policy import Facts, Verdict, decide, report_problems
from teamster.rehearsal import Model

LOCK: Final = Path(__file__).parents[2] / "requirements" / "agents-lock.json"
SECONDS_MAX: Final = 120
PLACES: Final[Mapping[str, str]] = {
    "claude": "@anthropic-ai/claude-code-linux-x64/claude",
    "opencode": "opencode-linux-x64/bin/opencode",
}


def program_of(agent: str) -> str:
    """Find a program in the cache, or skip the test in one plain line."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    program = caches / "teamster" / "agents" / digest / PLACES[agent]
    if not program.exists():
        pytest.skip(f"{agent} is not here: `make agents` fetches it where npm is")
    return str(program)


def output_of(argv: tuple[str, ...], folder: Path) -> str:
    """Return what a call prints."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS_MAX, check=True, env=env)
    return done.stdout + done.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run of a real program ended."""

    code: int
    reading: Reading
    stderr: str
    report_text: str | None
    asked: str | None

    @property
    def verdict(self) -> Verdict:
        """What we conclude from it."""
        return decide(
            Facts(
                outcome=Exited(self.code) if self.code >= 0 else Signalled(-self.code),
                announces_end=True,
                requires_report=True,
                events=self.reading.events,
                terminal=self.reading.terminal,
                errors=self.reading.errors,
                report=report_problems(self.report_text, RUN_REPORT_SCHEMA),
                asked_thread=self.asked,
                returned_thread=self.reading.thread_id,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A folder where the attempts of one test run, each with a home of its own."""

    agent: Agent
    model: Model
    folder: Path
    path: str = field(default_factory=lambda: os.environ["PATH"])

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.folder / "work"

    def home(self, step: str) -> Path:
        """Return the home of a step's attempt."""
        return self.folder / step / "home"

    def run(self, step: str, **changes: Any) -> Run:
        """Run one attempt to its end."""
        pointing = self.model.pointing(self.agent.name)
        assert pointing is not None
        scratch = self.folder / step / "scratch"
        env = {"PATH": self.path, "HOME": str(self.folder), "LANG": "C.UTF-8"}
        asked = request(
            working_directory=self.work,
            home=self.home(step),
            scratch=scratch,
            staging=scratch,
            job_id="docs",
            step_id=step,
            base_env=self.model.agent_env(env),
            key=pointing.key,
            key_variable=pointing.key_variable,
            variables=pointing.env,
            **{"sandbox": "danger-full-access", "model": pointing.model, **changes},
        )
        plan = self.agent.plan(asked)
        for folder in (self.work, asked.home, *(scratch / name for name in plan.folders)):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in plan.files:
            (scratch / name).write_bytes(content)
        with (scratch / str(plan.stdin_file)).open("rb") as stdin:
            done = subprocess.run(
                plan.argv,
                env=dict(plan.env),
                cwd=self.work,
                stdin=stdin,
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        decoder = self.agent.decoder()
        for line in done.stdout.splitlines():
            decoder.feed(line)
        reading = decoder.reading
        return Run(
            code=done.returncode,
            reading=reading,
            stderr=done.stderr.decode("utf-8", "replace"),
            report_text=self.agent.report_text(reading, None),
            asked=asked.session,
        )

    def carry(self, thread: str, *, source: str, to: str) -> Mapping[str, bytes]:
        """Copy the closure of a session into the home of another step, and return what the source holds."""
        home = self.home(source)
        names = [file.relative_to(home).as_posix() for file in home.rglob("*") if file.is_file()]
        held = {name: (home / name).read_bytes() for name in self.agent.closure(names, thread)}
        assert all(self.agent.is_session_file(name) for name in held)
        for name, content in held.items():
            place = self.home(to) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return held
