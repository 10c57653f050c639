"""Paths are shown without detours, and never name another place for it."""

from __future__ import annotations

from pathlib import Path

from teamster.operations import straight


def test_a_path_loses_its_detours_whether_it_is_there_or_not(tmp_path: Path) -> None:
    """`/a/b/../c` is what nobody typed."""
    assert straight(tmp_path / "b" / ".." / "c" / "." / "t.yaml") == tmp_path / "c" / "t.yaml"
    assert straight(tmp_path / ".." / tmp_path.name) == tmp_path
    assert straight(tmp_path / "t.yaml") == tmp_path / "t.yaml"


def test_a_climb_behind_a_link_stays(tmp_path: Path) -> None:
    """What is above the target of a link is not what is above the link."""
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    climbing = tmp_path / "link" / ".." / "t.yaml"

    assert straight(climbing) == climbing
