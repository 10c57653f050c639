"""What kind of file system a path lies on, as the kernel lists them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")


def file_system_of(path: Path) -> str | None:
    """Return the type of file system on which a path lies, or its nearest parent that is there; None if nobody says."""
    try:
        listed = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return type_of_device(listed, _device_of(path.absolute()))


def type_of_device(listed: str, device: int) -> str | None:
    """Find the file system of a device in a list of mounts. Pure.

    The kernel's name of a FUSE file system has its program in it, such as `fuse.sshfs`; a magic number would not.
    """
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in listed.splitlines():
        mount, _, file_system = line.partition(" - ")
        if mount.split(" ")[2:3] == [wanted]:  # after the numbers of the mount and of its parent
            return file_system.split(" ")[0]
    return None  # btrfs gives its subvolumes devices that no mount has


def _device_of(path: Path) -> int:
    for place in (path, *path.parents):
        try:
            return place.stat().st_dev
        except OSError:
            continue
    return 0
