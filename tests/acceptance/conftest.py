"""The demo, played once for all tests that look at what it leaves behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from acceptance.filed import FiledBatch, batch_under
from acceptance.playing import CHECKOUT, Played, play
from teamster.kit import FileLock

RECORD = "played.json"


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play the demo from a checkout whose path has a blank; the first worker of a test run does it for all."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "demo of a newcomer"
    with FileLock(shared / "demo.lock", wait=True):
        if not (folder / RECORD).exists():
            _lay_out(folder)
            done = play(["sh", "scripts/demo.sh"], cwd=folder, root=folder / "demo" / "root.rehearsal")
            (folder / RECORD).write_text(done.to_json(), encoding="utf-8")
    return Played.from_json((folder / RECORD).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def batch(played: Played) -> FiledBatch:
    """Return what the demo left behind."""
    return batch_under(played.root)


def _lay_out(folder: Path) -> None:
    """Make a checkout of links, so that the one that is tested keeps its own demo."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "demo.sh").symlink_to(CHECKOUT / "scripts" / "demo.sh")
    (folder / "examples").symlink_to(CHECKOUT / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
