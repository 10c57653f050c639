"""What an agent does to its own places spoils its own attempt; the harness and its neighbours go on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.parts import DONE, step
from runner.scene import Scene
from teamster.artifacts import EVIDENCE, AttemptFile, attempt_file
from teamster.model import Exited, ItemStatus

Mischief = Callable[[Path, Path], None]


def remove(place: Path, _elsewhere: Path) -> None:
    """Take a folder away."""
    shutil.rmtree(place)


def put_file(place: Path, _elsewhere: Path) -> None:
    """Put a file where a folder was."""
    shutil.rmtree(place)
    place.write_text("mine")


def put_link(place: Path, elsewhere: Path) -> None:
    """Put a link to another folder where a folder was."""
    shutil.rmtree(place)
    place.symlink_to(elsewhere)


def put_pipe(place: Path, _elsewhere: Path) -> None:
    """Put a pipe where a folder was."""
    shutil.rmtree(place)
    os.mkfifo(place)


@pytest.mark.parametrize("mischief", [remove, put_file, put_link, put_pipe])
@pytest.mark.parametrize("name", ["", EVIDENCE, f"{EVIDENCE}/staging"], ids=["the attempt", "evidence", "staging"])
@pytest.mark.parametrize("looks", [True, False], ids=["seen while it ran", "seen at its end"])
def test_an_agent_that_takes_its_folders_away_harms_nobody_else(
    scene: Scene, *, mischief: Mischief, name: str, looks: bool
) -> None:
    """One bad agent of 500 must not end the night for all, nor have its end written elsewhere."""
    elsewhere = scene.folder / "elsewhere"
    elsewhere.mkdir()
    scene.submit(step(), jobs=2)
    harness = scene.harness()
    harness.tick()
    [bad], [good] = scene.attempts(job="job-0"), scene.attempts(job="job-1")
    mischief(scene.root.at(bad.directory) / name, elsewhere)
    if looks:
        scene.clock.advance(61.0)
        harness.duty.renew(harness.store)
        harness.tick()
    DONE(next(order for order in scene.machine.orders if order.run_id == good.run_id))
    scene.machine.finish(good.run_id, Exited(0))
    try:
        scene.machine.finish(bad.run_id, Exited(0))
    except OSError:  # its shim can't write its record there, and dies without one
        scene.machine.kill(scene.machine._runs[bad.run_id].shim)

    harness.tick()

    assert scene.item(job="job-1").status is ItemStatus.SUCCEEDED
    assert scene.json(good, AttemptFile.FINAL)["status"] == "ok"
    assert scene.attempts(job="job-0")[0].ended_at is not None
    assert scene.json(bad, AttemptFile.STATE)["ended_at"] is not None
    assert not {path.name for path in elsewhere.iterdir()} & {
        "verdict.json",
        "manifest.json",
        "final.txt",
        "final.json",
    }


@pytest.mark.parametrize("name", [AttemptFile.FINAL, AttemptFile.STATE, AttemptFile.VERDICT, AttemptFile.EVENTS])
def test_an_agent_that_lies_in_the_way_of_our_files_harms_nobody_else(scene: Scene, name: AttemptFile) -> None:
    """Where the end must be written, nothing of an agent's stays in the way."""
    scene.submit(step())
    harness = scene.harness()
    harness.tick()
    [attempt] = scene.attempts()
    place = scene.root.at(attempt_file(attempt.directory, name))
    place.unlink(missing_ok=True)
    (place / "deep").mkdir(parents=True)
    DONE(scene.machine.orders[0])
    scene.machine.finish(attempt.run_id, Exited(0))

    harness.tick()

    assert scene.item().is_final
    assert scene.json(attempt, AttemptFile.STATE)["status"] == scene.attempts()[0].status.value
    assert scene.faults() == []
