"""Nothing that an agent can write into a repository runs inside the harness.

Each way in is planted, shown to be alive with plain git, and then observed by us with everything switched on.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from teamster.workspace import Workspaces
from workspace.conftest import Repo


class Trap:
    """A program that leaves a mark when it is run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.mark = folder / "it-ran"
        self.program = folder / "trap.sh"
        self.program.write_text(f"#!/bin/sh\ntouch {self.mark}\ncat 2>/dev/null\nexit 0\n", encoding="utf-8")
        self.program.chmod(0o755)

    def has_sprung(self) -> bool:
        """Say whether it was run, and set it again."""
        ran = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return ran


def fsmonitor(repo: Repo, trap: Trap) -> None:
    repo.git("config", "core.fsmonitor", str(trap.program))


def hooks_path(repo: Repo, trap: Trap) -> None:
    hooks = trap.program.parent / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        shutil.copy(trap.program, hooks / name)
    repo.git("config", "core.hooksPath", str(hooks))


def hooks(repo: Repo, trap: Trap) -> None:
    for name in ("post-index-change", "pre-commit", "reference-transaction"):
        shutil.copy(trap.program, repo.path / ".git/hooks" / name)


def external_diff(repo: Repo, trap: Trap) -> None:
    repo.git("config", "diff.external", str(trap.program))


def diff_driver(repo: Repo, trap: Trap) -> None:
    repo.write(".gitattributes", "* diff=evil\n")
    repo.git("config", "diff.evil.command", str(trap.program))


def textconv(repo: Repo, trap: Trap) -> None:
    repo.write(".gitattributes", "* diff=evil\n")
    repo.git("config", "diff.evil.textconv", str(trap.program))


def clean_filter(repo: Repo, trap: Trap) -> None:
    (repo.path / ".git/info/attributes").write_text("* filter=evil\n", encoding="utf-8")
    repo.write(".gitattributes", "* filter=evil\n")
    repo.git("config", "filter.evil.clean", str(trap.program))
    repo.git("config", "filter.evil.smudge", str(trap.program))
    repo.git("config", "filter.evil.required", "true")


def filter_process(repo: Repo, trap: Trap) -> None:
    repo.write(".gitattributes", "* filter=evil\n")
    repo.git("config", "filter.evil.process", str(trap.program))


def included(repo: Repo, trap: Trap) -> None:
    more = trap.program.parent / "more"
    more.write_text(f"[core]\n\tfsmonitor = {trap.program}\n", encoding="utf-8")
    repo.git("config", "include.path", str(more))
    repo.git("config", "includeIf.gitdir:/**.path", str(more))


def repointed(repo: Repo, trap: Trap) -> None:
    elsewhere = trap.program.parent / "elsewhere"
    (repo.path / ".git").rename(elsewhere)
    (repo.path / ".git").write_text(f"gitdir: {elsewhere}\n", encoding="utf-8")
    fsmonitor(repo, trap)


def other_worktree(repo: Repo, trap: Trap) -> None:
    fsmonitor(repo, trap)
    other = trap.program.parent / "other"
    other.mkdir()
    repo.git("config", "core.worktree", str(other))


def worktree_config(repo: Repo, trap: Trap) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", str(trap.program))


def nested(repo: Repo, trap: Trap) -> None:
    inner = Repo(repo.path / "inner")
    inner.write("file")
    inner.commit()
    repo.git("add", "inner")
    repo.git("-c", "core.fsmonitor=false", "commit", "-qm", "with a repository within")
    fsmonitor(inner, trap)


VECTORS: dict[str, Callable[[Repo, Trap], None]] = {
    "core.fsmonitor": fsmonitor,
    "core.hooksPath": hooks_path,
    "hooks": hooks,
    "diff.external": external_diff,
    "diff driver": diff_driver,
    "textconv": textconv,
    "filter.clean": clean_filter,
    "filter.process": filter_process,
    "include.path": included,
    "repointed .git": repointed,
    "core.worktree": other_worktree,
    "config.worktree": worktree_config,
    "nested repository": nested,
}


ELSEWHERE = (
    "alias.status",
    "alias.write-tree",
    "core.askPass",
    "core.editor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "gpg.program",
    "pager.status",
    "sequence.editor",
    "uploadpack.packObjectsHook",
)


def as_plain_git(repo: Repo) -> None:
    """Do with plain git what an observer does."""
    for command in (("status", "--porcelain"), ("add", "-A"), ("diff", "-p", "HEAD"), ("write-tree",)):
        with contextlib.suppress(subprocess.CalledProcessError):  # a trap may break git; whether it ran is what counts
            repo.git(*command)


@pytest.mark.parametrize("vector", VECTORS)
def test_what_runs_under_plain_git_does_not_run_under_ours(
    repo: Repo, workspaces: Workspaces, tmp_path: Path, vector: str
) -> None:
    """Planted before the attempt: start and end are looked at with the trap in place."""
    trap = Trap(tmp_path / "trap")
    VECTORS[vector](repo, trap)
    trap.has_sprung()
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")
    repo.write("new.txt")
    facts = workspaces.observe_end(baseline)

    assert not trap.has_sprung()
    assert {path for path, _ in facts.files} >= {"kept.txt", "new.txt"}
    assert b"+edited" in facts.diff
    assert not facts.truncated
    as_plain_git(repo)
    assert trap.has_sprung(), "the trap is not alive: this test proves nothing"


@pytest.mark.parametrize("vector", VECTORS)
def test_what_an_attempt_plants_does_not_run_at_its_end(
    repo: Repo, workspaces: Workspaces, tmp_path: Path, vector: str
) -> None:
    """Planted by the attempt itself, and found by the next one."""
    trap = Trap(tmp_path / "trap")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")
    VECTORS[vector](repo, trap)
    trap.has_sprung()

    facts = workspaces.observe_end(baseline)
    workspaces.observe_end(workspaces.observe_start(repo.path))

    assert not trap.has_sprung()
    assert b"+edited" in facts.diff


def test_programs_that_git_would_start_elsewhere_are_not_known_to_ours(
    repo: Repo, workspaces: Workspaces, tmp_path: Path
) -> None:
    """Transport, pager, editor, credentials and aliases: observing never needs them, and never reads them."""
    trap = Trap(tmp_path / "trap")
    for name in ELSEWHERE:
        repo.git("config", name, f"!{trap.program}" if name.startswith("alias") else str(trap.program))
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "remote.origin.url", f"ext::{trap.program}")
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert not trap.has_sprung()
    assert (len(facts.files), facts.truncated) == (1, False)


def test_an_attribute_hides_no_change(repo: Repo, workspaces: Workspaces) -> None:
    """`-diff` makes plain git say that binary files differ, and no more."""
    baseline = workspaces.observe_start(repo.path)
    repo.write(".gitattributes", "* -diff binary\n")
    repo.write("kept.txt", "edited\n")

    assert b"-two\n+edited\n" in workspaces.observe_end(baseline).diff


def test_marks_in_the_users_index_hide_no_change_of_the_attempt_that_sets_them(
    repo: Repo, workspaces: Workspaces
) -> None:
    """Ours was made before the agent could touch anything."""
    baseline = workspaces.observe_start(repo.path)
    repo.git("update-index", "--assume-unchanged", "kept.txt")
    repo.git("update-index", "--skip-worktree", "sub/inner.txt")
    repo.write("kept.txt", "edited\n")
    repo.write("sub/inner.txt", "edited\n")

    assert len(workspaces.observe_end(baseline).files) == 2


def test_a_repository_of_somebody_else_can_be_looked_at(repo: Repo, workspaces: Workspaces) -> None:
    """`safe.directory` guards against a configuration that we never read."""
    if repo.path.stat().st_uid != 0:
        pytest.skip("only root can give a folder away")
    for place in (repo.path, repo.path / ".git"):
        shutil.chown(place, user=65534)
    baseline = workspaces.observe_start(repo.path)
    repo.write("kept.txt", "edited\n")

    facts = workspaces.observe_end(baseline)

    assert (len(facts.files), facts.truncated) == (1, False)
