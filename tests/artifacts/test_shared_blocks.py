"""Bases on a file system that can share blocks: an XFS in a file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from teamster.artifacts import is_unchanged, restore, seal
from teamster.artifacts.copying import copy_content

IMAGE_BYTES = 320 << 20
CONTENT_BYTES = 40 << 20
ROLLOUT = "sessions/rollout.jsonl"


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    """Mount an XFS, where we may."""
    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        pytest.skip("shared blocks are not tested: that takes root and Debian's xfsprogs")
    image, place = tmp_path / "image", tmp_path / "xfs"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    place.mkdir()
    mounted = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"shared blocks are not tested: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def free_bytes(folder: Path) -> int:
    """Return how much room there is, when all that was written has its place."""
    subprocess.run(["sync", "-f", folder], check=True)
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def test_a_base_takes_its_room_once_however_many_go_on_from_it(xfs: Path) -> None:
    """Five branches of 40 MB in a few kilobytes, and each writes into its own."""
    home = xfs / "home"
    (home / ROLLOUT).parent.mkdir(parents=True)
    (home / ROLLOUT).write_bytes(os.urandom(CONTENT_BYTES))
    sealed = seal(home, [ROLLOUT])
    before = free_bytes(xfs)
    for branch in range(5):
        restore(home, sealed, xfs / f"branch-{branch}")
    taken = before - free_bytes(xfs)
    for branch in range(5):
        with (xfs / f"branch-{branch}" / ROLLOUT).open("r+b") as file:
            file.write(b"%d" % branch)

    assert taken < CONTENT_BYTES // 10
    assert is_unchanged(home, sealed)
    firsts = {(xfs / f"branch-{branch}" / ROLLOUT).read_bytes()[:1] for branch in range(5)}
    assert firsts == {b"0", b"1", b"2", b"3", b"4"}


def test_blocks_are_shared_within_a_file_system_and_copied_between_two(xfs: Path, tmp_path: Path) -> None:
    (xfs / "source").write_bytes(b"content" * 1000)
    ways = {}
    for name, place in {"within": xfs / "target", "between": tmp_path / "target"}.items():
        with (xfs / "source").open("rb") as source, place.open("wb") as target:
            ways[name] = copy_content(source.fileno(), target.fileno())
        assert place.read_bytes() == b"content" * 1000

    assert ways["within"] == "clone"
    assert ways["between"] != "clone"
