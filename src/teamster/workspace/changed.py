"""Which changed files are read, and which are only named: decided from what lies there, before git opens anything."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from teamster.workspace.reading import Seen
from teamster.workspace.values import ChangeKind, Limits


@dataclass(slots=True, kw_only=True)
class Sorted:
    """Changed paths, by what is to be done about them."""

    add: list[bytes] = field(default_factory=list)  # to be read, or found missing
    drop: list[bytes] = field(default_factory=list)  # no file any more
    left_out: dict[bytes, tuple[str, ChangeKind]] = field(default_factory=dict)  # not read: sign of its state, kind
    unread: dict[bytes, ChangeKind] = field(default_factory=dict)  # not even looked at: there were too many


def sort_changed(seen: Sequence[Seen], *, top: Path, limits: Limits, read_untracked: bool = True) -> Sorted:
    """Sort what differs between our index and the working tree.

    Known files come first. Where there are more new ones than may be read, none of them is: which of them are this
    attempt's could not be told the next time.
    """
    known = [one for one in seen if one.tree not in {b".", b"?"}]
    untracked = [one for one in seen if one.is_untracked]
    found = Sorted()
    if not read_untracked or len(known) + len(untracked) > limits.files_max:
        found.unread.update({one.path: ChangeKind.ADDED for one in untracked})
        found.unread.update({one.path: ChangeKind.MODIFIED for one in known[limits.files_max :]})
        known, untracked = known[: limits.files_max], []
    bytes_left = limits.read_bytes_max
    folder = os.fsencode(top) + b"/"
    for one in (*known, *untracked):
        bytes_left -= _sort(one, found, place=folder + one.path, limits=limits, left=bytes_left)
    return found


def _sort(one: Seen, found: Sorted, *, place: bytes, limits: Limits, left: int) -> int:
    """Put one path where it belongs and return how many bytes it adds to what is read."""
    if one.tree == b"D":
        found.drop.append(one.path)  # also where it lies behind a link now: git must not look there
        return 0
    try:
        facts = os.lstat(place)
    except OSError:
        found.add.append(one.path)
        return 0
    if stat.S_ISLNK(facts.st_mode):
        found.add.append(one.path)
        return 0
    if not stat.S_ISREG(facts.st_mode):
        if not one.is_untracked:
            found.drop.append(one.path)
        return 0
    if facts.st_size > min(limits.file_bytes_max, left) or not os.access(place, os.R_OK):
        sign = f"{facts.st_ino}:{facts.st_size}:{facts.st_mtime_ns}:{facts.st_ctime_ns}"
        found.left_out[one.path] = (sign, ChangeKind.ADDED if one.is_untracked else ChangeKind.MODIFIED)
        return 0
    found.add.append(one.path)
    return facts.st_size
