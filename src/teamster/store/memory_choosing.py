"""Which items a claim on the memory store takes, by looking at all of them: the plain form of the rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from teamster.kit import Instant
from teamster.model import OWNED_STATUSES, BatchId, ItemId, ItemStatus, Shift, is_collection
from teamster.store.limits import EVERYTHING, kind_of
from teamster.store.memory_ledger import Tables
from teamster.store.routing import is_taken, lane_of
from teamster.store.values import ClaimFilter, ItemDraft

SERVED = "served"


def claimable(tables: Tables, shift: Shift, *, limit: int, at: Instant, wanted: ClaimFilter) -> Sequence[ItemId]:
    """Return the items that may be taken now, and note whose turn it was."""
    order = {item_id: number for number, item_id in enumerate(tables.items)}
    open_ones = [
        draft for draft in map(tables.drafts.__getitem__, order) if _is_open(tables, draft, shift, at=at, wanted=wanted)
    ]
    owned = [tables.drafts[item_id] for item_id, entry in tables.items.items() if entry.item.status in OWNED_STATUSES]
    by_home = Counter(draft.home for draft in owned)
    held = held_keys(owned)
    chosen: list[ItemId] = []
    while len(chosen) < limit:
        free = [draft for draft in open_ones if _has_room(tables, draft, by_home=by_home, held=held)]
        if not free:
            break
        best = min(
            free, key=lambda one: (-one.priority, by_home[one.home], tables.served.get(one.home, 0), order[one.item_id])
        )
        open_ones.remove(best)
        by_home[best.home] += 1
        held.update(best.limit_keys)
        tables.served[best.home] = tables.sequence[SERVED] = tables.sequence.get(SERVED, 0) + 1
        chosen.append(best.item_id)
    return chosen


def held_keys(owned: Iterable[ItemDraft]) -> Counter[str]:
    """Count how many of these name each key of a limit."""
    return Counter(limit_key for draft in owned for limit_key in draft.limit_keys)


def _is_open(tables: Tables, draft: ItemDraft, shift: Shift, *, at: Instant, wanted: ClaimFilter) -> bool:
    item = tables.items[draft.item_id].item
    statuses = {ItemStatus.QUEUED, ItemStatus.STALLED} if wanted.stalled else {ItemStatus.QUEUED}
    return (
        item.status in statuses
        and (item.not_before is None or item.not_before <= at.wall)
        and _is_named(draft.home, wanted)
        and is_taken(lane_of(draft), wanted, shift=shift)
    )


def _is_named(home: BatchId, wanted: ClaimFilter) -> bool:
    return not is_collection(home) if wanted.batch_ids is None else home in wanted.batch_ids


def _has_room(tables: Tables, draft: ItemDraft, *, by_home: Counter[BatchId], held: Counter[str]) -> bool:
    batch = tables.batches.get(draft.home)
    concurrency = None if batch is None else batch.concurrency
    total = tables.limits.get(EVERYTHING)
    return (
        (concurrency is None or by_home[draft.home] < concurrency)
        and (total is None or by_home.total() < total)
        and all(
            maximum is None or held[limit_key] < maximum
            for limit_key in draft.limit_keys
            for maximum in [tables.limits.get(limit_key, tables.limits.get(kind_of(limit_key)))]
        )
    )
