"""Paths that stay beneath a root and follow no link."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class OutsideRoot(Exception):
    """A path leaves its root, passes a link, or names something that is no regular file."""

    def __init__(self, path: str, fact: str) -> None:
        super().__init__(f"{path!r} {fact}")
        self.path = path


def open_beneath(root: Path, relative: str) -> int:
    """Open a regular file beneath `root` for reading and return its descriptor.

    Each folder on the way is opened without following links, and the decision is made on the opened file,
    so that nothing can be swapped in between.

    Raises:
        OutsideRoot: the path is absolute, climbs, passes a link or ends at something else than a file.
        FileNotFoundError: there is nothing.
    """
    parts = [part for part in relative.split("/") if part not in {"", "."}]
    if not parts or relative.startswith("/") or ".." in parts or "\0" in relative:
        raise OutsideRoot(relative, "is not a path beneath its root")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            child = _open_at(folder, part, relative, os.O_DIRECTORY)
            os.close(folder)
            folder = child
        descriptor = _open_at(folder, parts[-1], relative, os.O_NONBLOCK)
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


def _open_at(folder: int, name: str, relative: str, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except (OSError, UnicodeEncodeError) as error:
        raise OutsideRoot(relative, f"cannot be opened without following a link: {error}") from error
