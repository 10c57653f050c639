"""Files in four classes: one function writes each, and nothing else writes what is kept.

| class | function | meaning |
| --- | --- | --- |
| write-once | `write_once` | appears whole, never changes; other bytes under its name are refused |
| append-only | `append` | grows at its end only |
| atomic snapshot | `write_snapshot` | replaced as a whole by its one writer; a reader sees the old or the new one |
| mutable index | `write_snapshot` | the same bytes law, derived from other files, safe to be stale |

A name that ends in `.tmp` is a leftover of a death between write and rename; sweeps remove it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
FROZEN_MODE = 0o444
TEMPORARY_SUFFIX = ".tmp"


class NameTaken(Exception):
    """A write-once name is taken by other bytes."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists with other content and is written only once")
        self.path = path


def make_folder(path: Path) -> None:
    """Make a folder and its parents, readable by their owner alone."""
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(path.parent)
        with contextlib.suppress(FileExistsError):  # somebody was quicker
            path.mkdir(mode=FOLDER_MODE)


def write_snapshot(path: Path, content: bytes, *, mode: int = FILE_MODE) -> None:
    """Replace a file as a whole: temporary name in the same folder, write, rename. Not flushed."""
    os.rename(_write_temporary(path, content, mode=mode), path)  # noqa: PTH104 - a name is enough, and hot


def write_once(path: Path, content: bytes, *, mode: int = FROZEN_MODE) -> None:
    """Make a file that never changes. The same bytes again are a repeat; not flushed.

    Raises:
        NameTaken: the name has other bytes.
    """
    temporary = _write_temporary(path, content, mode=mode)
    try:
        os.link(temporary, path)
    except FileExistsError:
        if not _holds(path, content):
            raise NameTaken(path) from None
    finally:
        os.unlink(temporary)  # noqa: PTH108 - as above


def append(path: Path, content: bytes) -> None:
    """Add bytes to the end of a file. Not flushed."""
    # A pipe that lies there has no reader: it is refused, not waited for.
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        _write_all(descriptor, content)
    finally:
        os.close(descriptor)


def freeze(path: Path) -> None:
    """Take the right to write away from one file; links, folders and all that is no file are left alone."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, FROZEN_MODE)
    finally:
        os.close(descriptor)


def _write_temporary(path: Path, content: bytes, *, mode: int) -> str:
    temporary = f"{path}.{os.getpid()}{TEMPORARY_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(temporary, flags, FILE_MODE)
    except FileExistsError:
        # A leftover of a process that had our pid may be frozen: it is replaced, not written into.
        os.unlink(temporary)  # noqa: PTH108 - as above
        descriptor = os.open(temporary, flags, FILE_MODE)
    try:
        _write_all(descriptor, content)
        if mode != FILE_MODE:
            os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)
    return temporary


def _holds(path: Path, content: bytes) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False  # a link, or nothing that we may read: not what we wrote
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return False
    with os.fdopen(descriptor, "rb") as file:
        return file.read(len(content) + 1) == content


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
