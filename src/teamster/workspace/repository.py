"""A repository's own files, read as data: where it lies, what its head is. No program is run.

An agent may have written every byte of it, so reads are bounded, never wait (a FIFO could stand there) and follow no
link in the last place.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SMALL_FILE_BYTES_MAX: Final = 64 << 10
CONFIG_BYTES_MAX: Final = 1 << 20
PACKED_REFS_BYTES_MAX: Final = 64 << 20
FOLDERS_UP_MAX: Final = 64
REFERENCES_FOLLOWED_MAX: Final = 5
_OBJECT_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REFERENCE: Final = re.compile(rb"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
_SECTION: Final = re.compile(r"\[\s*(?P<name>[\w.-]+)\s*\]")
_SETTING: Final = re.compile(r"(?P<name>[A-Za-z][\w-]*)\s*=\s*(?P<value>[\w]+)\s*(?:[#;].*)?")
# Settings that change how files are compared and can't run anything, with the values that are taken over.
HARMLESS_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "core.autocrlf": frozenset({"true", "false", "input"}),
    "core.eol": frozenset({"lf", "crlf", "native"}),
    "core.filemode": frozenset({"true", "false"}),
    "core.ignorecase": frozenset({"true", "false"}),
    "core.symlinks": frozenset({"true", "false"}),
    "extensions.objectformat": frozenset({"sha1", "sha256"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A working tree and the folders that belong to it. A linked worktree shares `common` with others."""

    top: Path
    own: Path  # HEAD, index
    common: Path  # objects, refs, config

    @property
    def index(self) -> Path:
        """The user's index: copied, never written."""
        return self.own / "index"

    @property
    def objects(self) -> Path:
        """The object store: read, never written."""
        return self.common / "objects"

    @property
    def excludes(self) -> Path:
        """Patterns of files that this clone ignores."""
        return self.common / "info" / "exclude"


def find_repository(folder: Path) -> Repository | None:
    """Find the repository that a folder lies in, without a process: a few looks upwards on the same device.

    In text, not in paths: it is asked twice for each attempt, mostly where there is no repository.
    """
    place = os.path.realpath(folder)
    try:
        device = os.lstat(place).st_dev
        for _ in range(FOLDERS_UP_MAX):
            if os.lstat(place).st_dev != device:
                return None
            if os.path.lexists(f"{place}/.git") and (found := repository_at(Path(place))) is not None:
                return found
            if place == "/":
                return None
            place = place.rpartition("/")[0] or "/"
    except OSError:
        return None
    return None


def repository_at(top: Path) -> Repository | None:
    """Return the repository whose working tree starts at this folder, if there is one."""
    place = top / ".git"
    try:
        is_folder = stat.S_ISDIR(place.stat().st_mode)
    except OSError:
        return None
    if is_folder:
        own = place
    else:
        pointer = read_data(place, bytes_max=SMALL_FILE_BYTES_MAX) or b""
        if not pointer.startswith(b"gitdir: "):
            return None
        own = top / os.fsdecode(pointer.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    common_name = read_data(own / "commondir", bytes_max=SMALL_FILE_BYTES_MAX)
    common = own if common_name is None else own / os.fsdecode(common_name.rstrip(b"\r\n"))
    if read_data(own / "HEAD", bytes_max=SMALL_FILE_BYTES_MAX) is None or not (common / "objects").is_dir():
        return None
    return Repository(top=top, own=_real(own), common=_real(common))


def head_of(repository: Repository) -> str | None:
    """Return the commit that is checked out, or None where there is none yet or it can't be read."""
    content = read_data(repository.own / "HEAD", bytes_max=SMALL_FILE_BYTES_MAX)
    for _ in range(REFERENCES_FOLLOWED_MAX):
        if content is None or not content.startswith(b"ref:"):
            break
        name = content.removeprefix(b"ref:").strip()
        if _REFERENCE.fullmatch(name) is None or b".." in name:
            return None
        content = _reference(repository, name)
    found = _OBJECT_ID.fullmatch((content or b"").strip())
    return None if found is None else found[0].decode("ascii")


def settings_of(repository: Repository) -> dict[str, str]:
    """Return the harmless settings of a repository's configuration; anything else in it is passed over."""
    content = read_data(repository.common / "config", bytes_max=CONFIG_BYTES_MAX) or b""
    settings: dict[str, str] = {}
    section = ""
    for line in content.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            header = _SECTION.fullmatch(text)
            section = "" if header is None else header["name"].lower()
        elif (found := _SETTING.fullmatch(text)) is not None:
            name, value = f"{section}.{found['name'].lower()}", found["value"].lower()
            if value in HARMLESS_SETTINGS.get(name, ()):
                settings[name] = value
    return settings


def read_data(path: Path, *, bytes_max: int) -> bytes | None:
    """Read a regular file whole, or return None: it is absent, something else, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):  # ValueError: a zero byte in a name that an agent wrote
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            content = file.read(bytes_max + 1)
        except OSError:
            return None
    return content if len(content) <= bytes_max else None


def _reference(repository: Repository, name: bytes) -> bytes | None:
    text = os.fsdecode(name)
    for folder in dict.fromkeys((repository.own, repository.common)):
        if (content := read_data(folder / text, bytes_max=SMALL_FILE_BYTES_MAX)) is not None:
            return content
    packed = read_data(repository.common / "packed-refs", bytes_max=PACKED_REFS_BYTES_MAX) or b""
    found = re.search(rb"(?m)^([0-9a-f]+) " + re.escape(name) + rb"$", packed)
    return None if found is None else found[1]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
