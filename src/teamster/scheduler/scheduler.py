"""Requeues or abandons stalled items, each with one conditional write that any scheduler may do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from teamster.kit import Instant
from teamster.model import Attempt, AttemptStatus, Item, ItemStatus, JsonObject
from teamster.policy import GiveUp, Retry, RetryLimits
from teamster.store import Store

STALLED_PER_TICK_MAX: Final = 200


def after_stall(item: Item, attempts: Sequence[Attempt], *, limits: RetryLimits, now: datetime) -> Retry | GiveUp:
    """Decide what follows when an owner was lost. Pure; `recoveries` counts this loss already."""
    if item.cancel_requested:
        return GiveUp(reason="canceled on request")
    if attempts and attempts[-1].status is AttemptStatus.NEEDS_ATTENTION:
        return GiveUp(reason="what its runner left behind is in doubt", needs_attention=True)
    if item.recoveries > limits.recoveries_max:
        return GiveUp(reason=f"its runner was lost {item.recoveries} times", needs_attention=True)
    return Retry(at=now, consumes=False)


class Scheduler:
    """Carries out what policy says about stalled items."""

    def __init__(self, store: Store, *, limits: RetryLimits) -> None:
        self._store = store
        self._limits = limits

    def tick(self, now: Instant) -> int:
        """Move stalled items on, at most `STALLED_PER_TICK_MAX`, and say how many there were.

        A refused write means that somebody else was quicker.
        """
        stalled = self._store.items(status=ItemStatus.STALLED.value, limit=STALLED_PER_TICK_MAX)
        for item in stalled:
            attempts = self._store.attempts(item_id=item.item_id)
            match after_stall(item, attempts, limits=self._limits, now=now.wall):
                case Retry():
                    self._store.requeue(item.item_id, rev=item.rev, at=now, not_before=None)
                case GiveUp() as end:
                    self._store.abandon(item.item_id, rev=item.rev, at=now, error=_error(item, attempts, end))
        return len(stalled)


def _error(item: Item, attempts: Sequence[Attempt], end: GiveUp) -> JsonObject:
    code = "needs_attention" if end.needs_attention else "canceled" if item.cancel_requested else "lost"
    details = {"run_id": attempts[-1].run_id, "attempt_dir": f"{attempts[-1].directory}/"} if attempts else {}
    return {"message": end.reason, "code": code, "details": details}
