"""A folder's contents, deepest last, without following a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from teamster.model import WorldError

ENTRIES_MAX: Final = 100_000


class Kind(Enum):
    """What lies under a name."""

    FILE = auto()
    FOLDER = auto()
    OTHER = auto()  # a link, a device, a socket, a pipe


@dataclass(frozen=True, slots=True)
class Entry:
    """One name. `name` is relative to where the walk began, with `/`."""

    name: str
    kind: Kind


def walk(folder: Path, *, entries_max: int = ENTRIES_MAX) -> Iterator[Entry]:
    """Yield all that lies in and below a folder, a folder before its contents; nothing where there is no folder.

    Raises:
        WorldError: there is more than `entries_max`, or a folder can't be read.
    """
    waiting = [""]
    count = 0
    while waiting:
        above = waiting.pop()
        for entry in listing(f"{folder}/{above}" if above else folder):
            count += 1
            if count > entries_max:
                raise WorldError(f"{folder} holds more than {entries_max} names")
            name = f"{above}/{entry.name}" if above else entry.name
            if entry.kind is Kind.FOLDER:
                waiting.append(name)
            yield Entry(name, entry.kind)


def listing(folder: Path | str) -> list[Entry]:
    """Return what lies in a folder, by name; nothing where it is gone, or a link.

    Raises:
        WorldError: it can't be read.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise WorldError(f"{folder} can't be read: {error.strerror}") from error
    try:
        with os.scandir(descriptor) as found:
            return sorted((Entry(entry.name, _kind(entry)) for entry in found), key=lambda entry: entry.name)
    except OSError as error:
        raise WorldError(f"{folder} can't be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_file(follow_symlinks=False):
        return Kind.FILE
    return Kind.FOLDER if entry.is_dir(follow_symlinks=False) else Kind.OTHER
