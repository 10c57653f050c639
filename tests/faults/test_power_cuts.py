"""The power goes at any moment: nothing acknowledged is lost, and promised files come out whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("power_cuts.py")
CUTS = 20
ENDS_SECONDS_MAX = 300.0
NEEDED = ("unshare", "mount", "umount", "mkfs.ext4", "e2fsck")


@pytest.mark.req("DC-end", "DC-cas", "PH-8.2.2")
def test_a_power_cut_takes_nothing_that_was_acknowledged() -> None:
    """Items, events and promised files; the rig itself fails where its careless canaries lost nothing."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists() or missing:
        pytest.skip(f"power cuts were not tried: they need root, loop devices and {', '.join(NEEDED)}")

    done = subprocess.run(
        ["unshare", "--mount", sys.executable, str(PROGRAM), str(CUTS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=ENDS_SECONDS_MAX,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
