"""A runs store as it stands: what lies on the disk, with the promised files in place of what they will replace."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.artifacts.root import Root
from teamster.artifacts.walking import ENTRIES_MAX, Entry, Kind, listing
from teamster.kit import redact
from teamster.model import WorldError

WHOLE_BYTES_MAX: Final = 64 << 20  # larger files are read in pieces, and are no documents
PIECE_BYTES: Final = 1 << 20
OVERLAP_BYTES: Final = 4096  # so that a secret across two pieces is seen
# Forms that no other text has. What a run was given is known exactly and searched for beside them.
KEY_FORMS: Final = re.compile(
    rb"(?P<an_API_key>\bsk-[A-Za-z0-9_-]{32,})"
    rb"|(?P<a_GitHub_token>\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{60,})"
    rb"|(?P<an_AWS_key>\bAKIA(?![A-Z0-9]{9}EXAMPLE)[A-Z0-9]{16}\b)"
    rb"|(?P<a_Slack_token>\bxox[abprs]-[A-Za-z0-9-]{20,})"
    rb"|(?P<a_private_key>-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40})"
)
# A search for plain bytes is ten times as fast as one for forms, and finds nothing in nearly all files.
KEY_MARKS: Final = (
    b"sk-",
    b"ghp_",
    b"gho_",
    b"ghu_",
    b"ghs_",
    b"ghr_",
    b"github_pat_",
    b"AKIA",
    b"xox",
    b"PRIVATE KEY",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One file, read once. `content` is None where it is too large to be held; `secret` says what it gives away."""

    sha256: str
    size_bytes: int
    is_writable: bool
    content: bytes | None
    secret: str | None

    @property
    def entry(self) -> dict[str, object]:
        """What a manifest says of it."""
        return {"sha256": self.sha256, "bytes": self.size_bytes}


class Standing:
    """Reads a runs store without following a link."""

    def __init__(
        self,
        root: Root,
        *,
        promised: Mapping[str, bytes],
        secrets: tuple[bytes, ...],
        whole_bytes_max: int = WHOLE_BYTES_MAX,
    ) -> None:
        self._root = root
        self._whole_bytes_max = whole_bytes_max
        self._promised = promised
        self._secrets = secrets
        self._children: dict[str, dict[str, Kind]] = {}
        for path in promised:
            self._enter(path)

    def is_promised(self, path: str) -> bool:
        """Tell whether a file is promised and perhaps not delivered."""
        return path in self._promised

    def has_promises(self, folder: str) -> bool:
        """Tell whether some file beneath a folder is promised."""
        return folder in self._children

    def listing(self, folder: str) -> list[Entry]:
        """Return what lies in a folder, by name."""
        found = {entry.name: entry for entry in listing(self._root.path / folder)}
        for name, kind in self._children.get(folder, {}).items():
            found[name] = Entry(name, kind)
        return sorted(found.values(), key=lambda entry: entry.name)

    def walk(self, folder: str) -> Iterator[Entry]:
        """Yield all below a folder, names relative to it.

        Raises:
            WorldError: there is too much.
        """
        waiting, count = [""], 0
        while waiting:
            above = waiting.pop()
            for entry in self.listing(f"{folder}/{above}" if above else folder):
                count += 1
                if count > ENTRIES_MAX:
                    raise WorldError(f"{folder} holds more than {ENTRIES_MAX} names")
                name = f"{above}/{entry.name}" if above else entry.name
                if entry.kind is Kind.FOLDER:
                    waiting.append(name)
                yield Entry(name, entry.kind)

    def is_folder(self, folder: str) -> bool:
        """Tell whether there is such a folder."""
        return folder in self._children or stat.S_ISDIR(self._mode(folder))

    def examine(self, path: str, *, forms: bool = True, given: bool = True) -> Examined | None:
        """Read a file once, None where it is gone; look for `forms` of keys, and for secrets that were `given`.

        Raises:
            OSError: it can't be read.
        """
        promised = self._promised.get(path)
        if promised is not None:
            return self._examined(promised, is_writable=False, forms=forms, given=given)
        try:
            descriptor = _open(self._root.path / path)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            status = os.fstat(descriptor)
            is_writable = bool(status.st_mode & 0o222)
            if status.st_size <= self._whole_bytes_max:
                content = file.read() if status.st_size else b""
                return self._examined(content, is_writable=is_writable, forms=forms, given=given)
            digest, count, secret, rest = hashlib.sha256(), 0, None, b""
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                count += len(piece)
                secret = secret or self._secret(rest + piece, forms=forms, given=given)
                rest = piece[-OVERLAP_BYTES:]
            return Examined(
                sha256=digest.hexdigest(), size_bytes=count, is_writable=is_writable, content=None, secret=secret
            )

    def lines(self, path: str, *, bytes_max: int) -> Iterator[bytes]:
        """Yield the lines of a file that lies on the disk; one that is longer than `bytes_max` comes in pieces.

        Raises:
            OSError: it can't be read.
        """
        with os.fdopen(_open(self._root.path / path), "rb") as file:
            while line := file.readline(bytes_max):
                yield line

    def _examined(self, content: bytes, *, is_writable: bool, forms: bool, given: bool) -> Examined:
        return Examined(
            sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            is_writable=is_writable,
            content=content,
            secret=self._secret(content, forms=forms, given=given),
        )

    def _secret(self, content: bytes, *, forms: bool, given: bool) -> str | None:
        if given and self._secrets and redact(content, self._secrets) != content:
            return "a secret that the run was given"
        has_mark = forms and any(mark in content for mark in KEY_MARKS)
        found = KEY_FORMS.search(content) if has_mark else None
        return None if found is None else f"what looks like {str(found.lastgroup).replace('_', ' ')}"

    def _enter(self, path: str) -> None:
        kind = Kind.FILE
        while path:
            folder, _, name = path.rpartition("/")
            children = self._children.setdefault(folder, {})
            if name in children:
                return
            children[name] = kind
            path, kind = folder, Kind.FOLDER

    def _mode(self, path: str) -> int:
        try:
            return (self._root.path / path).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return 0


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
