"""Folders beneath the root, opened one after the other without following a link."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path, PurePosixPath
from typing import Final

from teamster.kit import OutsideRoot

FOLDER_MODE: Final = 0o700
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_folder(base: Path, relative: str) -> int:
    """Open a folder beneath `base`, making what is missing, and return its descriptor.

    Raises:
        OutsideRoot: the path is absolute, climbs, or passes a link.
        OSError: the disk failed.
    """
    parts = PurePosixPath(relative).parts
    if relative.startswith("/") or ".." in parts:
        raise OutsideRoot(relative, "is not a path beneath its root")
    folder = os.open(base, _FOLDER)
    for part in parts:
        try:
            child = open_child(folder, part)
        finally:
            os.close(folder)
        folder = child
    return folder


def open_child(folder: int, name: str) -> int:
    """Open a folder in an open folder, making it if it is missing, and return its descriptor.

    Raises:
        OutsideRoot: it is a link, or something that is no folder.
        OSError: the disk failed.
    """
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # somebody was quicker
            os.mkdir(name, FOLDER_MODE, dir_fd=folder)
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError as error:
        raise OutsideRoot(name, "passes a link, or something that is no folder") from error
