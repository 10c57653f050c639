"""Files in four classes: whole or not there, and what may change does so in its one way."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import NameTaken, append, flush, freeze, make_folder, write_once, write_snapshot
from teamster.kit.files import TEMPORARY_SUFFIX

UNPRIVILEGED_UID: Final = 65534


def mode(path: Path) -> int:
    """Return the permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


def test_folders_are_made_with_their_parents_for_their_owner_alone(tmp_path: Path) -> None:
    """Prompts and sessions are nobody else's business."""
    folder = tmp_path / "a" / "b" / "c"
    make_folder(folder)
    make_folder(folder)

    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


def test_a_snapshot_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """Who has the old one open goes on reading the old one."""
    path = tmp_path / "state.json"
    write_snapshot(path, b"old and longer")
    with path.open("rb") as reader:
        write_snapshot(path, b"new")

        assert reader.read() == b"old and longer"
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_a_snapshot_has_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    """Whatever the umask says."""
    write_snapshot(tmp_path / "a", b"x", mode=0o666)

    assert mode(tmp_path / "a") == 0o666


def test_a_snapshot_over_a_link_replaces_the_link(tmp_path: Path) -> None:
    """What a link points at is not ours to write."""
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("target")
    write_snapshot(tmp_path / "link", b"ours")

    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert not (tmp_path / "link").is_symlink()


def test_what_is_written_once_never_changes(tmp_path: Path) -> None:
    """The same bytes again are a repeat after a crash; other bytes are a mistake that must be heard."""
    path = tmp_path / "meta.json"
    write_once(path, b"first")
    write_once(path, b"first")
    with pytest.raises(NameTaken, match=r"meta\.json"):
        write_once(path, b"first and more")

    assert path.read_bytes() == b"first"
    assert mode(path) == 0o444
    assert path.stat().st_nlink == 1
    assert [path.name for path in tmp_path.iterdir()] == ["meta.json"]


def make_link(path: Path) -> None:
    """Make a link to a file with the bytes that are going to be written."""
    path.with_name("target").write_bytes(b"first")
    path.symlink_to("target")


@pytest.mark.parametrize("make", [make_link, os.mkfifo, Path.mkdir], ids=["link", "fifo", "folder"])
def test_a_name_that_is_no_file_is_taken(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A link to the same bytes is not what was written; a FIFO must not hang the writer."""
    path = tmp_path / "meta.json"
    make(path)

    with pytest.raises(NameTaken):
        write_once(path, b"first")


@pytest.mark.parametrize("write", [write_once, write_snapshot])
def test_a_frozen_leftover_of_the_same_pid_is_no_obstacle(tmp_path: Path, write: Callable[[Path, bytes], None]) -> None:
    """In a container the pid comes again after each restart, and a file of mode 0444 can't be opened for writing."""
    path = tmp_path / "meta.json"
    leftover = tmp_path / f"meta.json.{os.getpid()}{TEMPORARY_SUFFIX}"
    leftover.write_bytes(b"torn")
    leftover.chmod(0o444)
    inode = leftover.stat().st_ino
    with leftover.open("rb") as kept:  # the inode stays taken
        write(path, b"whole")

        assert kept.read() == b"torn"
        assert path.stat().st_ino != inode
    assert path.read_bytes() == b"whole"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A torn temporary file has another name; sweeps know it."""
    path = tmp_path / "state.json"
    write_snapshot(path, b"old")
    with pytest.raises(TypeError):
        write_snapshot(path, "no bytes")  # type: ignore[arg-type]

    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir() if path.suffix != TEMPORARY_SUFFIX] == ["state.json"]


@given(parts=st.lists(st.binary(max_size=50), max_size=5))
def test_an_appended_file_holds_all_in_order(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    """It grows at its end only."""
    path = tmp_path_factory.mktemp("append") / "events.jsonl"
    append(path, b"")
    for part in parts:
        append(path, part)

    assert path.read_bytes() == b"".join(parts)
    assert mode(path) == 0o600


def test_nothing_is_appended_through_a_link(tmp_path: Path) -> None:
    """A link in a folder that an agent could write leads anywhere."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="link"):
        append(tmp_path / "link", b"x")

    assert not (tmp_path / "target").exists()


def test_a_flush_takes_files_and_folders_and_passes_over_what_is_gone(tmp_path: Path) -> None:
    """A pointer may be replaced between its delivery and its flush."""
    write_snapshot(tmp_path / "a", b"x")

    flush([tmp_path / "a", tmp_path / "gone", tmp_path])
    flush([])


def test_a_flush_leaves_no_descriptor_open(tmp_path: Path) -> None:
    """It runs for months."""
    (tmp_path / "link").symlink_to(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    flush([tmp_path] * 20)
    with pytest.raises(OSError, match="link"):
        flush([*[tmp_path] * 20, tmp_path / "link"])

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def is_writable(path: Path) -> bool:
    """Ask as an unprivileged user: root writes through modes."""
    path.parent.chmod(0o755)
    asker: int | None = None
    if os.getuid() == 0:
        asker = UNPRIVILEGED_UID
        os.chown(path, asker, asker)
    command = ["/bin/sh", "-c", f"test -w {path.name}"]
    return subprocess.run(command, cwd=path.parent, user=asker, timeout=10, check=False).returncode == 0


def test_a_frozen_file_can_be_read_by_all_and_written_by_none(tmp_path: Path) -> None:
    """An attempt that has ended is evidence."""
    path = tmp_path / "final.json"
    write_snapshot(path, b"x")
    writable_before = is_writable(path)
    freeze(path)

    assert mode(path) == 0o444
    assert (writable_before, is_writable(path)) == (True, False)


def test_links_folders_and_fifos_are_not_frozen(tmp_path: Path) -> None:
    """A folder of mode 0444 can't be entered, and a link's target is not ours."""
    (tmp_path / "target").write_bytes(b"x")
    (tmp_path / "target").chmod(0o644)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name in ("link", "folder", "fifo"):
        freeze(tmp_path / name)

    assert [mode(tmp_path / name) for name in ("target", "folder", "fifo")] == [0o644, 0o700, 0o600]
    with pytest.raises(FileNotFoundError):
        freeze(tmp_path / "gone")
