"""Which disks need the flush of every new parent."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.artifacts.journals import file_system, keeps_order

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - overlay overlay rw,lowerdir=/x - y
30 27 254:1 / /data rw,relatime shared:1 master:2 - ext4 /dev/vdb rw
31 30 0:40 / /data/my\\040disk rw - btrfs /dev/vdc rw
32 27 0:41 / /data rw - xfs /dev/vdd rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/somewhere", "overlay"), ("/data/x", "xfs"), ("/data/my disk/x", "btrfs"), ("/database", "overlay")],
)
def test_the_innermost_newest_mount_holds(path: str, kind: str) -> None:
    assert file_system(Path(path), MOUNTS) == kind


def test_in_doubt_a_disk_keeps_no_order(tmp_path: Path) -> None:
    """A needless flush costs time, a missing one costs results."""
    assert file_system(Path("/data"), "") is None
    assert keeps_order(Path("/proc/self")) is False
    assert isinstance(keeps_order(tmp_path), bool)
