"""What is flushed by another process is flushed as by us, and what goes wrong there is told here."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from process.stage import until
from teamster.process import Flushers
from teamster.process.flushers import ALONE_MAX
from teamster.process.nursery import children_of

MANY = ALONE_MAX + 1


@pytest.fixture
def flushers() -> Iterator[Flushers]:
    """Return flushers, and see their processes gone after the test."""
    before = set(children_of(os.getpid()))
    flushers = Flushers()
    yield flushers
    flushers.close()
    assert set(children_of(os.getpid())) <= before


def files(folder: Path, count: int) -> list[Path]:
    """Make files with names that need care."""
    paths = [folder / os.fsdecode(f"a name\n{number}".encode() + b"\xff") for number in range(count)]
    for path in paths:
        path.write_bytes(b"content")
    return [folder, *paths]


def started(before: set[int]) -> set[int]:
    return set(children_of(os.getpid())) - before


def test_many_files_are_flushed_by_another_process_and_few_are_not(flushers: Flushers, tmp_path: Path) -> None:
    """Starting one takes longer than flushing a few; names that are gone meanwhile are passed over."""
    before = set(children_of(os.getpid()))
    paths = files(tmp_path, MANY)

    flushers(paths[:ALONE_MAX])
    assert started(before) == set()
    paths[1].unlink()
    flushers(paths)
    flushers(paths)

    assert len(started(before)) == 1


def test_threads_flush_side_by_side(flushers: Flushers, tmp_path: Path) -> None:
    """Each gets a process of its own, and one that another thread has let go is used again."""
    before = set(children_of(os.getpid()))
    paths = files(tmp_path, MANY)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: flushers(paths), range(20)))

    assert 1 <= len(started(before)) <= 4


def forbidden(folder: Path) -> Path:
    link = folder / "link"
    link.symlink_to(folder)
    return link


@pytest.mark.parametrize("broken", [forbidden, lambda _: Path("/proc/self/mem")], ids=["link", "no flush"])
def test_what_goes_wrong_there_is_raised_here(
    flushers: Flushers, tmp_path: Path, broken: Callable[[Path], Path]
) -> None:
    """With the number that says whose fault it is; the next flush goes well."""
    paths = files(tmp_path, MANY)

    with pytest.raises(OSError, match=r"\[Errno \d+\]") as refused:
        flushers([*paths, broken(tmp_path)])
    flushers(paths)

    assert refused.value.errno


def test_a_process_that_was_killed_flushed_nothing_for_certain(flushers: Flushers, tmp_path: Path) -> None:
    """Its rows stay promised; another one takes its place."""
    before = set(children_of(os.getpid()))
    paths = files(tmp_path, MANY)
    flushers(paths)
    (pid,) = started(before)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}/exe").exists(), "it is gone")

    with pytest.raises(OSError):  # noqa: PT011 - which one depends on how far the request got
        flushers(paths)
    flushers(paths)
