"""Workers as real processes: started cheaply, stopped, killed, waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

ZYGOTE: Final = Path(__file__).with_name("zygote.py")
LEAVES_SECONDS_MAX: Final = 30.0


class Swarm:
    """The client of one zygote. A worker keeps its pid until it was waited for, so that a signal hits nobody else."""

    def __init__(self, complaints: Path) -> None:
        self._complaints = complaints
        path = os.pathsep.join(sys.path)
        with complaints.open("ab") as stderr:
            self._zygote = subprocess.Popen(
                [sys.executable, str(ZYGOTE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "PYTHONPATH": path},
            )

    def start(self, **asked: Any) -> int:
        """Start a worker; `faults.worker.work` gets what is asked."""
        return self._ask(asked)

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Stop it, let it go on, or kill it."""
        os.kill(pid, number)

    def wait(self, pid: int) -> int:
        """Wait for its end and return its exit code, negative for a signal."""
        return self._ask({"wait": pid})

    def kill(self, pid: int) -> int:
        """Kill it without a warning and wait for its end; return like `wait`."""
        self.signal(pid, signal.SIGKILL)
        return self.wait(pid)

    def complaints(self) -> str:
        """Return what workers wrote on stderr."""
        return self._complaints.read_text(encoding="utf-8", errors="replace")

    def _ask(self, asked: dict[str, Any]) -> int:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.write(json.dumps(asked).encode() + b"\n")
        self._zygote.stdin.flush()
        return int(self._zygote.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.close()
        self._zygote.wait(timeout=LEAVES_SECONDS_MAX)
        self._zygote.stdout.close()
