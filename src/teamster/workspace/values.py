"""What is known of a workspace before an attempt and after it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

BASELINE_VERSION: Final = 1
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_VISIT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    TYPE_CHANGED = "type_changed"  # a file became a link, or a link a file


class FileChange(NamedTuple):
    """A path, relative to the repository's top folder, and what happened to it."""

    path: str
    change: ChangeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one observation may cost. What lies beyond is left out, and the facts say so."""

    seconds_max: float = 20.0  # all git processes of one observation together
    lock_seconds_max: float = 30.0  # the wait for another observation of the same workspace
    diff_bytes_max: int = 8 << 20
    list_bytes_max: int = 8 << 20  # what git may answer to a question for paths
    files_max: int = 10_000  # changed files that are read, and listed
    file_bytes_max: int = 16 << 20  # a larger file is listed, not read
    read_bytes_max: int = 256 << 20  # all changed files of one observation together
    left_out_max: int = 64  # files too large to read that are told apart by their size and time


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The state of a workspace before an attempt: what the end is compared with, also by another harness.

    `top` is the repository's top folder, or None outside of one. `tree` holds all files as they were, and is None
    where that could not be found out. `left_out` names files that were not read, with the sign of their state.
    """

    working_directory: Path
    top: Path | None = None
    visit: str = ""
    head: str | None = None
    tree: str | None = None
    is_clean: bool = False  # the tree is the head's own
    is_shared: bool = False  # another attempt was at work here
    left_out: Mapping[bytes, str] = field(default_factory=dict)
    left_out_untracked: bool = False  # there were more new files than are read
    gaps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A baseline may come from a file: its ids become arguments of git, its visit the name of a file.
        for name, text in (("head", self.head), ("tree", self.tree)):
            if text is not None and _OBJECT_ID.fullmatch(text) is None:
                raise ValueError(f"{name} {text!r} is not an object id")
        if self.visit and _VISIT.fullmatch(self.visit) is None:
            raise ValueError(f"{self.visit!r} is not the name of a visit")
        if self.top is not None and not self.top.is_absolute():
            raise ValueError(f"{self.top} is not an absolute path")

    def to_json(self) -> dict[str, Any]:
        """Write it for a file; names that are no UTF-8 survive."""
        return {
            "version": BASELINE_VERSION,
            "working_directory": quote(os.fsencode(self.working_directory)),
            "top": None if self.top is None else quote(os.fsencode(self.top)),
            "visit": self.visit,
            "head": self.head,
            "tree": self.tree,
            "is_clean": self.is_clean,
            "is_shared": self.is_shared,
            "left_out": {quote(path): sign for path, sign in self.left_out.items()},
            "left_out_untracked": self.left_out_untracked,
            "gaps": list(self.gaps),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Baseline:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is of another version, or was damaged.
        """
        if value.get("version") != BASELINE_VERSION:
            raise ValueError(f"a baseline of version {value.get('version')!r} can't be read")
        try:
            return cls(
                working_directory=_path(value["working_directory"]),
                top=None if value["top"] is None else _path(value["top"]),
                visit=value["visit"],
                head=value["head"],
                tree=value["tree"],
                is_clean=value["is_clean"],
                is_shared=value["is_shared"],
                left_out={unquote_to_bytes(path): sign for path, sign in value["left_out"].items()},
                left_out_untracked=value["left_out_untracked"],
                gaps=tuple(value["gaps"]),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"a baseline has not the shape of one: {error!r}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFacts:
    """What a workspace was like after an attempt, and what had changed since its baseline.

    Paths are relative to the repository's top folder; `subfolder` says where in it the working directory lies ("" at
    the top). `status` compares files with the head as `git status --porcelain` does, but for the user's staging: a
    change stands in the second column, a file that the head doesn't have is `??`. `gaps` say what is missing.
    """

    is_repository: bool
    head: str | None = None
    status: str = ""
    diff: bytes = b""
    files: tuple[FileChange, ...] = ()
    tree: str | None = None
    subfolder: str = ""
    shared: bool = False  # another attempt was at work here meanwhile: its edits may be among these
    gaps: tuple[str, ...] = ()

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return bool(self.gaps)


def _path(text: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(text)))
