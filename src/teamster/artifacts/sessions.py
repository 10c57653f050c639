"""Sessions as files: sealed with their digests when an attempt ends, copied into a fresh home to be resumed.

Which files make up a session is the agent's knowledge; here they are names relative to a home.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from teamster.artifacts.copying import copy_content
from teamster.artifacts.folders import open_folder
from teamster.artifacts.witness import digest_of, look_at
from teamster.kit import OutsideRoot, digest, flush, make_folder, open_beneath
from teamster.model import JsonObject, WorldError

SEALED_VERSION: Final = 1
SESSION_BYTES_MAX: Final = 16 << 30  # a file with a hole in it can claim any size, and each byte of it is read
FILE_MODE: Final = 0o600
SEALED_MODE: Final = 0o400  # may hold what an agent was told in confidence: never served, readable by its owner alone


class BaseChanged(WorldError):
    """A resume base is not what was sealed: a file of it is missing, was cut or was touched."""


class NotSealable(WorldError):
    """What an agent left can't be sealed: it is no session that anybody could go on with."""


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


def seal(home: Path, names: Iterable[str]) -> Sealed:
    """Hash, close and flush the files of a session whose tree was seen empty; what else lies in the home stays.

    A file that has a second name somewhere is replaced by a copy: who holds that name could write into the base.

    Raises:
        ValueError: there is no name.
        NotSealable: it is too large.
        WorldError: one is no regular file beneath the home, or the disk failed.
    """
    chosen = sorted(set(names))
    try:
        sizes = sum(_part_company(home, name) for name in chosen)
        if sizes > SESSION_BYTES_MAX:
            raise NotSealable(f"the session has {sizes} bytes, over {SESSION_BYTES_MAX}")
        files = tuple(_measure_and_close(home, name) for name in chosen)
        folders = {home / folder for name in chosen for folder in PurePosixPath(name).parents}
        flush([*(home / name for name in chosen), *sorted(folders)])
    except (OSError, OutsideRoot) as error:
        raise WorldError(f"the session in {home} can't be sealed: {error}") from error
    return Sealed(files=files)


def restore(source_home: Path, sealed: Sealed, target_home: Path) -> None:
    """Copy a base into a fresh home, if it is what was sealed. The source is only read.

    Never a hard link: agents append to their session in place.

    Raises:
        BaseChanged: the source is gone or differs.
        WorldError: the target has such a file already, or the disk failed.
    """
    for file in sealed.files:
        source = _open_sealed(source_home, file)
        try:
            make_folder(target_home)
            _copy(source, file, target_home)
        except (OSError, OutsideRoot) as error:
            raise WorldError(f"{file.name} of the base {source_home} can't be copied: {error}") from error
        finally:
            os.close(source)


def is_unchanged(source_home: Path, sealed: Sealed) -> bool:
    """Tell whether each file of a base is still there with its size and digest.

    Raises:
        WorldError: the disk failed.
    """
    try:
        for file in sealed.files:
            os.close(_open_sealed(source_home, file))
    except BaseChanged:
        return False
    return True


def _open_sealed(source_home: Path, file: SealedFile) -> int:
    """Open a file of a base and see that it is what was sealed; a file that was cut need not be read for that.

    Raises:
        BaseChanged: it isn't.
        WorldError: the disk failed.
    """
    try:
        descriptor = open_beneath(source_home, file.name)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BaseChanged(f"{file.name} is missing") from error
    except OutsideRoot as error:
        raise BaseChanged(f"{file.name} was touched: {error}") from error
    except OSError as error:
        raise WorldError(f"the base {source_home} can't be read: {error}") from error
    try:
        _check(descriptor, file)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            raise WorldError(f"the base {source_home} can't be read: {error}") from error
        raise
    return descriptor


def _check(descriptor: int, file: SealedFile) -> None:
    size = os.fstat(descriptor).st_size
    if size < file.bytes:
        raise BaseChanged(f"{file.name} was cut: it has {size} bytes, and {file.bytes} were sealed")
    if size > file.bytes:
        raise BaseChanged(f"{file.name} was touched: it has {size} bytes, and {file.bytes} were sealed")
    found, _ = digest_of(descriptor)
    if found != file.sha256:
        raise BaseChanged(f"{file.name} was touched: its digest is {found[:12]}, and {file.sha256[:12]} was sealed")


def _part_company(home: Path, name: str) -> int:
    """See that a file has no second name, and return its size.

    Raises:
        OSError: the disk failed.
        OutsideRoot: it is no regular file beneath the home.
    """
    source = open_beneath(home, name)
    try:
        found = os.fstat(source)
        if found.st_nlink > 1:
            temporary = f"{home / name}.{os.getpid()}.tmp"
            target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            try:
                copy_content(source, target)
            finally:
                os.close(target)
            os.rename(temporary, home / name)  # noqa: PTH104 - a name is enough
        return found.st_size
    finally:
        os.close(source)


def _measure_and_close(home: Path, name: str) -> SealedFile:
    """Hash a file that nobody may write any more: the mode comes first, since it would make the look an old one."""
    descriptor = open_beneath(home, name)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != SEALED_MODE:
            os.fchmod(descriptor, SEALED_MODE)
        found, size = digest_of(descriptor)
        return SealedFile(name=name, sha256=found, bytes=size)
    finally:
        os.close(descriptor)


def _copy(source: int, file: SealedFile, target_home: Path) -> None:
    """Copy an open file that was found to be what was sealed, and see that it stayed so meanwhile."""
    place = PurePosixPath(file.name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    before = look_at(source)
    folder = open_folder(target_home, str(place.parent))
    try:
        target = os.open(place.name, flags, FILE_MODE, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        copy_content(source, target)
        copied = os.fstat(target).st_size
    finally:
        os.close(target)
    if look_at(source) != before:
        raise BaseChanged(f"{file.name} was touched while it was copied")
    if copied != file.bytes:
        raise WorldError(f"{file.name}: {copied} of {file.bytes} bytes arrived")
