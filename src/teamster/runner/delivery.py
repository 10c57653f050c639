"""Promised files on their way to the disk, and what follows from them: pointers, and attempts that are frozen."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import structlog

from teamster.artifacts import (
    AttemptFile,
    Outbox,
    Root,
    blames_disk,
    current_path,
    freeze_attempt,
    job_folder,
    made_whole,
    make_whole,
    pointers,
    sweep_leftovers,
)
from teamster.kit import Clock, FileLock, Instant, document, write_snapshot
from teamster.model import BatchId, JobId, OutboxRow, WorldError
from teamster.store import Store

_log = structlog.get_logger(__name__)

LOCK: Final = "db/delivery.lock"
ORPHANS_PER_TURN_MAX: Final = 1000
SETTLE_SECONDS_MAX: Final = 10.0
LOOK_SECONDS: Final = 0.02
_MANIFEST: Final = f"/{AttemptFile.MANIFEST.value}"
_ATTEMPT: Final = re.compile(r".*/attempts/[^/]+(?=/)")


class Delivery:
    """Writes the rows that a commit returned. What was flushed goes with a later transaction.

    One lock per root is held by whoever writes what others write too: pointers, and the rows of dead shifts. No tick
    waits for it: a harness that was stopped while it held the lock would stop all others, and nobody could end it.
    """

    def __init__(self, *, root: Root, outbox: Outbox, store: Store, clock: Clock) -> None:
        self._root = root
        self._outbox = outbox
        self._store = store
        self._clock = clock
        self._owed: set[tuple[BatchId, JobId]] = set()  # jobs whose pointers are still to be written
        self._held: list[int] = []  # rows that were flushed, and stay until their pointers are written

    def deliver(self, rows: Sequence[OutboxRow]) -> None:
        """Write promised files now, then freeze the attempts that ended and point at the newest."""
        if rows:
            self._write(rows)
            self._point()

    def deliver_orphans(self, *, at: Instant) -> int | None:
        """Write and flush what dead shifts promised, and say how many files that were; None: somebody else does.

        The lock is held until the rows are gone: a second harness that read them before would bring old states back.
        """
        count = 0
        lock = self._free_lock()
        if lock is None:
            return None
        with lock:
            while rows := self._store.orphaned_outbox(at=at, limit=ORPHANS_PER_TURN_MAX):
                self._write(self._with_whole_manifests(rows), inherited=True)
                for batch_id, job_id in self._owed:
                    sweep_leftovers(self._root.at(job_folder(batch_id, job_id)))  # of who died writing pointers
                self._write_pointers()
                self._store.delivered(self._outbox.settle())
                count += len(rows)
        return count

    def flushed(self) -> tuple[int, ...]:
        """Return the rows that the next transaction may drop."""
        self._held += self._outbox.flushed()
        self._point()
        if self._owed:
            return ()
        flushed, self._held = self._held, []
        return tuple(flushed)

    def settle(self) -> None:
        """Wait until all that was written is flushed, and drop its rows.

        Rows whose pointers can't be written, since somebody holds the lock for long, stay for whoever delivers next.
        """
        self._held += self._outbox.settle()
        pause = threading.Event()
        for _ in range(int(SETTLE_SECONDS_MAX / LOOK_SECONDS)):
            self._point()
            if not self._owed:
                break
            pause.wait(LOOK_SECONDS)
        if seqs := self.flushed():
            self._store.delivered(seqs)

    def _write(self, rows: Sequence[OutboxRow], *, inherited: bool = False) -> None:
        try:
            self._outbox.write(rows, inherited=inherited)
        except WorldError as error:
            if blames_disk(error):
                raise
            self._write_each(rows)
        for row in rows:
            if _is_manifest(row):
                self._freeze(row.path.removesuffix(_MANIFEST))
        self._owed |= {(BatchId(row.batch_id), JobId(row.job_id)) for row in rows if row.batch_id and row.job_id}

    def _with_whole_manifests(self, rows: Sequence[OutboxRow]) -> Sequence[OutboxRow]:
        """Make whole what other hosts promised of attempts here: they could not see what lies in their directories."""
        promised = {row.path: row.content for row in rows}
        return [replace(row, content=self._whole(row, promised)) if _is_manifest(row) else row for row in rows]

    def _whole(self, row: OutboxRow, promised: Mapping[str, bytes]) -> bytes:
        directory = row.path.removesuffix(_MANIFEST)
        try:
            return made_whole(self._root, directory, row.content, promised)
        except WorldError as error:
            if blames_disk(error):
                raise
            make_whole(self._root, directory)
            return made_whole(self._root, directory, row.content, promised)

    def _write_each(self, rows: Sequence[OutboxRow]) -> None:
        """Write attempt by attempt; put those right whose agent laid its own things where these files belong."""
        found = [(match[0] if (match := _ATTEMPT.match(row.path)) else "", row) for row in rows]
        for directory in sorted({directory for directory, _ in found}):
            own = [row for whose, row in found if whose == directory]
            try:
                self._outbox.write(own)
            except WorldError as error:
                if blames_disk(error) or not directory:
                    raise
                make_whole(self._root, directory)
                self._outbox.write(own)

    def _freeze(self, directory: str) -> None:
        try:
            freeze_attempt(self._root, directory)
        except WorldError as error:
            if blames_disk(error):
                raise
            _log.warning("an attempt can't be frozen; verify will show it", directory=directory, fact=error.fact)

    def _point(self) -> None:
        """Write the pointers that are owed, unless somebody else is at it: then a later call does."""
        lock = self._free_lock() if self._owed else None
        if lock is not None:
            with lock:
                self._write_pointers()

    def _free_lock(self) -> FileLock | None:
        try:
            return FileLock(self._root.at(LOCK))
        except BlockingIOError:
            return None

    def _write_pointers(self) -> None:
        now = self._clock.now().wall
        for batch_id, job_id in sorted(self._owed):
            known = self._store.attempts(job=(batch_id, job_id))
            if attempts := [attempt for attempt in known if attempt.lies_in(self._root.root_id)]:
                value = pointers(batch_id=batch_id, job_id=job_id, attempts=attempts, updated_at=now)
                write_snapshot(self._root.at(current_path(batch_id, job_id)), document(value))
        self._owed.clear()


def _is_manifest(row: OutboxRow) -> bool:
    return row.path.endswith(_MANIFEST)
