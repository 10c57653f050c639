"""Start a program that outlives us: no child of ours, so that it neither dies with us nor stays behind as a zombie."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from teamster.model import ProcessIdentity, WorldError

SPAWN_SECONDS_MAX: Final = 30.0
LOG_MODE: Final = 0o600
COMPLAINT_CHARACTERS_MAX: Final = 500

_START: Final = """\
import os, signal, sys
pid = os.fork()
if pid == 0:
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, int(sys.argv[2], 8))
    os.dup2(log, 1), os.dup2(log, 2)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL), signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execve(sys.argv[3], sys.argv[3:], os.environ)
    except OSError as error:
        print(f"{sys.argv[3]} can't be started: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)
with open(f"/proc/{pid}/stat", "rb") as file:
    ticks = file.read().rpartition(b")")[2].split()[19].decode()
with open("/proc/sys/kernel/random/boot_id") as file:
    print(pid, ticks, file.read().strip())
"""
"""What the process in between does: it starts the program, says who that is, and leaves, so that the program has no
parent but the system. It reads the start time while the program is still its child and can't be taken for another."""


def spawn_daemon(argv: tuple[str, ...], *, env: Mapping[str, str], log_path: Path) -> ProcessIdentity:
    """Start a program in a session of its own, its input the null device, its output added to a log.

    `argv[0]` is a path, `env` the whole environment. What goes wrong after the start stands in the log.

    Raises:
        WorldError: nothing was started.
    """
    if not Path(argv[0]).is_file() or not os.access(argv[0], os.X_OK):
        raise WorldError(f"{argv[0]} can't be started: it is no program")
    try:
        started = subprocess.run(  # noqa: S603 - the caller names the program, no shell reads it
            [sys.executable, "-I", "-S", "-c", _START, str(log_path), f"{LOG_MODE:o}", *argv],
            env=dict(env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SPAWN_SECONDS_MAX,
            start_new_session=True,
            check=False,
        )
        pid, ticks, boot_id = started.stdout.split()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorldError(f"{argv[0]} can't be started: {error}") from error
    except ValueError:
        raise WorldError(f"{argv[0]} can't be started: {started.stderr[-COMPLAINT_CHARACTERS_MAX:]}") from None
    if started.stderr:  # once its log is open, it complains there
        raise WorldError(f"{argv[0]} can't be started: {started.stderr[-COMPLAINT_CHARACTERS_MAX:]}")
    return ProcessIdentity(boot_id=boot_id, pid=int(pid), start_ticks=int(ticks))
