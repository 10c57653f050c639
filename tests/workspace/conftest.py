"""Real repositories in a temporary folder, and observers of them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from teamster.kit import CountedNames, SystemClock
from teamster.process import ToolResult, run_tool
from teamster.workspace import Limits, WorkspaceFacts, Workspaces

GIT = shutil.which("git") or "git"
SECONDS_MAX = 30.0
WHO = {
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "PATH": "/usr/bin:/bin",
}


class HeardTools:
    """Runs tools as the harness does, and remembers what was run."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout_seconds: float,
        output_bytes_max: int,
        stdin: bytes = b"",
    ) -> ToolResult:
        """Run a tool to its end."""
        self.calls.append(tuple(argv[1:]))
        return run_tool(
            argv, cwd=cwd, env=env, timeout_seconds=timeout_seconds, output_bytes_max=output_bytes_max, stdin=stdin
        )


class Repo:
    """A repository of a user, worked on as a person or an agent would."""

    def __init__(self, path: Path, *, init: bool = True) -> None:
        self.path = path
        if init:
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        """Run git as the user does."""
        return subprocess.run(
            [GIT, *arguments], cwd=self.path, env=WHO, capture_output=True, text=True, timeout=SECONDS_MAX, check=True
        ).stdout.strip()

    def write(self, name: str, content: str | bytes = "text\n") -> Path:
        """Write a file and the folders that it needs."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place

    def commit(self, message: str = "change") -> str:
        """Commit everything and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")


def changed_paths(facts: WorkspaceFacts) -> dict[str, str]:
    """Return what changed, by path."""
    return {path: change.value for path, change in facts.files}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Return a repository with two files in one commit."""
    made = Repo(tmp_path / "repo")
    made.write("kept.txt", "one\ntwo\n")
    made.write("sub/inner.txt", "inner\n")
    made.commit("first")
    return made


@pytest.fixture
def tools() -> HeardTools:
    """Return what runs git."""
    return HeardTools()


Observer = Callable[..., Workspaces]


@pytest.fixture
def observer(tmp_path: Path, tools: HeardTools) -> Observer:
    """Return what makes an observer; two calls are two harnesses on one root."""
    names = CountedNames()

    def make(*, limits: Limits | None = None, git: Path | None = Path(GIT)) -> Workspaces:
        return Workspaces(
            tmp_path / "root" / "workspaces",
            tools=tools,
            git=git,
            clock=SystemClock(),
            names=names,
            limits=limits,
        )

    return make


@pytest.fixture
def workspaces(observer: Observer) -> Workspaces:
    """Return an observer with the usual limits."""
    return observer()
