"""What a person should know of attempts that run: an agent that tries in vain to reach its model, above all."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from teamster.artifacts import AttemptFile, Root, attempt_file
from teamster.model import BatchId, ItemStatus, RunId, StepKey
from teamster.store import Store
from teamster.views.reading import read_json

RUNNING_MAX: Final = 512
RECONNECTING: Final = "Reconnecting"  # how Codex says that it has no network; it may say so for very long


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What an attempt is busy with that is no progress."""

    step: StepKey
    run_id: RunId
    fact: str


def troubles(store: Store, root: Root, batch_id: BatchId | None, *, known: Container[RunId]) -> Sequence[Trouble]:
    """Look at what runs, without the attempts that are known to be in trouble."""
    found = []
    for item in store.items(batch_id=batch_id, status=ItemStatus.RUNNING.value, limit=RUNNING_MAX):
        attempts = store.attempts(item_id=item.item_id)
        if not attempts or attempts[-1].run_id in known:
            continue
        attempt = attempts[-1]
        state = read_json(root, attempt_file(attempt.directory, AttemptFile.STATE)) or {}
        fact = str(state.get("current_item") or "")
        if fact.startswith(RECONNECTING):
            found.append(Trouble(step=attempt.step, run_id=attempt.run_id, fact=fact))
    return found
