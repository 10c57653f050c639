from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from teamster.workspace import WorkspaceFacts, Workspaces
from workspace.conftest import Repo, changed_paths


def test_a_repository_without_a_commit_has_no_head_and_yet_a_diff(tmp_path: Path, workspaces: Workspaces) -> None:
    """People start agents in a folder that they have just made."""
    fresh = Repo(tmp_path / "fresh")
    fresh.write("before.txt")
    baseline = workspaces.observe_start(fresh.path)
    fresh.write("after.txt")

    facts = workspaces.observe_end(baseline)

    assert facts.head is None
    assert changed_paths(facts) == {"after.txt": "added"}
    assert facts.status == "?? after.txt\n?? before.txt\n"
    assert not facts.truncated


def test_a_linked_worktree_is_a_workspace_of_its_own(repo: Repo, workspaces: Workspaces, tmp_path: Path) -> None:
    """Its `.git` is a file; objects and branches lie with the main one."""
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo(tmp_path / "side", init=False)
    baseline = workspaces.observe_start(side.path)
    side.write("kept.txt", "edited\n")
    commit = side.commit()
    repo.write("kept.txt", "edited elsewhere\n")

    facts = workspaces.observe_end(baseline)

    assert facts.head == commit
    assert changed_paths(facts) == {"kept.txt": "modified"}
    assert b"elsewhere" not in facts.diff


def test_a_bare_repository_has_no_files_to_look_at(repo: Repo, workspaces: Workspaces, tmp_path: Path) -> None:
    """There is no working tree that an attempt could change."""
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "bare.git"))

    assert workspaces.observe_end(workspaces.observe_start(tmp_path / "bare.git")) == WorkspaceFacts(
        is_repository=False
    )


def test_a_repository_within_is_left_alone(repo: Repo, workspaces: Workspaces) -> None:
    """Its files are its own business, tracked as a submodule or not."""
    nested = Repo(repo.path / "nested")
    nested.write("inside.txt")
    nested.commit()
    baseline = workspaces.observe_start(repo.path)
    nested.write("inside.txt", "edited\n")
    repo.write("kept.txt", "edited\n")

    assert changed_paths(workspaces.observe_end(baseline)) == {"kept.txt": "modified"}


def test_a_submodule_is_not_entered(repo: Repo, workspaces: Workspaces, tmp_path: Path) -> None:
    """Git would start itself in there, with a configuration that an agent can write."""
    other = Repo(tmp_path / "other")
    other.write("inside.txt")
    other.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "module")
    repo.commit()
    baseline = workspaces.observe_start(repo.path)
    repo.write("module/inside.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert (facts.files, facts.status, facts.truncated) == ((), "", False)


def test_names_may_be_any_bytes(repo: Repo, workspaces: Workspaces) -> None:
    """A name is no text: nothing may crash, and nothing may be mistaken for something else."""
    names = [b"caf\xe9", "größe".encode(), b"two\nlines", b'quo"te', b"-dash", b"back\\slash", b":(top)magic"]
    baseline = workspaces.observe_start(repo.path)
    for name in names:
        (repo.path / os.fsdecode(name)).write_text("text\n", encoding="utf-8")

    facts = workspaces.observe_end(baseline)

    assert not facts.truncated
    assert {path for path, _ in facts.files} == {name.decode("utf-8", "backslashreplace") for name in names}
    assert sorted(facts.status.splitlines()) == sorted(repo.git("status", "--porcelain", "-uall").splitlines())
    json.dumps(facts.files).encode()


def test_links_are_seen_as_links(repo: Repo, workspaces: Workspaces, tmp_path: Path) -> None:
    """What a link points at is not read, and not written."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/inner.txt").write_text("a secret\n", encoding="utf-8")
    baseline = workspaces.observe_start(repo.path)
    (repo.path / "kept.txt").unlink()
    (repo.path / "kept.txt").symlink_to(tmp_path / "outside/inner.txt")
    (repo.path / "sub/inner.txt").unlink()
    (repo.path / "sub").rmdir()
    (repo.path / "sub").symlink_to(tmp_path / "outside")

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == {"kept.txt": "type_changed", "sub": "added", "sub/inner.txt": "deleted"}
    assert b"a secret" not in facts.diff
    assert not facts.truncated


@pytest.mark.parametrize("change", ["file-to-folder", "folder-to-file", "file-to-fifo", "file-to-repository"])
def test_a_path_may_become_another_kind_of_thing(repo: Repo, workspaces: Workspaces, change: str) -> None:
    """Git's index has opinions about files and folders of one name."""
    baseline = workspaces.observe_start(repo.path)
    place = repo.path / "kept.txt"
    match change:
        case "file-to-folder":
            place.unlink()
            repo.write("kept.txt/deep/file")
            expected = {"kept.txt": "deleted", "kept.txt/deep/file": "added"}
        case "folder-to-file":
            (repo.path / "sub/inner.txt").unlink()
            (repo.path / "sub").rmdir()
            repo.write("sub")
            expected = {"sub": "added", "sub/inner.txt": "deleted"}
        case "file-to-fifo":
            place.unlink()
            os.mkfifo(place)
            expected = {"kept.txt": "deleted"}
        case _:
            place.unlink()
            nested = Repo(place)
            nested.write("inside.txt")
            nested.commit()
            expected = {"kept.txt": "deleted"}

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == expected
    assert not facts.truncated


def test_an_unfinished_merge_can_be_looked_at(repo: Repo, workspaces: Workspaces) -> None:
    """A tree can't hold conflicts; the files as they lie there can be compared."""
    repo.git("checkout", "-q", "-b", "side")
    repo.write("kept.txt", "theirs\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("kept.txt", "ours\n")
    repo.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "side")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "both\n")

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == {"kept.txt": "modified"}
    assert b"<<<<<<<" in facts.diff
    assert not facts.truncated


def test_what_the_user_ignores_is_ignored_and_what_is_tracked_all_the_same_is_not(
    repo: Repo, workspaces: Workspaces
) -> None:
    """Build folders are no work; a tracked file is, whatever its name."""
    repo.write(".gitignore", "*.log\n")
    repo.write("tracked.log", "one\n")
    repo.git("add", "-f", "tracked.log")
    repo.commit()
    with (repo.path / ".git/info/exclude").open("a", encoding="utf-8") as file:
        file.write("private.txt\n")
    baseline = workspaces.observe_start(repo.path)
    for name in ("tracked.log", "other.log", "private.txt"):
        repo.write(name, "two\n")

    assert changed_paths(workspaces.observe_end(baseline)) == {"tracked.log": "modified"}


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda repo: repo.git("update-index", "--split-index"), id="split"),
        pytest.param(lambda repo: (repo.path / ".git/index").write_bytes(b"DIRC garbage"), id="broken"),
        pytest.param(lambda repo: (repo.path / ".git/index").unlink(), id="missing"),
        pytest.param(lambda repo: repo.git("update-index", "--assume-unchanged", "sub/inner.txt"), id="bits"),
        pytest.param(lambda repo: repo.git("config", "extensions.partialClone", "origin"), id="extension"),
    ],
)
def test_an_odd_index_is_no_obstacle(repo: Repo, workspaces: Workspaces, spoil: Callable[[Repo], object]) -> None:
    """Where the user's index can't be copied, ours is made from the head."""
    spoil(repo)
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == {"kept.txt": "modified"}
    assert not facts.truncated


def test_a_repository_with_sha256_ids_works(tmp_path: Path, workspaces: Workspaces) -> None:
    """Its empty tree and its ids are others."""
    repo = Repo(tmp_path / "long", init=False)
    repo.path.mkdir()
    repo.git("init", "-q", "--object-format=sha256")
    repo.write("kept.txt")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")
    facts = workspaces.observe_end(baseline)
    assert (changed_paths(facts), facts.status, facts.gaps) == ({"kept.txt": "modified"}, "?? kept.txt\n", ())
    commit = repo.commit()

    facts = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert (facts.head, facts.status, facts.gaps) == (commit, "", ())


@pytest.mark.parametrize("name", ["größe", "two words", 'quo"te', "back\\slash", "new\nline", "#hash", ":colon:s"])
def test_a_repository_may_lie_under_any_name(tmp_path: Path, workspaces: Workspaces, name: str) -> None:
    """Its name goes into files that git reads by rules of their own."""
    repo = Repo(tmp_path / name / "repo")
    repo.write("kept.txt")
    repo.commit()
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert (changed_paths(facts), facts.gaps) == ({"kept.txt": "modified"}, ())


def test_line_ends_are_compared_as_the_repository_wants_them(repo: Repo, workspaces: Workspaces) -> None:
    """Otherwise every file of some repositories would look changed."""
    repo.git("config", "core.autocrlf", "true")
    repo.write("kept.txt", "one\r\ntwo\r\n")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "one\ntwo\n")

    facts = workspaces.observe_end(baseline)

    assert (facts.files, facts.status, facts.gaps) == ((), "", ())
