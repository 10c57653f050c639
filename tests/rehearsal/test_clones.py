"""A rehearsal works on copies, and nothing in a copy leads back to the original."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from teamster.kit import FileLock
from teamster.model import (
    AgentChoice,
    BatchId,
    ExecutionPolicy,
    Job,
    JobId,
    RetryPolicy,
    Step,
    StepId,
    Table,
    UsageError,
)
from teamster.rehearsal import CloneLimits, clone_directories, read_clones

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    """Run git and return what it printed."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *IDENTITY, "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """Make a repository with one commit and one change that is not committed."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("one\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "src" / "a.py").write_text("two\n", encoding="utf-8")
    return folder


def table(*folders: Path, add_dirs: tuple[Path, ...] = ()) -> Table:
    """Return a table with a job for each folder."""
    jobs = []
    for number, folder in enumerate(folders):
        step = Step(
            step_id=StepId("step"),
            working_directory=str(folder),
            prompt="Do it.",
            agent=AgentChoice(),
            policy=ExecutionPolicy(add_dirs=tuple(map(str, add_dirs))),
            timeout_seconds=60.0,
            retry=RetryPolicy(),
        )
        jobs.append(Job(job_id=JobId(f"job-{number}"), working_directory=str(folder), steps=(step,)))
    return Table(batch_id=BatchId("batch"), goal_summary="", jobs=tuple(jobs), concurrency=1, source="t.yaml")


def moved(copied: Table) -> list[Path]:
    """Return the working directories of a table's steps."""
    return [Path(step.working_directory) for job in copied.jobs for step in job.steps]


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a tree, to see whether it changed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_the_whole_repository_is_copied_and_works_by_itself(tmp_path: Path) -> None:
    """With its history, its uncommitted changes, and no way back."""
    original = repository(tmp_path / "project")
    before = contents(original)

    copied = clone_directories(table(original / "src"), tmp_path / "clones")

    (folder,) = moved(copied)
    assert folder.name == "src"
    assert folder.parent.parent == tmp_path / "clones"
    assert git(folder, "status", "--porcelain") == "M src/a.py"
    git(folder, "commit", "-qam", "second")
    (folder / "a.py").write_text("three\n", encoding="utf-8")
    assert contents(original) == before
    assert copied.batch_id == "batch"
    assert copied.jobs[0].working_directory == str(folder)


def test_one_copy_for_all_that_lies_in_one_tree(tmp_path: Path) -> None:
    """Two copies of one file would tell two stories."""
    original = repository(tmp_path / "project")
    inner = repository(original / "vendor" / "inner")
    plain = tmp_path / "plain"
    plain.mkdir()

    copied = clone_directories(table(original, original / "src", inner, plain), tmp_path / "clones")

    whole, src, vendored, other = moved(copied)
    assert (src, vendored) == (whole / "src", whole / "vendor" / "inner")
    assert other.parent == whole.parent != other
    assert len(read_clones(tmp_path / "clones")) == 2


def test_folders_that_a_step_may_write_to_are_copied_too(tmp_path: Path) -> None:
    """`add_dirs` would be a hole in the fence."""
    work, extra = tmp_path / "work", tmp_path / "extra"
    work.mkdir()
    extra.mkdir()

    copied = clone_directories(table(work, add_dirs=(extra,)), tmp_path / "clones")

    (folder,) = copied.jobs[0].steps[0].policy.add_dirs
    assert Path(folder).parent == tmp_path / "clones"


def test_a_second_call_goes_on_with_the_copies_that_are_there(tmp_path: Path) -> None:
    """A rehearsal that was killed continues its batch on what its agents did."""
    work = tmp_path / "work"
    work.mkdir()
    first = clone_directories(table(work), tmp_path / "clones")
    (moved(first)[0] / "made.md").write_text("by an agent", encoding="utf-8")

    second = clone_directories(table(work), tmp_path / "clones")

    assert second == first
    assert (moved(second)[0] / "made.md").exists()


def test_what_an_interrupted_copy_left_is_copied_again(tmp_path: Path) -> None:
    """A folder with its final name is whole."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("a", encoding="utf-8")
    (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))
    folder.rename(folder.with_name(f"{folder.name}.tmp"))
    (folder.with_name(f"{folder.name}.tmp") / "half").touch()
    assert read_clones(tmp_path / "clones") == ()

    clone_directories(table(work), tmp_path / "clones")

    assert [path.name for path in folder.iterdir()] == ["a"]


def test_links_stay_only_where_they_stay_inside(tmp_path: Path) -> None:
    """One that leads out is dropped and listed; one that leads back by its text is written anew."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("mine", encoding="utf-8")
    (work / "file").write_text("x", encoding="utf-8")
    (work / "relative").symlink_to("file")
    (work / "absolute").symlink_to(work / "file")
    (work / "sub" / "around").symlink_to("../../work/file")
    (work / "dangling").symlink_to("nowhere")
    (work / "escape").symlink_to("../outside/secret")
    (work / "folder").symlink_to(outside)
    (work / "through").symlink_to("folder/secret")

    (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))

    links = {
        path.relative_to(folder).as_posix(): str(path.readlink()) for path in folder.rglob("*") if path.is_symlink()
    }
    assert links == {"relative": "file", "absolute": "file", "sub/around": "../file", "dangling": "nowhere"}
    assert (folder / "sub" / "around").read_text(encoding="utf-8") == "x"
    (clone,) = read_clones(tmp_path / "clones")
    assert clone.dropped == (
        "escape: leads to ../outside/secret, outside",
        f"folder: leads to {outside}, outside",
        "through: leads to folder/secret, outside",
    )


def test_what_is_neither_file_nor_folder_stays_behind(tmp_path: Path) -> None:
    """A pipe would hang who reads it, a socket belongs to who listens."""
    work = tmp_path / "work"
    work.mkdir()
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(work / "socket"))

        (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))

    assert list(folder.iterdir()) == []
    assert len(read_clones(tmp_path / "clones")[0].dropped) == 2


def test_modes_and_times_are_kept_and_hard_links_are_cut(tmp_path: Path) -> None:
    """Programs stay programs, builds see what is new, and no inode is shared with the original."""
    work = tmp_path / "work"
    (work / "closed").mkdir(parents=True)
    program = work / "closed" / "run.sh"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    os.utime(program, ns=(1, 1_700_000_000_123_456_789))
    os.link(program, work / "twin")
    (work / "closed").chmod(0o555)

    (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))

    copy = folder / "closed" / "run.sh"
    assert copy.stat().st_mode & 0o7777 == 0o755
    assert copy.stat().st_mtime_ns == 1_700_000_000_123_456_789
    assert (folder / "closed").stat().st_mode & 0o777 == 0o555
    assert {(folder / "twin").stat().st_nlink, copy.stat().st_nlink} == {1}
    for place in (work, folder):
        (place / "closed").chmod(0o755)  # so that the test's folder can be removed


def test_a_linked_working_tree_becomes_a_repository_of_its_own(tmp_path: Path) -> None:
    """Its git directory is the user's repository: a commit in the copy must not show up there."""
    original = repository(tmp_path / "project")
    tree = tmp_path / "tree"
    git(original, "worktree", "add", "-q", "-b", "topic", str(tree))
    (tree / "src" / "a.py").write_text("topic\n", encoding="utf-8")
    before = contents(original)

    (folder,) = moved(clone_directories(table(tree), tmp_path / "clones"))
    git(folder, "commit", "-qam", "in the copy")

    assert git(folder, "rev-parse", "--abbrev-ref", "HEAD") == "topic"
    assert git(folder, "rev-parse", "--absolute-git-dir") == str(folder / ".git")
    assert git(folder, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(folder, "log", "--format=%s").splitlines() == ["in the copy", "first"]
    assert contents(original) == before


def test_a_repository_forgets_its_other_working_trees(tmp_path: Path) -> None:
    """`git worktree remove` in the copy would reach the user's folder."""
    original = repository(tmp_path / "project")
    git(original, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    (original / ".git" / "index.lock").touch()

    (folder,) = moved(clone_directories(table(original), tmp_path / "clones"))

    assert not (folder / ".git" / "worktrees").exists()
    assert git(folder, "status", "--porcelain") == "M src/a.py"  # nobody holds its index


def test_submodules_come_along_and_a_submodule_alone_stands_alone(tmp_path: Path) -> None:
    """The pointer of an absorbed git directory stays inside; alone it becomes a repository."""
    library = repository(tmp_path / "library")
    original = repository(tmp_path / "project")
    git(original, "submodule", "add", "-q", str(library), "lib")
    git(original, "commit", "-qm", "with a library")

    (whole,) = moved(clone_directories(table(original), tmp_path / "clones"))
    (alone,) = moved(clone_directories(table(original / "lib"), tmp_path / "other"))

    assert git(whole / "lib", "rev-parse", "--absolute-git-dir") == str(whole / ".git" / "modules" / "lib")
    assert git(alone, "rev-parse", "--show-toplevel") == str(alone)
    assert git(alone, "rev-parse", "--absolute-git-dir") == str(alone / ".git")
    assert git(alone, "status", "--porcelain") == ""


def test_a_pointer_to_a_git_directory_elsewhere_stays_behind(tmp_path: Path) -> None:
    """A working tree inside a working directory would write into the user's repository."""
    original = repository(tmp_path / "project")
    work = tmp_path / "work"
    work.mkdir()
    git(original, "worktree", "add", "-q", "-b", "topic", str(work / "tree"))

    (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))

    assert not (folder / "tree" / ".git").exists()
    assert "tree/.git: its git directory is " in read_clones(tmp_path / "clones")[0].dropped[0]


def test_settings_that_name_another_working_tree_go_and_borrowed_objects_stay(tmp_path: Path) -> None:
    """`core.worktree` would send git to the user's files; borrowed objects are only read."""
    lender = repository(tmp_path / "lender")
    original = tmp_path / "borrower"
    git(tmp_path, "clone", "-q", "--shared", str(lender), str(original))
    alternates = original / ".git" / "objects" / "info" / "alternates"
    alternates.write_text("../../../lender/.git/objects\n", encoding="utf-8")
    git(original, "config", "core.worktree", str(original))

    (folder,) = moved(clone_directories(table(original), tmp_path / "clones"))

    assert git(folder, "rev-parse", "--show-toplevel") == str(folder)
    assert git(folder, "log", "--format=%s") == "first"


def test_the_rehearsal_itself_is_not_copied(tmp_path: Path) -> None:
    """Its root may lie in the very repository that it rehearses."""
    original = repository(tmp_path / "project")
    runs = original / ".teamster" / "runs"
    runs.mkdir(parents=True)

    (folder,) = moved(clone_directories(table(original), original / ".teamster" / "clones", leave_out=(runs,)))

    assert list((folder / ".teamster").iterdir()) == []


@pytest.mark.parametrize(
    "limits", [pytest.param(CloneLimits(files_max=3), id="files"), pytest.param(CloneLimits(bytes_max=8), id="bytes")]
)
def test_what_is_too_large_is_refused_before_anything_is_copied(tmp_path: Path, limits: CloneLimits) -> None:
    """All directories together count, and the message says which limit."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for number in range(2):
            (tmp_path / name / f"{number}.txt").write_text("abc", encoding="utf-8")

    with pytest.raises(UsageError, match="two is too large") as raised:
        clone_directories(table(tmp_path / "one", tmp_path / "two"), tmp_path / "clones", limits=limits)

    assert "smaller" in raised.value.hint
    assert [path.name for path in (tmp_path / "clones").iterdir()] == ["clones.lock"]


def test_the_history_that_a_working_tree_borrows_counts_too(tmp_path: Path) -> None:
    """A small tree may be part of a repository of many gigabytes."""
    original = repository(tmp_path / "project")
    git(original, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))

    with pytest.raises(UsageError, match=r"project/\.git is too large"):
        clone_directories(table(tmp_path / "tree"), tmp_path / "clones", limits=CloneLimits(files_max=8))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_what_cannot_be_read_is_listed(tmp_path: Path) -> None:
    """Somebody else's private file in the middle of a tree is no reason to give up."""
    work = tmp_path / "work"
    (work / "closed").mkdir(parents=True)
    (work / "open").touch()
    for name in ("closed", "secret"):
        (work / name).touch()
        (work / name).chmod(0o000)
    program = (
        "import os, sys; from pathlib import Path; from teamster.rehearsal.copying import copy_tree; "
        "source, target = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDONLY); "
        "os.setgid(65534); os.setuid(65534); "
        "print(copy_tree(Path(f'/proc/self/fd/{source}'), Path(f'/proc/self/fd/{target}'), leave_out=frozenset()))"
    )
    target = tmp_path / "target"
    target.mkdir()
    target.chmod(0o777)
    work.chmod(0o755)

    done = subprocess.run(
        [sys.executable, "-c", program, str(work), str(target)], capture_output=True, text=True, check=True
    )

    assert done.stdout == '("closed: can\'t be read", "secret: can\'t be read")\n'
    assert sorted(path.name for path in target.iterdir()) == ["closed", "open"]


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything is copied."""
    with pytest.raises(UsageError, match="missing is no directory"):
        clone_directories(table(tmp_path / "missing"), tmp_path / "clones")


def test_two_rehearsals_do_not_copy_into_one_folder_at_once(tmp_path: Path) -> None:
    """The second would take a half copy for a whole one."""
    clones = tmp_path / "clones"
    clones.mkdir()

    with FileLock(clones / "clones.lock"), pytest.raises(UsageError, match="another rehearsal"):
        clone_directories(table(tmp_path), clones)


def test_the_record_of_a_copy_can_be_read_by_anybody(tmp_path: Path) -> None:
    """People ask what was left out."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("abc", encoding="utf-8")
    (folder,) = moved(clone_directories(table(work), tmp_path / "clones"))

    record = json.loads(folder.with_name(f"{folder.name}.json").read_bytes())

    assert record == {"source": str(work), "folder": folder.name, "files": 1, "bytes": 3, "dropped": []}
