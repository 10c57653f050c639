"""Paths as people read them."""

from __future__ import annotations

import os
from pathlib import Path


def straight(path: Path) -> Path:
    """Take `..` and `.` out of a path, where what remains leads to the same place: behind a link it may not."""
    short = Path(os.path.normpath(path))
    return short if os.path.realpath(short) == os.path.realpath(path) else path
