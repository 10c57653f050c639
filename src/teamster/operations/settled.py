"""Whether anything can still run: what every wait for an end asks."""

from __future__ import annotations

from typing import Final

from teamster.model import BatchId, ItemStatus
from teamster.store import Store

ACTIVE: Final = (ItemStatus.QUEUED, ItemStatus.CLAIMED, ItemStatus.RUNNING, ItemStatus.STALLED)


def is_settled(store: Store, batch_id: BatchId | None) -> bool:
    """Tell whether nothing can run any more: what waits then waits for a step that did not succeed."""
    counts = store.counts(batch_id=batch_id)
    return not any(counts.get(status.value, 0) for status in ACTIVE)
