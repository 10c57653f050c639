"""The kind of a file system is told as the kernel tells it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from teamster.kit import file_system_of, type_of_device

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 27 0:45 / /mnt/team rw,relatime shared:9 master:2 - nfs4 server:/team rw,vers=4.2
41 27 0:46 / /mnt/with\040space rw - fuse.sshfs host:/ rw
no line of a mount
"""


@pytest.mark.parametrize(
    ("device", "kind"),
    [((254, 0), "ext4"), ((0, 45), "nfs4"), ((0, 46), "fuse.sshfs"), ((0, 99), None)],
)
def test_a_device_is_found_in_the_list_of_mounts(device: tuple[int, int], kind: str | None) -> None:
    """By its number: names of places may hold anything."""
    assert type_of_device(MOUNTS, os.makedev(*device)) == kind


def test_the_kernel_is_asked_about_a_path_or_its_nearest_parent() -> None:
    """A database that is not there yet will lie where its folder lies."""
    assert file_system_of(Path("/proc/self/stat")) == "proc"
    assert file_system_of(Path("/proc/nothing/at/all")) == "proc"


def test_two_names_of_one_place_are_of_one_kind(tmp_path: Path) -> None:
    """A link to a folder lies where the folder lies."""
    (tmp_path / "link").symlink_to("/proc")

    assert file_system_of(tmp_path / "link" / "new") == "proc"
    assert file_system_of(tmp_path / "new") == file_system_of(tmp_path)
