"""An attempt: one try at an item, as the store and the pointers know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from teamster.model.ids import ItemId, RootId, RunId, StepKey
from teamster.model.states import FINAL_ATTEMPT_STATUSES, AttemptStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at an item. `directory` is relative to the root; `facts` are the runner's own (JSON).

    Facts that others rely on: `codex_thread_id`, `session_sha256` (of a sealed base), `failure_class`, `root_id`.
    """

    run_id: RunId
    item_id: ItemId
    step: StepKey
    number: int
    directory: str
    status: AttemptStatus
    started_at: datetime
    ended_at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.ended_at is not None) != (self.status in FINAL_ATTEMPT_STATUSES):
            raise ValueError(f"{self.run_id}: {self.status} and its end time disagree")

    def lies_in(self, root_id: RootId) -> bool:
        """Tell whether its files lie beneath a root. One that names none is older than shared queues: it does."""
        return bool(self.facts.get("root_id", root_id) == root_id)


class FileClass(StrEnum):
    """How a kept file may change: the classes of PH-8.2.2."""

    WRITE_ONCE = "write-once"
    APPEND_ONLY = "append-only"
    SNAPSHOT = "atomic snapshot"
    INDEX = "mutable index"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDraft:
    """A file that follows from a move: committed with it, written after it. `path` is relative to the root.

    With a `root_id` it belongs beneath another root than the caller's, and whoever works there writes it.
    """

    path: str
    file_class: FileClass
    content: bytes
    root_id: RootId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """A file that was promised by a commit and may not be on the disk yet."""

    seq: int
    path: str
    file_class: FileClass
    content: bytes
    batch_id: str | None
    job_id: str | None
