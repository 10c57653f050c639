"""The demo, played once for all tests that look at what it leaves behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.bare_codex import BareCodex
from acceptance.filed import FiledBatch, batch_under
from acceptance.playing import CHECKOUT, Played, play
from acceptance.rehearsing import Rehearse
from teamster.kit import FileLock
from teamster.process import spawn_daemon
from teamster.rehearsal import start_model, stop_model

RECORD = "played.json"
MODEL_IDLE_SECONDS_MAX = 60.0


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


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[BareCodex]:
    """Return a Codex without us around it."""
    folder = tmp_path / "model"
    model = start_model(folder=folder, scenario=None, spawn=spawn_daemon, idle_seconds_max=MODEL_IDLE_SECONDS_MAX)
    yield BareCodex(folder=tmp_path, model=model)
    stop_model(folder)


@pytest.fixture
def rehearse(tmp_path: Path) -> Iterator[Rehearse]:
    """Return what plays a table of one batch with a scenario."""
    rehearsal = Rehearse(tmp_path)
    yield rehearsal
    stop_model(rehearsal.root / "model")


def _lay_out(folder: Path) -> None:
    """Make a checkout of links, so that the one that is tested keeps its own demo."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "demo.sh").symlink_to(CHECKOUT / "scripts" / "demo.sh")
    (folder / "examples").symlink_to(CHECKOUT / "examples")
    (folder / ".venv").symlink_to(sys.prefix)
