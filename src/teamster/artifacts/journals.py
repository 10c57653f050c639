"""Which file systems bring a new folder to the disk together with what lies in it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

# Their journals keep the order of changes: a flushed file or folder brings the making of its parents along.
ORDERED: Final = frozenset({"ext4", "xfs", "btrfs"})
MOUNTS: Final = Path("/proc/self/mountinfo")
_MOUNT_POINT_FIELD: Final = 4


def keeps_order(path: Path) -> bool:
    """Tell whether `path` lies on a file system that is known to bring new parents along; False in doubt."""
    try:
        return file_system(path.resolve(), MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")) in ORDERED
    except OSError:
        return False


def file_system(path: Path, mounts: str) -> str | None:
    """Find the type of a path's file system in the text of `/proc/self/mountinfo`: the innermost mount holds."""
    found: tuple[int, str] | None = None
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        fields = place.split(" ")
        if len(fields) <= _MOUNT_POINT_FIELD or not kind:
            continue
        point = Path(os.fsdecode(os.fsencode(fields[_MOUNT_POINT_FIELD]).decode("unicode_escape").encode("latin-1")))
        if path.is_relative_to(point) and (found is None or len(point.parts) >= found[0]):
            found = (len(point.parts), kind.split(" ")[0])
    return None if found is None else found[1]
