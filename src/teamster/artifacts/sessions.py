"""Sessions as files: sealed with their digests when an attempt ends, copied into a fresh home to be resumed.

Which files make up a session is the agent's knowledge; here they are names relative to a home.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from teamster.artifacts.copying import copy_content
from teamster.artifacts.folders import open_folder
from teamster.artifacts.walking import Kind, walk
from teamster.kit import OutsideRoot, digest, flush, make_folder, open_beneath
from teamster.model import JsonObject, WorldError

SEALED_VERSION: Final = 1
SESSION_FILES_MAX: Final = 20_000
FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFile:
    """One file of a session, as it was when the attempt ended."""

    name: str
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.name).parts
        if not parts or self.name.startswith("/") or ".." in parts:
            raise ValueError(f"{self.name!r} is not a path beneath a home")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A resume base: the files of a session, sorted by name, each with its digest."""

    files: tuple[SealedFile, ...]

    def __post_init__(self) -> None:
        names = [file.name for file in self.files]
        if not names:
            raise ValueError("a session without a file can't be resumed")
        if names != sorted(set(names)):
            raise ValueError("the files of a session are sorted, and each is there once")

    @property
    def session_sha256(self) -> str:
        """The digest over the sorted list: two bases with the same one are the same."""
        return digest([[file.name, file.sha256, file.bytes] for file in self.files])

    def inventory(self, prefix: str) -> dict[str, tuple[str, int]]:
        """Return digest and size of each file, for `frozen.inventory`, which then need not read it again."""
        return {f"{prefix}/{file.name}": (file.sha256, file.bytes) for file in self.files}

    def to_json(self) -> JsonObject:
        """Write it for `.teamster/session.json`."""
        return {
            "version": SEALED_VERSION,
            "session_sha256": self.session_sha256,
            "files": {file.name: {"sha256": file.sha256, "bytes": file.bytes} for file in self.files},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sealed:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is none of ours, or its digest is not that of its list.
        """
        try:
            if value["version"] != SEALED_VERSION:
                raise ValueError(f"a session's manifest of version {value['version']!r} is not known")
            files = tuple(
                SealedFile(name=name, sha256=str(entry["sha256"]), bytes=int(entry["bytes"]))
                for name, entry in sorted(value["files"].items())
            )
            claimed = value["session_sha256"]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not the manifest of a session: {error!r}") from error
        sealed = cls(files=files)
        if sealed.session_sha256 != claimed:
            raise ValueError("session_sha256 is not the digest of the list of files")
        return sealed

    @classmethod
    def from_bytes(cls, content: bytes) -> Sealed:
        """Read a `.teamster/session.json`.

        Raises:
            ValueError: see `from_json`, or it is not JSON.
        """
        try:
            return cls.from_json(json.loads(content))
        except RecursionError as error:
            raise ValueError("not the manifest of a session: it is nested too deeply") from error


def session_files(home: Path) -> tuple[str, ...]:
    """Return the regular files of a home, relative to it and sorted; no link is followed, no home is no file.

    Raises:
        WorldError: there are more than `SESSION_FILES_MAX` names, or a folder can't be read.
    """
    found = (entry.name for entry in walk(home, entries_max=SESSION_FILES_MAX) if entry.kind is Kind.FILE)
    return tuple(sorted(name for name in found if name.isprintable()))


def first_line(home: Path, name: str, *, bytes_max: int) -> bytes:
    """Return a file's first line without its end, at most `bytes_max` of it, as it lies there (packed if it is).

    Raises:
        WorldError: it is no file beneath the home, or can't be read.
    """
    try:
        with os.fdopen(open_beneath(home, name), "rb") as file:
            return file.readline(bytes_max).rstrip(b"\r\n")
    except (OSError, OutsideRoot) as error:
        raise WorldError(f"{home / name} can't be read: {error}") from error


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


def seal(home: Path, names: Iterable[str]) -> Sealed:
    """Hash and flush the files of a session whose tree was seen empty; what else lies in the home stays as it is.

    Raises:
        ValueError: there is no name.
        WorldError: one is no regular file beneath the home, or the disk failed.
    """
    chosen = sorted(set(names))
    try:
        files = tuple(_measure(home, name) for name in chosen)
        folders = {home / folder for name in chosen for folder in PurePosixPath(name).parents}
        flush([*(home / name for name in chosen), *sorted(folders)])
    except (OSError, OutsideRoot) as error:
        raise WorldError(f"the session in {home} can't be sealed: {error}") from error
    return Sealed(files=files)


def restore(source_home: Path, sealed: Sealed, target_home: Path) -> None:
    """Copy a base into a fresh home, and check that what arrived is what was sealed. The source is only read.

    Never a hard link: agents append to their session in place.

    Raises:
        WorldError: the source is gone or differs, the target has such a file already, or the disk failed.
    """
    for file in sealed.files:
        try:
            make_folder(target_home)
            _copy(source_home, file.name, target_home)
            copied = _measure(target_home, file.name)
        except (OSError, OutsideRoot) as error:
            raise WorldError(f"{file.name} of the base {source_home} can't be copied: {error}") from error
        if copied != file:
            raise WorldError(
                f"{file.name} of the base {source_home} is not what was sealed: "
                f"{copied.bytes} bytes with digest {copied.sha256[:12]}, not {file.bytes} with {file.sha256[:12]}"
            )


def is_unchanged(source_home: Path, sealed: Sealed) -> bool:
    """Tell whether each file of a base is still there with its size and digest.

    Raises:
        WorldError: the disk failed.
    """
    try:
        return all(
            (source_home / file.name).lstat().st_size == file.bytes and _measure(source_home, file.name) == file
            for file in sealed.files
        )
    except (FileNotFoundError, NotADirectoryError, OutsideRoot):
        return False
    except OSError as error:
        raise WorldError(f"the base {source_home} can't be read: {error}") from error


def _measure(home: Path, name: str) -> SealedFile:
    with os.fdopen(open_beneath(home, name), "rb") as file:
        digested = hashlib.file_digest(file, "sha256")
        return SealedFile(name=name, sha256=digested.hexdigest(), bytes=file.tell())


def _copy(source_home: Path, name: str, target_home: Path) -> None:
    place = PurePosixPath(name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    source = open_beneath(source_home, name)
    try:
        folder = open_folder(target_home, str(place.parent))
        try:
            target = os.open(place.name, flags, FILE_MODE, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            copy_content(source, target)
        finally:
            os.close(target)
    finally:
        os.close(source)
