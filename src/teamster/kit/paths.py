"""Paths that stay beneath a root and follow no link."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from functools import cache
from pathlib import Path
from typing import Final

_OPENAT2: Final = 437  # its number is the same on every architecture
_RESOLVE: Final = 0x02 | 0x04 | 0x08  # no magic links, no links, beneath
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EPERM, errno.EAGAIN, errno.EINTR})  # an old kernel, a busy tree
_libc: Final = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    """What `openat2` is asked for."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class OutsideRoot(Exception):
    """A path leaves its root, passes a link, or names something that is no regular file."""

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(f"{path!r} {fact}")
        self.path = path


def open_beneath(root: Path, relative: str) -> int:
    """Open a regular file beneath `root` for reading and return its descriptor.

    No link is followed on the way, and the decision is made on the opened file, so that nothing can be swapped in
    between.

    Raises:
        OutsideRoot: the path is absolute, climbs, passes a link or ends at something else than a file.
        FileNotFoundError: there is nothing.
    """
    parts = [part for part in relative.split("/") if part not in {"", "."}]
    if not parts or relative.startswith("/") or ".." in parts or "\0" in relative:
        raise OutsideRoot(relative, "is not a path beneath its root")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        descriptor = _open_parts(folder, parts)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeEncodeError) as error:
        raise OutsideRoot(relative, f"cannot be opened without following a link: {error}") from error
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OutsideRoot(relative, "is no regular file")
    return descriptor


def read_beneath(root: Path, relative: str, *, bytes_max: int) -> bytes:
    """Read a regular file beneath `root`.

    Raises:
        OutsideRoot: see `open_beneath`, or the file is larger than `bytes_max`.
        FileNotFoundError: there is nothing.
    """
    with os.fdopen(open_beneath(root, relative), "rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise OutsideRoot(relative, f"is larger than {bytes_max} bytes")
    return content


def open_folder_at_once(folder: int, relative: str) -> int | None:
    """Open a folder beneath an open one by one call; None where that can't be done, and who needs it goes by steps."""
    try:
        return _openat2(folder, relative, os.O_DIRECTORY)
    except OSError:
        return None


def _open_parts(folder: int, parts: list[str]) -> int:
    """Open a path by one call where the kernel has it, else folder by folder."""
    try:
        return _openat2(folder, "/".join(parts), os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NOT_HERE:
            return open_step_by_step(folder, parts)
        raise


def _openat2(folder: int, relative: str, flags: int) -> int:
    how = _how(flags)
    descriptor = int(_libc.syscall(_OPENAT2, folder, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how)))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return descriptor


@cache
def _how(flags: int) -> _How:
    return _How(flags=os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, mode=0, resolve=_RESOLVE)


def open_step_by_step(folder: int, parts: list[str]) -> int:
    """Open a path beneath an open folder, each folder on the way without following a link."""
    own: list[int] = []
    try:
        for part in parts[:-1]:
            folder = _open_at(folder, part, os.O_DIRECTORY)
            own.append(folder)
        return _open_at(folder, parts[-1], os.O_NONBLOCK)
    finally:
        for descriptor in own:
            os.close(descriptor)


def _open_at(folder: int, name: str, flags: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, dir_fd=folder)
