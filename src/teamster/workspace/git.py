"""Git as a tool that is told everything: no configuration, hook, filter or variable of others reaches it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from teamster.kit import Clock
from teamster.model import WorldError
from teamster.process import ToolResult

PATH: Final = "/usr/bin:/bin"  # git itself is named by its whole path; this is for nobody
ANSWER_BYTES_MAX: Final = 64 << 10  # an object id, or a complaint
COMPLAINT_CHARACTERS_MAX: Final = 200
NO_INDEX: Final = "no-index"
_CLEAN: Final[Mapping[str, str]] = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": os.devnull,
    "LC_ALL": "C",
    "PATH": PATH,
    "XDG_CONFIG_HOME": os.devnull,
}


class Tools(Protocol):
    """Runs a short-lived tool to its end; `teamster.process.run_tool` is one."""

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
        """Run `argv` and return how it ended.

        Raises:
            WorldError: it can't be started.
        """
        ...


class GitFailed(Exception):
    """Git refused, or what it needs is not there."""


class OutOfTime(GitFailed):
    """The time of an observation is over."""


class Budget:
    """The seconds that one observation still has."""

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        self._clock = clock
        self._ends_at = clock.now().boot_seconds + seconds

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            OutOfTime: there are none.
        """
        seconds = self._ends_at - self._clock.now().boot_seconds
        if seconds <= 0:
            raise OutOfTime("the time for looking at the workspace is over")
        return seconds


class Git:
    """Runs git on one working tree, with a git directory that belongs to the harness."""

    def __init__(self, *, program: Path, tools: Tools, folder: Path, top: Path, budget: Budget) -> None:
        self._program = str(program)
        self._tools = tools
        self._folder = folder
        self._budget = budget
        self._env = {**_CLEAN, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(top)}

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run a command with a short answer, which is returned.

        Raises:
            GitFailed: it failed.
        """
        answer, truncated = self.listing(*arguments, stdin=stdin, bytes_max=ANSWER_BYTES_MAX)
        if truncated:
            raise GitFailed(f"git {arguments[0]} said more than expected")
        return answer

    def listing(
        self, *arguments: str, bytes_max: int, stdin: bytes = b"", with_index: bool = True
    ) -> tuple[bytes, bool]:
        """Run a command with a long answer; return at most `bytes_max` of it, and whether there was more.

        Without the index git finds no attributes, so none can hide a change from a comparison of trees.

        Raises:
            GitFailed: it failed.
        """
        try:
            result = self._tools(
                (self._program, *arguments),
                cwd=self._folder,
                env={**self._env, "GIT_INDEX_FILE": str(self._folder / ("index" if with_index else NO_INDEX))},
                timeout_seconds=self._budget.left(),
                output_bytes_max=bytes_max,
                stdin=stdin,
            )
        except WorldError as error:
            raise GitFailed(error.fact) from error
        if result.timed_out:
            raise OutOfTime(f"git {arguments[0]} took too long")
        if result.exit_code != 0:
            complaint = result.stderr.decode("utf-8", "replace").strip()[:COMPLAINT_CHARACTERS_MAX]
            raise GitFailed(f"git {arguments[0]} ended with {result.exit_code}: {complaint}")
        return result.stdout, result.truncated
