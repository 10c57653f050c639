"""Expected artifacts: looked for beneath the working directory, through no link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.parts import DONE, step
from runner.scene import Scene
from teamster.artifacts import AttemptFile
from teamster.model import ARTIFACT_KINDS, AttemptStatus, ExpectedArtifact, ItemStatus, RetryPolicy
from teamster.runner.expecting import missing_artifacts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file, a folder, and every kind of thing that looks like one."""
    folder = tmp_path / "work"
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / "notes.md").write_text("notes", encoding="utf-8")
    (folder / "locked").touch(mode=0)
    (folder / "link").symlink_to("dist/notes.md")
    (folder / "way").symlink_to("dist")
    (folder / "out").symlink_to("/etc")
    os.mkfifo(folder / "fifo")
    return folder


@pytest.mark.req("PH-6.2e")
@pytest.mark.parametrize(
    ("path", "kind", "fault"),
    [
        *((("dist/notes.md"), kind, "") for kind in ARTIFACT_KINDS if kind != "directory"),
        ("locked", "file", ""),
        ("dist", "directory", ""),
        ("dist", "other", ""),
        ("dist", "file", "is no regular file"),
        ("dist/notes.md", "directory", "is no folder"),
        ("dist/nothing", "file", "is not there"),
        ("dist/notes.md/x", "file", "is not there"),
        ("link", "file", "is a link"),
        ("link", "other", "is a link"),
        ("way/notes.md", "file", "is not there"),
        ("out/passwd", "file", "is not there"),
        ("fifo", "file", "is no regular file"),
        ("a" * 300, "file", "is not there"),
    ],
)
def test_an_artifact_is_there_or_it_is_said_what_is_wrong(folder: Path, path: str, kind: str, fault: str) -> None:
    """A link could lead anywhere by the time that somebody fetches it."""
    found = missing_artifacts(folder, [ExpectedArtifact(path=path, kind=kind)])

    assert found == ((f"{path} {fault}",) if fault else ())


def test_without_its_folder_everything_is_missing(tmp_path: Path) -> None:
    assert missing_artifacts(tmp_path / "gone", [ExpectedArtifact(path="a"), ExpectedArtifact(path="b")]) == (
        "a is not there",
        "b is not there",
    )


@pytest.mark.req("PH-6.2e")
def test_a_report_that_says_ok_is_not_believed_without_its_artifacts(scene: Scene, tmp_path: Path) -> None:
    """The attempt needs a person, and its files say why; where a try was asked for, one with the artifact succeeds."""
    retry = RetryPolicy(attempts_max=2, on_statuses=("failed", "needs_attention"))
    scene.scripts["main"] = DONE
    scene.submit(
        step(working_directory=str(tmp_path), retry=retry, artifacts_expected=(ExpectedArtifact(path="out.txt"),))
    )
    harness = scene.harness()
    harness.tick()
    (tmp_path / "out.txt").symlink_to("/etc/passwd")
    harness.tick()

    [first] = scene.attempts()
    assert first.status is AttemptStatus.NEEDS_ATTENTION
    assert scene.json(first, AttemptFile.VERDICT)["artifacts_missing"] == ["out.txt is a link"]
    assert scene.json(first, AttemptFile.STATE)["reason"] == "expected artifacts are missing: out.txt is a link"

    (tmp_path / "out.txt").unlink()
    (tmp_path / "out.txt").touch()
    scene.clock.advance(5.0)
    harness.tick()
    harness.tick()
    assert [attempt.status for attempt in scene.attempts()][1:] == [AttemptStatus.SUCCEEDED]
    assert scene.item().status is ItemStatus.SUCCEEDED
    assert scene.faults() == []
