"""The root: one folder with an id of its own, which can be moved."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from artifacts.samples import root_at
from teamster.artifacts import ROOT_FOLDERS, kept, leftovers, open_root, sweep_leftovers
from teamster.kit import CountedNames, ManualClock
from teamster.model import UsageError, WorldError

GONE_PID = 4_194_305  # above what the kernel gives out


def test_a_root_keeps_its_id_when_it_is_opened_again_or_moved(tmp_path: Path) -> None:
    """Rows of the outbox carry it: they must not be played on another root."""
    first = root_at(tmp_path / "deep/root")
    again = open_root(tmp_path / "deep/root", names=CountedNames(7), clock=ManualClock())
    first.path.rename(tmp_path / "moved")

    assert again == first
    assert root_at(tmp_path / "moved").root_id == first.root_id
    assert root_at(tmp_path / "other").path != first.path


def test_a_root_is_its_owners_alone(tmp_path: Path) -> None:
    """Prompts and sessions are nobody else's business."""
    root = root_at(tmp_path / "root")

    assert {path.name for path in root.path.iterdir()} == {*ROOT_FOLDERS, "root.json"}
    assert {stat.S_IMODE((root.path / name).stat().st_mode) for name in (".", *ROOT_FOLDERS)} == {0o700}
    assert kept("root.json") is not None


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../outside", "runs/../../outside"])
def test_a_kept_path_stays_beneath_the_root(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not a path beneath the root"):
        root_at(tmp_path).at(path)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"not json", "is not the record of a root"),
        (b"[]", "is not the record of a root"),
        (b'{"root_id": "r1"}', "is not the record of a root"),
        (b'{"root_id": "r1", "version": 2}', "is a root of version 2"),
        (b'{"root_id": "../r", "version": 1}', "which is not an id"),
        (b" " * 5000, "is not the record of a root"),
    ],
)
def test_what_is_no_root_of_ours_is_refused(tmp_path: Path, content: bytes, fact: str) -> None:
    (tmp_path / "root.json").write_bytes(content)

    with pytest.raises(UsageError, match=fact):
        root_at(tmp_path)


def test_a_root_that_can_not_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match="is not a folder"):
        root_at(tmp_path / "file")
    with pytest.raises(WorldError, match="can't be opened"):
        root_at(tmp_path / "file/root")


def test_leftovers_of_the_dead_are_swept_and_files_of_the_living_stay(tmp_path: Path) -> None:
    """A name ends in the number of its writer."""
    dead, living = tmp_path / f"state.json.{GONE_PID}.tmp", tmp_path / f"state.json.{os.getpid()}.tmp"
    for path in (dead, living, tmp_path / "state.json", tmp_path / "notes.tmp"):
        path.touch()

    assert list(leftovers(tmp_path)) == [dead]
    assert sweep_leftovers(tmp_path) == 1
    assert sweep_leftovers(tmp_path / "missing") == 0
    assert {path.name for path in tmp_path.iterdir()} == {living.name, "state.json", "notes.tmp"}


def test_opening_a_root_sweeps_what_a_death_left_in_it(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    (tmp_path / f"root.json.{GONE_PID}.tmp").touch()

    assert root_at(tmp_path) == root
    assert not (tmp_path / f"root.json.{GONE_PID}.tmp").exists()
