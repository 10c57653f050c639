"""The private folders of attempts: laid out, taken back after the end, used again or removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from teamster.kit import append, make_folder

SCRATCH: Final = "scratch"
BASELINE: Final = "baseline.json"
FREE_MAX: Final = 256  # folders that wait for their next attempt
KEPT_MAX: Final = 10_000  # folders that wait for their removal; beyond it the oldest goes at once
PENDING_MAX: Final = 256  # removals; beyond it who asks for more waits
LOCK: Final = "lock"
SWEPT: Final = ".swept"  # ends the name of a folder that is being removed: no id has a dot
_STREAMS: Final = frozenset({"control", "stdout", "stderr"})
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Spools:
    """One spool for each attempt under care, named after its run.

    A file system does not use a name's place again soon after it was removed (ext4 waits for minutes, and looks at
    each such place for every new file): removing while new attempts start makes each of them dearer than the last. So
    a spool that is as we laid it out is emptied and renamed for the next attempt. All others are removed by a thread,
    when nothing else is to do; what it did not get to before a death, the next start sweeps. No link is followed: an
    agent may have put one there.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spools")
        self._free: list[Path] = []
        self._kept: deque[Path] = deque()
        self._pending: deque[Future[None]] = deque()

    def lay_out(self, place: Path, *, folders: Iterable[str] = (), files: Iterable[tuple[str, bytes]] = ()) -> None:
        """Make an attempt's spool; `folders` and `files` lie in its scratch folder.

        Raises:
            OSError: the disk failed.
        """
        scratch = place / SCRATCH
        if not self._use_again(place):
            make_folder(place)
            make_folder(scratch)
        for folder in folders:
            make_folder(scratch / folder)
        for name, content in files:
            append(scratch / name, content)

    def take_back(self, place: Path, *, files: frozenset[str] = frozenset()) -> None:
        """Empty the spool of an attempt whose end is durable, or put it aside; `files` is what its scratch may hold."""
        if len(self._free) < FREE_MAX and _try_to_empty(place, files):
            self._free.append(place)
            return
        self._kept.append(place)
        if len(self._kept) > KEPT_MAX:
            self._start()

    def tidy(self) -> None:
        """Use a quiet moment, as far as it goes without waiting."""
        while self._pending and self._pending[0].done():
            self._pending.popleft().result()
        while self._kept and len(self._pending) < PENDING_MAX:
            self._start()

    def close(self) -> None:
        """Remove all that is left, and wait for it."""
        self._kept += self._free
        self._free.clear()
        while self._kept:
            self._start()
        self._thread.shutdown()

    def _use_again(self, place: Path) -> bool:
        while self._free:
            with contextlib.suppress(FileNotFoundError):  # somebody else swept it
                os.rename(self._free.pop(), place)  # noqa: PTH104 - a name is enough, and hot
                return True
        return False

    def _start(self) -> None:
        if len(self._pending) >= PENDING_MAX:
            self._pending.popleft().result()
        folder = self._kept.popleft()
        self._pending.append(self._thread.submit(shutil.rmtree, folder, ignore_errors=True))


def sweep(place: Path) -> None:
    """Remove a spool that belongs to no attempt.

    Its name goes first: a harness that kept it for its next attempt gets hold of it as a whole, or not at all. What a
    death left under the other name is removed by the next sweep.
    """
    going = place if place.name.endswith(SWEPT) else place.with_name(f"{place.name}{SWEPT}")
    if going != place:
        try:
            os.rename(place, going)  # noqa: PTH104 - as above
        except OSError:  # somebody was quicker, or it can't be had: the next sweep looks again
            return
    shutil.rmtree(going, ignore_errors=True)


def _try_to_empty(place: Path, files: frozenset[str]) -> bool:
    """Empty a spool that holds what we put there and nothing else; tell whether it was such a one.

    The lock goes: an attempt without one has never begun.
    """
    descriptors: list[int] = []
    try:
        descriptors += [top := os.open(place, _FOLDER)]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(BASELINE, dir_fd=top)
        if set(os.listdir(top)) != _STREAMS | {LOCK, SCRATCH}:  # noqa: PTH208 - pathlib takes no descriptor
            return False
        descriptors += [scratch := os.open(SCRATCH, _FOLDER, dir_fd=top)]
        if set(os.listdir(scratch)) != files:  # noqa: PTH208 - as above
            return False
        os.unlink(LOCK, dir_fd=top)
        return all(_try_to_clear(name, top) for name in _STREAMS) and all(
            _try_to_clear(name, scratch) for name in files
        )
    except OSError:
        return False
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _try_to_clear(name: str, folder: int) -> bool:
    """Cut a file to nothing, unless somebody else may still write into it or know it by another name.

    The kernel gives a write lease only where nobody else has the file open: a terminal's server or a service that an
    agent handed its output to would write into the next attempt's.
    """
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or stat.S_IMODE(found.st_mode) != _OWN:
            return False
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # who opens it now breaks the lease: SIGIO would end us
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
    return True


_OWN: Final = 0o600
