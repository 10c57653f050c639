"""Locks between real processes: held while the holder lives, free the moment it is gone."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from teamster.kit import FileLock, is_locked

SECONDS_MAX: Final = 20
HOLDER: Final = """
import sys
from pathlib import Path
from teamster.kit import FileLock
with FileLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
ASKER: Final = """
import sys
from pathlib import Path
from teamster.kit import is_locked
print(is_locked(Path(sys.argv[1])))
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Let another process hold the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


def test_two_processes_never_hold_one_lock(tmp_path: Path) -> None:
    """That is what a lock is for."""
    path = tmp_path / "lock"
    with holder(path), pytest.raises(BlockingIOError):
        FileLock(path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_lock_is_free_the_moment_its_holder_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    """Liveness on one host is exact, without a clock."""
    path = tmp_path / "lock"
    with holder(path) as process:
        assert is_locked(path) is True

        process.send_signal(number)
        process.wait(SECONDS_MAX)

        assert is_locked(path) is False


def test_a_stopped_process_keeps_its_lock(tmp_path: Path) -> None:
    """Stopped is not dead: who takes over has to end it first."""
    path = tmp_path / "lock"
    with holder(path) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)

        assert is_locked(path) is True


def test_a_waiting_taker_gets_it_when_its_holder_is_gone(tmp_path: Path) -> None:
    """Without a loop that asks and asks."""
    path = tmp_path / "lock"
    with holder(path) as process:
        assert process.stdin is not None
        process.stdin.close()
        with FileLock(path, wait=True):
            assert is_locked(path) is True


def test_another_process_sees_ours(tmp_path: Path) -> None:
    """Held, then free again."""
    path = tmp_path / "lock"
    ask = [sys.executable, "-c", ASKER, str(path)]
    with FileLock(path):
        assert subprocess.run(ask, capture_output=True, timeout=SECONDS_MAX, check=True).stdout == b"True\n"
    assert subprocess.run(ask, capture_output=True, timeout=SECONDS_MAX, check=True).stdout == b"False\n"


def test_a_lock_is_not_passed_to_a_program_that_is_started(tmp_path: Path) -> None:
    """An agent that inherited it would keep a dead harness alive."""
    path = tmp_path / "lock"
    lock = FileLock(path)
    sleeper = [sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"]
    with subprocess.Popen(sleeper, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout is not None
        child.stdout.readline()
        lock.close()

        assert is_locked(path) is False


def test_a_probe_creates_nothing(tmp_path: Path) -> None:
    """A missing file proves nothing, and stays missing."""
    assert is_locked(tmp_path / "lock") is None
    assert list(tmp_path.iterdir()) == []


def test_probes_do_not_hinder_each_other(tmp_path: Path) -> None:
    """Many may look at once: a probe takes a shared lock."""
    path = tmp_path / "lock"
    path.touch()
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)

        assert is_locked(path) is False


def test_a_probe_takes_nothing_with_it(tmp_path: Path) -> None:
    """Right after it, the lock can be had."""
    path = tmp_path / "lock"
    path.touch()
    is_locked(path)
    with FileLock(path) as lock:
        assert lock.path == path
        assert path.stat().st_mode & 0o077 == 0o044  # it was there before, with its own mode


def test_a_lock_is_given_back_once(tmp_path: Path) -> None:
    """A second close must not close a descriptor that is somebody else's by now."""
    lock = FileLock(tmp_path / "lock")
    lock.close()
    with (tmp_path / "other").open("wb") as other:
        lock.close()
        other.write(b"still open")


def test_a_refused_lock_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """Takers try again and again."""
    path = tmp_path / "lock"
    with FileLock(path):
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            with pytest.raises(BlockingIOError):
                FileLock(path)
            is_locked(path)

        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_no_link_is_taken_for_a_lock(tmp_path: Path) -> None:
    """It would lock a file of somebody else."""
    (tmp_path / "target").touch()
    (tmp_path / "lock").symlink_to("target")

    with pytest.raises(OSError, match="link"):
        FileLock(tmp_path / "lock")
    assert is_locked(tmp_path / "lock") is None
