from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from teamster.kit import FileLock
from teamster.workspace import Limits
from workspace.conftest import SECONDS_MAX, HeardTools, Observer, Repo


def test_a_diff_that_is_too_long_is_cut_at_a_line_and_says_so(repo: Repo, observer: Observer) -> None:
    """Half a line would look like another change."""
    workspaces = observer(limits=Limits(diff_bytes_max=1000))
    baseline = workspaces.observe_start(repo.path)
    repo.write("long.txt", "0123456789\n" * 1000)

    facts = workspaces.observe_end(baseline)

    assert len(facts.diff) <= 1000
    assert facts.diff.endswith(b"+0123456789\n")
    assert [path for path, _ in facts.files] == ["long.txt"]
    assert facts.gaps == ("the diff is longer than 1000 bytes",)


def test_a_file_that_is_too_large_is_listed_and_not_read(repo: Repo, observer: Observer) -> None:
    """Somebody's ten gigabytes of data are no reason to stop a batch; nor to copy them."""
    workspaces = observer(limits=Limits(file_bytes_max=1000))
    repo.write("old.bin", bytes(2000))
    baseline = workspaces.observe_start(repo.path)
    repo.write("new.bin", bytes(2000))
    repo.write("kept.txt", "x" * 2000)

    facts = workspaces.observe_end(baseline)

    assert [(path, change.value) for path, change in facts.files] == [("kept.txt", "modified"), ("new.bin", "added")]
    assert facts.status == " M kept.txt\n?? new.bin\n?? old.bin\n"
    assert facts.diff == b""
    assert len(facts.gaps) == 1
    again = workspaces.observe_end(workspaces.observe_start(repo.path))
    assert (again.files, again.truncated) == ((), False)


def test_files_that_are_too_large_together_are_left_out_from_there_on(repo: Repo, observer: Observer) -> None:
    """The sum is bounded too."""
    workspaces = observer(limits=Limits(read_bytes_max=2500))
    baseline = workspaces.observe_start(repo.path)
    for number in range(4):
        repo.write(f"{number}.bin", f"{number}" * 1000)

    facts = workspaces.observe_end(baseline)

    assert len(facts.files) == 4
    assert facts.diff.count(b"diff --git") == 2
    assert facts.truncated


def test_a_flood_of_new_files_is_named_and_not_read(repo: Repo, observer: Observer) -> None:
    """A package folder that nobody ignores has a hundred thousand files."""
    workspaces = observer(limits=Limits(files_max=10))
    baseline = workspaces.observe_start(repo.path)
    for number in range(30):
        repo.write(f"flood/{number:02}.txt")
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert len(facts.files) == 10
    assert b"+edited" in facts.diff
    assert facts.truncated


@pytest.mark.parametrize("limits", [Limits(files_max=10), Limits(list_bytes_max=300)], ids=["files", "bytes"])
def test_a_flood_that_was_there_before_is_not_of_the_next_attempt(
    repo: Repo, observer: Observer, limits: Limits
) -> None:
    """Which of the new files are new can't be told; what is known still is."""
    workspaces = observer(limits=limits)
    for number in range(30):
        repo.write(f"flood/{number:02}.txt")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")
    shutil.rmtree(repo.path / "flood")
    repo.write("new.txt")

    facts = workspaces.observe_end(baseline)

    assert [path for path, _ in facts.files] == ["kept.txt"]
    assert facts.truncated


def test_an_unreadable_file_is_left_out(repo: Repo, observer: Observer) -> None:
    """Git would give up altogether."""
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    workspaces = observer()
    baseline = workspaces.observe_start(repo.path)
    repo.write("closed.txt").chmod(0)
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert len(facts.files) == 2
    assert b"+edited" in facts.diff
    assert facts.truncated


@pytest.mark.parametrize("name", [".git/HEAD", ".git/index", ".git/config", ".git/info/exclude", ".git/packed-refs"])
def test_a_pipe_in_the_place_of_a_file_makes_nobody_wait(repo: Repo, observer: Observer, name: str) -> None:
    """Opening one waits for a writer that never comes."""
    workspaces = observer()
    baseline = workspaces.observe_start(repo.path)
    (repo.path / name).unlink(missing_ok=True)
    os.mkfifo(repo.path / name)
    repo.write("kept.txt", "edited\n")
    done = threading.Event()

    def end() -> None:
        workspaces.observe_end(baseline)
        workspaces.observe_end(workspaces.observe_start(repo.path))
        done.set()

    threading.Thread(target=end, daemon=True).start()

    assert done.wait(SECONDS_MAX)


def test_what_takes_too_long_is_ended_and_the_next_observation_works(repo: Repo, observer: Observer) -> None:
    """Git itself waits on a pipe named `.gitignore`; the lock that it leaves behind is removed."""
    fifo = repo.path / ".gitignore"
    os.mkfifo(fifo)
    workspaces = observer(limits=Limits(seconds_max=0.3))

    facts = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert len(facts.gaps) == 2
    assert "took too long" in facts.gaps[0]
    fifo.unlink()
    for lock in (repo.path.parent / "root").rglob("git"):
        (lock / "index.lock").touch()
    baseline = observer().observe_start(repo.path)
    repo.write("kept.txt", "edited\n")
    assert len(observer().observe_end(baseline).files) == 1


def test_a_workspace_that_stays_locked_is_given_up(repo: Repo, observer: Observer, tmp_path: Path) -> None:
    """An attempt must not hang because somebody else's observation does."""
    workspaces = observer(limits=Limits(lock_seconds_max=0.05))
    workspaces.observe_end(workspaces.observe_start(repo.path))
    (place,) = (tmp_path / "root/workspaces").glob("*/lock")

    with FileLock(place):
        facts = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert facts.head is not None
    assert "takes too long" in facts.gaps[0]


def test_a_git_that_cannot_be_started_is_a_gap(repo: Repo, observer: Observer) -> None:
    """It may be removed while a harness runs."""
    workspaces = observer(git=repo.path / "no-such-program")

    assert "no-such-program" in workspaces.observe_end(workspaces.observe_start(repo.path)).gaps[0]


def test_without_git_the_facts_say_what_is_missing(repo: Repo, observer: Observer, tools: HeardTools) -> None:
    """Git is no condition for running agents; the head can be read without it."""
    workspaces = observer(git=None)

    facts = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert facts.head == repo.git("rev-parse", "HEAD")
    assert facts.truncated
    assert tools.calls == []
