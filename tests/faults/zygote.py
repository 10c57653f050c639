"""A process that has imported everything and forks workers on demand: a start costs a fork, not an import.

It is exec'd, single-threaded and holds no database. One line asks, one line answers; at end of file it kills all
workers that nobody waited for, and leaves. Workers die with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from faults.worker import work
from faults.writer import write

PR_SET_PDEATHSIG: Final = 1
KINDS: Final[Mapping[str, Callable[..., None]]] = MappingProxyType({"worker": work, "writer": write})
_libc = ctypes.CDLL(None)


def fork(asked: dict[str, Any]) -> int:
    """Start a worker and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.close(0)
        KINDS[asked.pop("kind", "worker")](**asked)
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent is told by the exit code and by stderr
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    """Serve until end of file."""
    living: set[int] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            living.discard(asked["wait"])
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = fork(asked)
            living.add(answer)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in living:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
