"""Advisory locks that the kernel frees when their holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from teamster.kit.files import FILE_MODE


class FileLock:
    """An exclusive `flock`, held until closed or until the process is gone."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        """Take the lock, or `wait` until its holder gives it back.

        Raises:
            BlockingIOError: somebody holds it, and we don't wait.
        """
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            os.close(self._descriptor)
            raise

    def close(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        """Hold the lock for a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self.close()


def is_locked(path: Path) -> bool | None:
    """Probe a lock without making anything: held, free, or None where no such file exists, or a link in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
            return None
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
