"""An agent's home as a folder: what lies in it, and what of it is taken away at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from backports import zstd

from teamster.artifacts.walking import Kind, walk
from teamster.kit import OutsideRoot, open_beneath
from teamster.model import WorldError

SESSION_FILES_MAX: Final = 20_000
PACKED_SUFFIX: Final = ".zst"
WINDOW_LOG_MAX: Final = 24  # 16 MiB: what unpacking may take of the memory, whatever a file says that it needs


def session_files(home: Path) -> tuple[str, ...]:
    """Return the regular files of a home, relative to it and sorted; no link is followed, no home is no file.

    Raises:
        WorldError: there are more than `SESSION_FILES_MAX` names, or a folder can't be read.
    """
    found = (entry.name for entry in walk(home, entries_max=SESSION_FILES_MAX) if entry.kind is Kind.FILE)
    return tuple(sorted(name for name in found if name.isprintable()))


def first_line(home: Path, name: str, *, bytes_max: int) -> bytes:
    """Return a file's first line without its end, at most `bytes_max` of it, unpacked where it is packed (`.zst`).

    Raises:
        WorldError: it is no file beneath the home, or can't be read or unpacked.
    """
    try:
        with os.fdopen(open_beneath(home, name), "rb") as file:
            if not name.endswith(PACKED_SUFFIX):
                return file.readline(bytes_max).rstrip(b"\r\n")
            options = {int(zstd.DecompressionParameter.window_log_max): WINDOW_LOG_MAX}
            with zstd.ZstdFile(file, options=options) as unpacked:
                return unpacked.readline(bytes_max).rstrip(b"\r\n")
    except (OSError, EOFError, OutsideRoot, zstd.ZstdError) as error:
        raise WorldError(f"{name} in {home} can't be read: {error}") from error


def remove_links(home: Path) -> tuple[str, ...]:
    """Remove whatever is neither file nor folder (links to a user's own files above all) and return the names.

    Raises:
        WorldError: one can't be removed.
    """
    removed = tuple(entry.name for entry in walk(home) if entry.kind is Kind.OTHER)
    for name in removed:
        try:
            (home / name).unlink(missing_ok=True)
        except OSError as error:
            raise WorldError(f"{home / name} can't be removed: {error.strerror}") from error
    return removed


def keep_session(home: Path, names: Iterable[str]) -> None:
    """Remove all of a home but its session: links to a user's own files, caches, and what the program makes again.

    A home that was used holds some 70 files and 0.5 MB of those; a batch has hundreds of homes.

    Raises:
        WorldError: something can't be removed.
    """
    kept = set(names)
    entries = list(walk(home))
    try:
        for entry in reversed(entries):
            if entry.kind is not Kind.FOLDER and entry.name not in kept:
                (home / entry.name).unlink(missing_ok=True)
            elif entry.kind is Kind.FOLDER and not any((home / entry.name).iterdir()):
                (home / entry.name).rmdir()
    except OSError as error:
        raise WorldError(f"{home} can't be cleared: {error}") from error
