"""A worker whose promised files are really written, on a disk whose power is cut: `worker.py` with an outbox.

Beside its work it leaves canaries: files that are renamed without a flush, and a second database that is not flushed at
each commit. A power cut must take some of them; one that takes none cuts nothing.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random
from typing import Final

from faults.worker import Worker, drafts_of
from teamster.artifacts import Outbox, Root, open_root
from teamster.kit import RandomNames, SystemClock
from teamster.model import BatchId
from teamster.store import BatchDraft, open_sqlite
from teamster.store.sqlite import SqliteStore

DATABASE: Final = "db/teamster.db"
CANARY_DATABASE: Final = "db/canary.db"
CANARIES: Final = "canaries"
ROWS_MAX: Final = 100


def write(*, place: str, log: str, name: str, seed: int, seconds: float) -> None:
    """Work in the root at `place` until the time is over, or the power goes."""
    root = open_root(Path(place), names=RandomNames(), clock=SystemClock())
    (root.path / CANARIES).mkdir()
    store = open_sqlite(root.path / DATABASE)
    with contextlib.closing(store), Outbox(root) as outbox, contextlib.closing(_careless(root)) as canary:
        random = Random(seed)  # noqa: S311 - a choice, not a secret
        writer = Writer(store, log=Path(log), name=name, random=random)
        writer.root, writer.outbox, writer.canary = root, outbox, canary
        writer.run(seconds=seconds)


def _careless(root: Root) -> SqliteStore:
    store = open_sqlite(root.path / CANARY_DATABASE)
    store._database.rows("PRAGMA synchronous = NORMAL")
    return store


class Writer(Worker):
    """A worker that delivers what it promises, and leaves canaries."""

    root: Root
    outbox: Outbox
    canary: SqliteStore

    def deliver(self) -> None:
        """Write promised files, and drop the rows of those that were flushed."""
        self.outbox.write(self.store.outbox(limit=ROWS_MAX))
        safe = self.outbox.settle() if self.random.random() < 0.5 else self.outbox.flushed()
        self.tell("delivers", seqs=safe)
        self.store.delivered(safe)
        self.leave_canaries()

    def leave_canaries(self) -> None:
        """Acknowledge what no power cut has to respect."""
        name = self.fresh("canary")
        temporary = self.root.path / CANARIES / f"{name}.tmp"
        temporary.write_text(name, encoding="utf-8")
        temporary.rename(temporary.with_suffix(""))
        self.tell("careless file", name=name)
        batch = BatchDraft(batch_id=BatchId(name), concurrency=None, meta={}, items=drafts_of(name))
        self.canary.submit(batch, at=self.clock.now())
        self.tell("careless commit", name=name)
