from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

from teamster.workspace import Baseline, WorkspaceFacts, Workspaces
from workspace.conftest import GIT, SECONDS_MAX, WHO, HeardTools, Observer, Repo, changed_paths


def kept_bytes(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {
        str(place.relative_to(folder)): place.read_bytes() for place in sorted(folder.rglob("*")) if place.is_file()
    }


@pytest.mark.req("PH-8.2.1g")
def test_the_facts_hold_what_an_attempt_changed(repo: Repo, workspaces: Workspaces) -> None:
    """Head, status, diff and files are what `git_*` and `files_touched.json` are made of."""
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "one\n2\n")
    repo.write("new file.txt", "fresh\n")
    (repo.path / "sub/inner.txt").unlink()

    facts = workspaces.observe_end(baseline)

    assert facts.is_repository
    assert facts.head == repo.git("rev-parse", "HEAD")
    assert changed_paths(facts) == {"kept.txt": "modified", "new file.txt": "added", "sub/inner.txt": "deleted"}
    assert facts.status == ' M kept.txt\n?? "new file.txt"\n D sub/inner.txt\n'
    assert b"-two\n+2\n" in facts.diff
    assert not facts.truncated


def test_the_diff_can_be_applied_to_what_was_there_before(repo: Repo, workspaces: Workspaces, tmp_path: Path) -> None:
    """A patch is how work is saved and moved: binary files, modes and links included."""
    repo.git("clone", "-q", str(repo.path), str(tmp_path / "copy"))
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "one\n2\n").chmod(0o755)
    repo.write("picture.bin", bytes(range(256)))
    (repo.path / "link").symlink_to("kept.txt")
    facts = workspaces.observe_end(baseline)

    subprocess.run([GIT, "apply"], cwd=tmp_path / "copy", env=WHO, input=facts.diff, timeout=SECONDS_MAX, check=True)

    assert (tmp_path / "copy/picture.bin").read_bytes() == bytes(range(256))
    assert (tmp_path / "copy/link").readlink() == Path("kept.txt")
    assert (tmp_path / "copy/kept.txt").stat().st_mode & 0o111


def test_what_was_there_before_is_not_of_this_attempt(repo: Repo, workspaces: Workspaces) -> None:
    """People start agents in working directories with edits of their own."""
    repo.write("kept.txt", "one\nmine\n")
    repo.write("notes.txt", "mine\n")
    repo.git("add", "notes.txt")
    baseline = workspaces.observe_start(repo.path)
    repo.write("notes.txt", "mine\nagent's\n")

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == {"notes.txt": "modified"}
    assert b"+mine" not in facts.diff
    assert facts.status == " M kept.txt\n?? notes.txt\n"


def test_an_attempt_that_changed_nothing_costs_one_git_process_on_each_side(
    repo: Repo, workspaces: Workspaces, tools: HeardTools
) -> None:
    """Batches of small commands look at their workspace twice for each of them."""
    repo.write("notes.txt", "mine\n")
    workspaces.observe_end(workspaces.observe_start(repo.path))
    tools.calls.clear()

    facts = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert [call[0] for call in tools.calls] == ["status", "status"]
    assert (facts.files, facts.diff, facts.status) == ((), b"", "?? notes.txt\n")


def test_a_commit_of_the_attempt_is_part_of_its_diff(repo: Repo, workspaces: Workspaces) -> None:
    """An agent that may commit hides nothing by it."""
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "one\n2\n")
    commit = repo.commit("agent's")

    facts = workspaces.observe_end(baseline)

    assert facts.head == commit != baseline.head
    assert changed_paths(facts) == {"kept.txt": "modified"}
    assert facts.status == ""


def test_a_file_that_comes_back_as_it_was_is_no_change(repo: Repo, workspaces: Workspaces) -> None:
    """What our index remembers of one attempt must not show in the next one."""
    first = workspaces.observe_start(repo.path)
    (repo.path / "kept.txt").unlink()
    assert changed_paths(workspaces.observe_end(first)) == {"kept.txt": "deleted"}
    second = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "one\ntwo\n")

    facts = workspaces.observe_end(second)

    assert changed_paths(facts) == {"kept.txt": "added"}
    assert facts.status == ""


@pytest.mark.parametrize("head", ["branch", "packed", "detached"])
def test_the_head_is_found_wherever_git_keeps_it(repo: Repo, workspaces: Workspaces, head: str) -> None:
    """It is read as data, without git."""
    if head == "packed":
        repo.git("pack-refs", "--all")
    if head == "detached":
        repo.git("checkout", "-q", "--detach")

    assert workspaces.observe_start(repo.path).head == repo.git("rev-parse", "HEAD")


def test_nothing_of_the_users_repository_is_written(repo: Repo, workspaces: Workspaces) -> None:
    """Index, refs, configuration and objects belong to the user."""
    repo.write("kept.txt", "edited\n")
    repo.write("staged.txt")
    repo.git("add", "staged.txt")
    before = kept_bytes(repo.path / ".git")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "again\n")
    repo.write("new.txt")

    facts = workspaces.observe_end(baseline)

    assert changed_paths(facts) == {"kept.txt": "modified", "new.txt": "added"}
    assert kept_bytes(repo.path / ".git") == before
    assert not (repo.path / ".git/index.lock").exists()


def test_a_folder_outside_of_any_repository_costs_no_git_process(
    tmp_path: Path, workspaces: Workspaces, tools: HeardTools
) -> None:
    """Most batches of plain commands run in such folders."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/.git").mkdir()  # an empty folder of that name is no repository

    facts = workspaces.observe_end(workspaces.observe_start(tmp_path / "plain"))

    assert facts == WorkspaceFacts(is_repository=False)
    assert tools.calls == []
    assert not (tmp_path / "root").exists()


def test_a_subfolder_stands_for_its_whole_repository(repo: Repo, workspaces: Workspaces) -> None:
    """Agents edit beside their working directory too; paths are those of the top."""
    baseline = workspaces.observe_start(repo.path / "sub")
    repo.write("kept.txt", "edited\n")
    repo.write("sub/inner.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert facts.subfolder == "sub"
    assert changed_paths(facts) == {"kept.txt": "modified", "sub/inner.txt": "modified"}


def test_another_harness_can_finish_what_one_began(repo: Repo, observer: Observer) -> None:
    """An adopter has the baseline from a file, and none of the first one's memory."""
    written = json.dumps(observer().observe_start(repo.path).to_json())
    repo.write("kept.txt", "edited\n")

    facts = observer().observe_end(Baseline.from_json(json.loads(written)))

    assert changed_paths(facts) == {"kept.txt": "modified"}
    assert facts.status == " M kept.txt\n"


def test_two_harnesses_on_one_workspace_do_not_confuse_each_other(repo: Repo, observer: Observer) -> None:
    """Each finds our index and head as the other left them."""
    one, other = observer(), observer()
    first = repo.git("rev-parse", "HEAD")
    one.observe_end(one.observe_start(repo.path))
    repo.write("kept.txt", "second\n")
    second = repo.commit()
    assert other.observe_end(other.observe_start(repo.path)).head == second
    repo.git("checkout", "-q", "--detach", first)

    facts = one.observe_end(one.observe_start(repo.path))

    assert (facts.head, facts.status, facts.files, facts.shared) == (first, "", (), False)


def test_attempts_side_by_side_say_that_they_share(repo: Repo, workspaces: Workspaces) -> None:
    """Whose edit it was can't be told then; alone again, it can."""
    first = workspaces.observe_start(repo.path)
    second = workspaces.observe_start(repo.path / "sub")
    repo.write("kept.txt", "edited\n")
    facts = [workspaces.observe_end(first), workspaces.observe_end(second)]

    alone = workspaces.observe_end(workspaces.observe_start(repo.path))

    assert [(one.shared, changed_paths(one)) for one in facts] == [(True, {"kept.txt": "modified"})] * 2
    assert (alone.shared, alone.files) == (False, ())


def test_many_threads_and_harnesses_observe_one_workspace_at_once(repo: Repo, observer: Observer) -> None:
    """Git's own lock would fail the second one; ours makes it wait."""
    harnesses = (observer(), observer())
    found: list[WorkspaceFacts] = []

    def attempt(number: int) -> None:
        workspaces = harnesses[number % 2]
        baseline = workspaces.observe_start(repo.path)
        repo.write(f"by-{number}.txt")
        found.append(workspaces.observe_end(baseline))

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SECONDS_MAX)

    assert len(found) == 8
    assert [one.gaps for one in found if one.truncated] == []
    assert {path for one in found for path, _ in one.files} == {f"by-{number}.txt" for number in range(8)}


def test_a_repository_that_an_attempt_removed_is_said_to_be_gone(repo: Repo, workspaces: Workspaces) -> None:
    """There is nothing to compare, and no reason to fail."""
    baseline = workspaces.observe_start(repo.path)
    (repo.path / ".git").rename(repo.path / "elsewhere")

    facts = workspaces.observe_end(baseline)

    assert (facts.is_repository, facts.head, facts.files) == (True, None, ())
    assert facts.gaps == ("the repository is gone",)
