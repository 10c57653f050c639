"""Reads the files that a person named: regular ones, bounded, each once."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from teamster.kit import OutsideRoot, open_beneath


class Unreadable(Exception):
    """A file that can't be taken; the text says why."""


def read_regular(path: Path, *, bytes_max: int) -> bytes:
    """Read a regular file, wherever it lies. Links are followed: a person wrote the path.

    Raises:
        Unreadable: it is missing, no regular file, or larger than `bytes_max`.
    """
    try:
        # Without O_NONBLOCK a named pipe would keep us waiting for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        return _take(descriptor, path, bytes_max=bytes_max)
    except OSError as error:
        raise Unreadable(f"{path}: {(error.strerror or 'unreadable').lower()}") from error


def read_within(path: Path, folders: Sequence[Path], *, bytes_max: int) -> bytes:
    """Read a regular file that lies beneath one of some folders; `path` and `folders` have no link in them.

    Raises:
        Unreadable: it lies elsewhere, is missing, no regular file, or larger than `bytes_max`.
    """
    home = next((folder for folder in folders if path.is_relative_to(folder)), None)
    if home is None:
        raise Unreadable(f"{path} lies outside {' and '.join(str(folder) for folder in folders)}")
    try:
        # Opened without following links: what was a file a moment ago can't have become a way out.
        descriptor = open_beneath(home, path.relative_to(home).as_posix())
        return _take(descriptor, path, bytes_max=bytes_max)
    except OutsideRoot as error:
        raise Unreadable(str(error)) from error
    except OSError as error:
        raise Unreadable(f"{path}: {(error.strerror or 'unreadable').lower()}") from error


def as_text(content: bytes, path: Path) -> str:
    """Decode a file as UTF-8, without a byte order mark.

    Raises:
        Unreadable: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 text: byte {error.start} is wrong") from error


def _take(descriptor: int, path: Path, *, bytes_max: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(f"{path} is no regular file")
        # What is too large is not read at all; what grows meanwhile, or lies about its size, is read up to the limit.
        content = b"" if found.st_size > bytes_max else file.read(bytes_max + 1)
    size = max(found.st_size, len(content))
    if size > bytes_max:
        raise Unreadable(f"{path} has {size} bytes, the limit is {bytes_max}")
    return content
