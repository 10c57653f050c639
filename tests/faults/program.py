"""The real program as a process: started, killed, started again, and asked what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from teamster.rehearsal import stop_model

LOOK_SECONDS: Final = 0.02
ENDS_SECONDS_MAX: Final = 90.0
GOAL: Final = "Every sentence of this goal says that nothing may run twice and that nothing may be lost. " * 12


@dataclass(frozen=True)
class Program:
    """`teamster` with a root of its own."""

    root: Path

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own; whatever it starts is in other sessions."""
        return subprocess.Popen(
            [sys.executable, "-m", "teamster", *arguments, "--root", str(self.root), "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "TEAMSTER_SHIFT_TTL_SECONDS": "30"},
        )

    def call(self, *arguments: str, codes: Sequence[int] = (0,)) -> dict[str, Any]:
        """Run a command to its end and return what it answered."""
        process = self.start(*arguments)
        out, complaint = process.communicate(timeout=ENDS_SECONDS_MAX)
        assert process.returncode in codes, (process.returncode, out[-2000:], complaint[-2000:].decode())
        answer: dict[str, Any] = json.loads(out)
        return answer

    def run_and_kill(self, *arguments: str, after_seconds: float) -> bool:
        """Start a command, kill it without a warning after a while, and say whether it was still there."""
        process = self.start(*arguments)
        try:
            process.communicate(timeout=after_seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=ENDS_SECONDS_MAX)
            return True
        return False

    def stop_model(self) -> None:
        """End the scripted model of the rehearsal beside this root."""
        stop_model(self.root.with_name(f"{self.root.name}.rehearsal") / "model")


def write_table(path: Path, jobs: Sequence[Mapping[str, Any]], *, concurrency: int = 4) -> Path:
    """Write a launch table."""
    path.write_text(
        json.dumps({"batch_goal_summary": GOAL, "concurrency": concurrency, "jobs": list(jobs)}), encoding="utf-8"
    )
    return path


def command_step(step_id: str, script: str, **more: Any) -> dict[str, Any]:
    """Write a step that a shell does."""
    return {"step_id": step_id, "agent": "command", "command": ["sh", "-c", script], "prompt": "Do it once.", **more}


def wait_until(holds: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Look again and again until something of the world outside holds; fail at a deadline."""
    pause = threading.Event()
    for _ in range(int(seconds / LOOK_SECONDS)):
        if holds():
            return
        pause.wait(LOOK_SECONDS)
    pytest.fail(f"it did not happen within {seconds} s")


def is_there(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
