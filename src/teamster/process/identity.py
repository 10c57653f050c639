"""Who a process is: a pid alone may have been used again, a pid with its start time and boot may not."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from teamster.kit import SystemClock, is_locked
from teamster.model import HostId, ProcessIdentity, UsageError
from teamster.process.nursery import boot_seconds, read_stat

LOCK_FREE_SECONDS_MAX: Final = 5.0  # a killed process frees its locks when the kernel has taken it apart
LOCK_LOOK_SECONDS: Final = 0.002
HOST_ID_CHARACTERS: Final = 16
FIRST_PID_NAMESPACE: Final = "pid:[4026531836]"  # what the kernel calls the one that it boots with
_GONE_STATES: Final = "ZX"  # a zombie holds nothing any more, and may stay for ever where init does not reap


def require_linux(platform: str) -> None:
    """Refuse to go on where processes can't be ended for certain.

    Raises:
        UsageError: `platform`, as `sys.platform` says it, is not Linux.
    """
    if platform != "linux":
        raise UsageError(
            f"agents can't be run on {platform}: ending a process tree for certain needs Linux",
            hint="run teamster on Linux 5.4 or newer: a container or a virtual machine will do",
        )


@cache
def boot_id() -> str:
    """Return the name of this boot of the machine; it can't change while we live."""
    return SystemClock().now().boot_id


def identity_of(pid: int) -> ProcessIdentity | None:
    """Return who has this pid now; None where nobody has, or only a zombie."""
    stat = read_stat(pid)
    if stat is None or stat[0] in _GONE_STATES:
        return None
    return ProcessIdentity(boot_id=boot_id(), pid=pid, start_ticks=stat[2])


def own_identity() -> ProcessIdentity:
    """Return who we are."""
    identity = identity_of(os.getpid())
    assert identity is not None, "the process that asks is alive"
    return identity


def is_alive(identity: ProcessIdentity) -> bool:
    """Tell whether exactly this process lives."""
    return identity_of(identity.pid) == identity


def open_exactly(identity: ProcessIdentity) -> int | None:
    """Return a pidfd of exactly this process, or None where it is gone. The caller closes it."""
    try:
        descriptor = os.pidfd_open(identity.pid)
    except OSError:
        return None
    if is_alive(identity):  # looked at after the pidfd was there: it is its process, or had already ended
        return descriptor
    os.close(descriptor)
    return None


@contextlib.contextmanager
def hold_exactly(identity: ProcessIdentity) -> Iterator[int | None]:
    """Have a pidfd of exactly this process for a block."""
    descriptor = open_exactly(identity)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def signal_exactly(identity: ProcessIdentity, number: signal.Signals) -> bool:
    """Send a signal to exactly this process; False where it is gone."""
    with hold_exactly(identity) as descriptor, contextlib.suppress(ProcessLookupError):
        if descriptor is not None:
            signal.pidfd_send_signal(descriptor, number)
            return True
    return False


def end_harness(identity: ProcessIdentity, lock: Path, *, seconds_max: float = LOCK_FREE_SECONDS_MAX) -> bool:
    """Kill a stopped or hung harness that still holds its shift's lock; True once it holds it no more.

    A harness whose lock is free is left alone: it gave that shift back, and may work under another one. A missing
    lock proves nothing: then only the end of the process counts.
    """
    give_up_at = boot_seconds() + seconds_max
    must_die = bool(is_locked(lock)) and identity != own_identity() and signal_exactly(identity, signal.SIGKILL)
    while (held := is_locked(lock)) or (must_die and is_alive(identity)):  # it may hold a database's lock a bit longer
        if boot_seconds() >= give_up_at:
            return False
        select.select([], [], [], LOCK_LOOK_SECONDS)
    return held is not None or not is_alive(identity)


def host_id(
    *, machine_id: Path = Path("/etc/machine-id"), pid_namespace: Path = Path("/proc/self/ns/pid"), hostname: str = ""
) -> HostId:
    """Return a name of this host that stays the same; it tells nothing about the machine.

    In a container the name holds the PID namespace too: pids of another one mean nothing here.
    """
    source = ""
    with contextlib.suppress(OSError):
        source = machine_id.read_text(encoding="ascii").strip()
    source = source or hostname or socket.gethostname()
    with contextlib.suppress(OSError):
        namespace = str(pid_namespace.readlink())
        source += "" if namespace == FIRST_PID_NAMESPACE else namespace
    return HostId(f"host_{sha256(f'teamster {source}'.encode()).hexdigest()[:HOST_ID_CHARACTERS]}")
