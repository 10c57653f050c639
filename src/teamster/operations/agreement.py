"""Whether the database of a root and its files say the same: neither may know what the other doesn't."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from teamster.artifacts import RUNS, AttemptFile, Finding, Root, Rule, attempt_file, batch_folder, batch_meta_path
from teamster.kit import OutsideRoot, iso, read_beneath
from teamster.model import (
    OWNED_STATUSES,
    Attempt,
    AttemptStatus,
    BatchId,
    Item,
    ItemStatus,
    JobId,
    StepId,
    StepKey,
    Table,
)
from teamster.store import Batch, Store

ROWS_MAX: Final = 1_000_000
DOCUMENT_BYTES_MAX: Final = 512 << 20
BATCH_FOLDERS: Final = "[!_]*"  # what begins with `_` is no batch
ATTEMPT_FOLDERS: Final = "[!_]*/*/steps/*/attempts/*"


@dataclass(slots=True, kw_only=True)
class Agreement:
    """One comparison. The folders were listed before anything else was read."""

    root: Root
    batches: frozenset[str]
    attempts: frozenset[str]
    promised: Mapping[str, bytes]

    @classmethod
    def begin(cls, root: Root) -> Self:
        """List what lies on the disk now."""
        attempts, batches = _folders(root, ATTEMPT_FOLDERS), _folders(root, BATCH_FOLDERS)
        return cls(root=root, batches=batches, attempts=attempts, promised={})

    def findings(self, store: Store, promised: Mapping[str, bytes]) -> Iterator[Finding]:
        """Compare; `promised` are files that a commit has promised and that may not be written yet."""
        self.promised = promised
        known: set[str] = set()
        batches = store.batches()
        for batch in batches:
            yield from self._batch(store, batch, known)
        for folder in sorted(self.batches - {batch_folder(batch.batch_id) for batch in batches}):
            yield _finding(folder, "the database has no such batch")
        strange = self.attempts - known
        for directory in sorted(strange):
            if any(directory.startswith(f"{batch_folder(batch.batch_id)}/") for batch in batches):
                yield _finding(directory, "the database has no such attempt")

    def _batch(self, store: Store, batch: Batch, known: set[str]) -> Iterator[Finding]:
        items = store.items(batch_id=batch.batch_id, limit=ROWS_MAX)
        waiting = store.waiting(batch_id=batch.batch_id, limit=ROWS_MAX)
        steps = {item.step for item in items} | {found.draft.step for found in waiting}
        if has_come_here(batch, self.root):
            yield from self._batch_meta(batch, {step for step in steps if step is not None})
        for item in items:
            attempts = store.attempts(item_id=item.item_id)
            for attempt in (each for each in attempts if each.lies_in(self.root.root_id)):
                known.add(attempt.directory)
                yield from self._attempt(attempt)
            yield from _item(item, attempts)

    def _batch_meta(self, batch: Batch, steps: set[StepKey]) -> Iterator[Finding]:
        path = batch_meta_path(batch.batch_id)
        record = self._document(path)
        if record is None:
            yield _finding(path, "the database has this batch, and its record can't be read")
            return
        try:
            same = Table.from_json(record["launch_table"]).digest == batch.meta["table_sha256"]
            planned = set(_planned(batch.batch_id, record))
        except (KeyError, TypeError, ValueError):
            yield _finding(path, "its table can't be read")
            return
        if not same:
            yield _finding(path, "its table is not the one that the database took")
        for step in sorted(planned - steps):
            yield _finding(path, f"the database has no item of {step}")
        for step in sorted(steps - planned):
            yield _finding(path, f"the database has an item of {step}, the table has no such step")

    def _attempt(self, attempt: Attempt) -> Iterator[Finding]:
        path = attempt_file(attempt.directory, AttemptFile.STATE)
        state = self._document(path) or {}
        ended_at = None if attempt.ended_at is None else iso(attempt.ended_at)
        expected = {"status": attempt.status.value, "started_at": iso(attempt.started_at), "ended_at": ended_at}
        for name, value in expected.items():
            if state.get(name) != value:
                yield _finding(path, f"its {name} is {state.get(name)}, the database says {value}")
        sealed = attempt.facts.get("session_sha256")
        if sealed is not None:
            path = attempt_file(attempt.directory, AttemptFile.SESSION)
            if (self._document(path) or {}).get("session_sha256") != sealed:
                yield _finding(path, "it is not the session that the database names")

    def _document(self, path: str) -> dict[str, Any] | None:
        try:
            content = self.promised.get(path)
            if content is None:
                content = read_beneath(self.root.path, path, bytes_max=DOCUMENT_BYTES_MAX)
            value = json.loads(content)
        except (OSError, OutsideRoot, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


def has_come_here(batch: Batch, root: Root) -> bool:
    """Tell whether a batch was submitted under a root: its record lies there alone, wherever its steps run."""
    return bool(batch.meta.get("root_id", root.root_id) == root.root_id)


def _item(item: Item, attempts: Sequence[Attempt]) -> Iterator[Finding]:
    """Compare an item with its attempts: where the last one stands, and which one its end names."""
    last = max(attempts, key=lambda attempt: attempt.number, default=None)
    if last is None:
        if item.status is ItemStatus.SUCCEEDED and item.step is not None:
            path = batch_folder(item.step.batch_id)
            yield _finding(path, f"item {item.item_id} of {item.step} has succeeded without an attempt")
        return
    owned, running = item.status in OWNED_STATUSES, last.status is AttemptStatus.RUNNING
    succeeded = last.status is AttemptStatus.SUCCEEDED
    if owned != running or (item.status is ItemStatus.SUCCEEDED) != succeeded:
        yield _finding(
            last.directory, f"item {item.item_id} is {item.status.value}, its last attempt {last.status.value}"
        )
    named = (item.result or {}).get("run_id") or (item.error or {}).get("details", {}).get("run_id")
    if named is not None and named != last.run_id:
        yield _finding(last.directory, f"item {item.item_id} ended with run {named}, its last attempt is another one")


def _planned(batch_id: BatchId, record: Mapping[str, Any]) -> Iterator[StepKey]:
    for job in record["jobs"]:
        for step in job["steps"]:
            yield StepKey(batch_id, JobId(job["job_id"]), StepId(step["step_id"]))


def _folders(root: Root, pattern: str) -> frozenset[str]:
    found = (path for path in root.at(RUNS).glob(pattern) if path.is_dir() and not path.is_symlink())
    return frozenset(path.relative_to(root.path).as_posix() for path in found)


def _finding(path: str, fact: str) -> Finding:
    return Finding(path=path, rule=Rule.AGREEMENT, fact=fact)
