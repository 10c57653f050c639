"""Three ways to copy, one result."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from teamster.artifacts.copying import READ_BYTES_MAX, copy_by_hand, copy_content, copy_in_kernel

CONTENTS = [b"", b"x", os.urandom(2 * READ_BYTES_MAX + 7)]
Way = Callable[[int, int], object]


@pytest.mark.parametrize("way", [copy_content, copy_in_kernel, copy_by_hand], ids=lambda way: str(way.__name__))
@pytest.mark.parametrize("content", CONTENTS, ids=["empty", "small", "large"])
def test_each_way_copies_all_bytes(tmp_path: Path, way: Way, content: bytes) -> None:
    """Which way a file system has must not matter."""
    (tmp_path / "source").write_bytes(content)
    source = os.open(tmp_path / "source", os.O_RDONLY)
    target = os.open(tmp_path / "target", os.O_WRONLY | os.O_CREAT)
    try:
        way(source, target)
    finally:
        os.close(source)
        os.close(target)

    assert (tmp_path / "target").read_bytes() == content
    assert (tmp_path / "source").read_bytes() == content


def test_a_disk_that_fails_is_not_taken_for_one_that_lacks_a_way(tmp_path: Path) -> None:
    """Copying by hand after a full disk would only hide it."""
    source = os.open(tmp_path, os.O_RDONLY)
    target = os.open(tmp_path / "target", os.O_WRONLY | os.O_CREAT)
    try:
        with pytest.raises(IsADirectoryError):
            copy_content(source, target)
    finally:
        os.close(source)
        os.close(target)
