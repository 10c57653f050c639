"""What a workspace is like before an attempt and after it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from teamster.kit import Clock, FileLock, Names, make_folder
from teamster.workspace.git import Budget, Git, GitFailed, Tools
from teamster.workspace.mirror import Memory, Mirror, Settled
from teamster.workspace.reading import against_head, cut_patch, file_changes, status_text
from teamster.workspace.repository import Repository, find_repository, head_of, repository_at
from teamster.workspace.values import Baseline, ChangeKind, Limits, WorkspaceFacts
from teamster.workspace.visits import Visits

KEY_CHARACTERS: Final = 24
LOCK_POLL_SECONDS: Final = 0.002
MEMORIES_MAX: Final = 1024  # workspaces that this process remembers; a forgotten one costs two more git processes


class Workspaces:
    """Looks at working directories before and after attempts. Never writes into them; safe to call from threads.

    An observation never fails an attempt: what can't be found out is missing in the facts, and `gaps` say so.
    `folder` holds one git directory for each working tree. `git` is None where there is none on this machine.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tools: Tools,
        git: Path | None,
        clock: Clock,
        names: Names,
        limits: Limits | None = None,
    ) -> None:
        self._folder = folder
        self._tools = tools
        self._program = git
        self._clock = clock
        self._names = names
        self._limits = limits or Limits()
        self._memories: dict[str, Memory] = {}
        self._never = threading.Event()

    def observe_start(self, working_directory: Path) -> Baseline:
        """Note the state of a workspace before an agent starts in it: one to four git processes, or none at all."""
        repository = find_repository(working_directory)
        if repository is None:
            return Baseline(working_directory=working_directory)
        visit = self._names.fresh("visit")
        baseline = Baseline(
            working_directory=working_directory, top=repository.top, visit=visit, head=head_of(repository)
        )
        try:
            with self._mirror(repository.top, repository) as (mirror, visits):
                baseline = replace(baseline, is_shared=visits.arrive(visit, now=self._clock.now().wall))
                mirror.prepare(head=baseline.head, fresh=True)
                return self._noted(baseline, mirror.settle(head=baseline.head))
        except (GitFailed, OSError) as error:
            return replace(baseline, gaps=(f"the state before the attempt is not known: {error}",))

    def observe_end(self, baseline: Baseline) -> WorkspaceFacts:
        """Return the state of a workspace after an agent's tree is gone, and what has changed since the baseline."""
        if baseline.top is None:
            return WorkspaceFacts(is_repository=False)
        facts = WorkspaceFacts(
            is_repository=True, subfolder=_subfolder(baseline), shared=baseline.is_shared, gaps=baseline.gaps
        )
        repository = repository_at(baseline.top)
        if repository is None:
            return replace(facts, gaps=(*facts.gaps, "the repository is gone"))
        facts = replace(facts, head=head_of(repository))
        try:
            with self._mirror(baseline.top, repository) as (mirror, visits):
                facts = replace(facts, shared=visits.leave(baseline.visit) or facts.shared)
                mirror.prepare(head=facts.head, fresh=False)
                settled = mirror.settle(head=facts.head, read_untracked=not baseline.left_out_untracked)
                return self._compared(facts, baseline, settled, mirror)
        except (GitFailed, OSError) as error:
            return replace(facts, gaps=(*facts.gaps, f"the state after the attempt is not known: {error}"))

    def _noted(self, baseline: Baseline, settled: Settled) -> Baseline:
        left_out = sorted(settled.sorted.left_out)[: self._limits.left_out_max]
        return replace(
            baseline,
            tree=settled.tree,
            is_clean=settled.is_as_seen and not against_head(settled.seen) and not settled.is_cut,
            left_out={path: settled.sorted.left_out[path][0] for path in left_out},
            left_out_untracked=settled.has_unread_untracked,
        )

    def _compared(self, facts: WorkspaceFacts, baseline: Baseline, settled: Settled, mirror: Mirror) -> WorkspaceFacts:
        limits = self._limits
        gaps = list(facts.gaps)
        changes: dict[bytes, ChangeKind] = {}
        patch = b""
        if baseline.tree not in {None, settled.tree}:
            changes, patch, more = mirror.patch(baseline.tree or "", settled.tree)
            if more or len(patch) > limits.diff_bytes_max:
                gaps.append(f"the diff is longer than {limits.diff_bytes_max} bytes")
        against = self._against_head(changes, facts, baseline, settled, mirror)
        unread = _unread_changes(baseline, settled, limits)
        if unread:
            gaps.append(f"{len(unread)} changed files are too large, too many or not readable; the diff lacks them")
        if settled.is_cut or baseline.left_out_untracked:
            gaps.append("there are more changed files than can be told apart")
        changes = {**changes, **unread} if baseline.tree is not None else {}
        if max(len(changes), len(against)) > limits.files_max:
            gaps.append(f"more than {limits.files_max} files are not listed")
        left_out = {path: change for path, (_, change) in settled.sorted.left_out.items()}
        return replace(
            facts,
            status=status_text({**against, **left_out, **settled.sorted.unread}, lines_max=limits.files_max),
            diff=cut_patch(patch, bytes_max=limits.diff_bytes_max),
            files=file_changes(changes, files_max=limits.files_max),
            tree=settled.tree,
            gaps=tuple(gaps),
        )

    def _against_head(
        self,
        changes: dict[bytes, ChangeKind],
        facts: WorkspaceFacts,
        baseline: Baseline,
        settled: Settled,
        mirror: Mirror,
    ) -> dict[bytes, ChangeKind]:
        """Return how the working tree differs from the head, from what is known already where that will do."""
        if settled.is_as_seen and not settled.is_cut:
            return against_head(settled.seen)
        if baseline.is_clean and facts.head == baseline.head:
            return changes
        return mirror.compare(facts.head or mirror.empty_tree, settled.tree)[0]

    @contextmanager
    def _mirror(self, top: Path, repository: Repository) -> Iterator[tuple[Mirror, Visits]]:
        """Hold a workspace's lock, against threads and processes, and give its mirror."""
        if self._program is None:
            raise GitFailed("there is no git on this machine")
        key = hashlib.sha256(os.fsencode(top)).hexdigest()[:KEY_CHARACTERS]
        place = self._folder / key
        make_folder(place / "git")
        with self._lock(place / "lock"):
            memory = self._memories.setdefault(key, Memory())
            if len(self._memories) > MEMORIES_MAX:
                self._memories.pop(next(iter(self._memories)))
            budget = Budget(self._clock, seconds=self._limits.seconds_max)
            git = Git(program=self._program, tools=self._tools, folder=place / "git", top=top, budget=budget)
            yield (
                Mirror(folder=place / "git", repository=repository, memory=memory, git=git, limits=self._limits),
                Visits(place / "open"),
            )

    def _lock(self, path: Path) -> FileLock:
        """Take the lock, waiting for whoever holds it.

        Raises:
            GitFailed: it was not free in time.
        """
        for _ in range(int(self._limits.lock_seconds_max / LOCK_POLL_SECONDS) + 1):
            try:
                return FileLock(path)
            except BlockingIOError:
                self._never.wait(LOCK_POLL_SECONDS)
        raise GitFailed("another observation of the workspace takes too long")


def _unread_changes(baseline: Baseline, settled: Settled, limits: Limits) -> dict[bytes, ChangeKind]:
    """Return the changed files that were not read: those of which the baseline says another thing, or nothing."""
    is_full = len(baseline.left_out) >= limits.left_out_max
    found = {
        path: change
        for path, (sign, change) in settled.sorted.left_out.items()
        if baseline.left_out.get(path, sign if is_full else None) != sign
    }
    if baseline.left_out_untracked:
        return found
    return {**found, **settled.sorted.unread}


def _subfolder(baseline: Baseline) -> str:
    real = os.path.realpath(baseline.working_directory)
    relative = os.path.relpath(real, baseline.top)
    return "" if relative == "." else relative
