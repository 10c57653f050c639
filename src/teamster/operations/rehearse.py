"""Makes a table harmless to try: a batch of its own, whose jobs work on clones and never on the user's own files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from teamster.model import ID_CHARACTERS_MAX, BatchId, Table
from teamster.operations.harness import Harness, Opened
from teamster.operations.roots import RootChoice
from teamster.operations.settled import is_settled
from teamster.operations.submit import Submitted, submit
from teamster.rehearsal import Model, clone_directories, serve_model

CLONES: Final = "clones"
SERVED: Final = "served"
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


def serve_scenario(choice: RootChoice, *, scenario: Path | None, port: int, tell: Callable[[Model], None]) -> None:
    """Serve a scenario to whoever asks, until told to end; `tell` is called once the model listens.

    It has a folder of its own in the rehearsal's root: a table that is rehearsed there keeps its own model.

    Raises:
        TableProblems: the scenario can't be played.
        UsageError: it can't be read, the port is taken, or one is served already.
    """
    serve_model(folder=choice.for_rehearsal().path / SERVED, scenario=scenario, port=port, tell=tell)


def _open_rehearsal(harness: Harness, batch_id: BatchId) -> BatchId:
    """Return the id of the first rehearsal that is not settled yet."""
    with Opened.of(harness) as opened:
        for number in range(1, REHEARSALS_MAX):
            suffix = "" if number == 1 else f"-r{number}"
            name = BatchId(batch_id[: ID_CHARACTERS_MAX - len(suffix)] + suffix)
            if opened.store.batch(name) is None or not is_settled(opened.store, name):
                return name
    raise AssertionError(f"{REHEARSALS_MAX} rehearsals of one table")
