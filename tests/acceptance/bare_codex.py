"""The real Codex, called as anybody might call it by hand: without what Teamster does around it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from teamster.rehearsal import Model

CODEX_SECONDS_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BareCodex:
    """Codex in a folder of its own, on a scripted model."""

    folder: Path
    model: Model

    def run(
        self,
        prompt: str,
        *,
        home: Path,
        session: str | None = None,
        databases: Path | None = None,
        how: str = "resume",
        work: str = "work",
    ) -> str:
        """Take one turn and return the thread's id; without `databases` they lie in the home, as Codex likes it.

        A `session` is resumed, or forked; `--last` is one, too.
        """
        done = self.call(prompt, home=home, session=session, databases=databases, how=how, work=work)
        assert done.returncode == 0, done.stderr
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return next(str(event["thread_id"]) for event in events if event["type"] == "thread.started")

    def call(
        self,
        prompt: str,
        *,
        home: Path,
        session: str | None = None,
        databases: Path | None = None,
        how: str = "resume",
        work: str = "work",
    ) -> subprocess.CompletedProcess[str]:
        """Take one turn, however it ends."""
        home.mkdir(exist_ok=True)
        (self.folder / work).mkdir(exist_ok=True)
        before = [] if session is None else [how]
        thread = [] if session is None else [session]
        place = ["-s", "read-only", "-C", str(self.folder / work)]
        options = ["--json", "--skip-git-repo-check", *self.model.codex_arguments()]
        return subprocess.run(
            [str(bundled_codex_path()), "exec", *place, *before, *options, *thread, prompt],
            env=self._environment(home, databases),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CODEX_SECONDS_MAX,
            check=False,
        )

    def _environment(self, home: Path, databases: Path | None) -> dict[str, str]:
        env = {"HOME": str(self.folder), "PATH": os.environ["PATH"], "CODEX_HOME": str(home)}
        if databases is not None:
            databases.mkdir(exist_ok=True)
            env["CODEX_SQLITE_HOME"] = str(databases)
        return {**self.model.agent_env(env), self.model.key_variable: self.model.key}
