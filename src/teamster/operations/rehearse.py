"""Makes a table harmless to try: a batch of its own, whose jobs work on clones and never on the user's own files."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from teamster.model import ID_CHARACTERS_MAX, BatchId, Table
from teamster.operations.harness import Harness, Opened
from teamster.operations.settled import is_settled
from teamster.operations.submit import Submitted, submit
from teamster.rehearsal import clone_directories

CLONES: Final = "clones"
REHEARSALS_MAX: Final = 10_000


def rehearsed(harness: Harness, table: Table) -> Submitted:
    """Submit a rehearsal of a table: the one that was interrupted, or a new one on fresh clones.

    Raises:
        UsageError: a working directory is too large to be cloned.
        WorldError: the disk failed.
    """
    named = replace(table, batch_id=_open_rehearsal(harness, table.batch_id))
    cloned = clone_directories(named, harness.root.path / CLONES / named.batch_id, leave_out=(harness.root.path,))
    return submit(harness, cloned, new=True)


def _open_rehearsal(harness: Harness, batch_id: BatchId) -> BatchId:
    """Return the id of the first rehearsal that is not settled yet."""
    with Opened.of(harness) as opened:
        for number in range(1, REHEARSALS_MAX):
            suffix = "" if number == 1 else f"-r{number}"
            name = BatchId(batch_id[: ID_CHARACTERS_MAX - len(suffix)] + suffix)
            if opened.store.batch(name) is None or not is_settled(opened.store, name):
                return name
    raise AssertionError(f"{REHEARSALS_MAX} rehearsals of one table")
