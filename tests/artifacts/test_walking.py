"""A walk ends: whatever an agent left, it is bounded and follows no link."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.artifacts.walking import Entry, Kind, listing, walk
from teamster.model import WorldError


def test_a_folder_comes_before_its_contents_and_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "b/deep").mkdir(parents=True)
    (tmp_path / "b/deep/file").touch()
    (tmp_path / "a").symlink_to(tmp_path / "b")

    assert list(walk(tmp_path)) == [
        Entry("a", Kind.OTHER),
        Entry("b", Kind.FOLDER),
        Entry("b/deep", Kind.FOLDER),
        Entry("b/deep/file", Kind.FILE),
    ]
    assert list(walk(tmp_path / "missing")) == []
    assert list(walk(tmp_path / "b/deep/file")) == []


def test_a_folder_that_is_a_link_is_refused_or_empty(tmp_path: Path) -> None:
    """It was a folder a moment ago: somebody swapped it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/secret").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert listing(tmp_path / "link") == []


def test_a_million_names_do_not_fill_the_memory(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"file_{number}").touch()

    assert len(list(walk(tmp_path, entries_max=4))) == 4
    with pytest.raises(WorldError, match="holds more than 3 names"):
        list(walk(tmp_path, entries_max=3))
