"""Who may be claimed, and how many at once: the contract's words, counted from what is owned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from simulation.seen import OWNED, Seen
from teamster.kit import Instant
from teamster.model import Item, ItemId
from teamster.store import ClaimFilter, ItemDraft

Drafts = Mapping[ItemId, ItemDraft]


def may_run(item: Item, draft: ItemDraft, wanted: ClaimFilter, now: Instant) -> bool:
    """Tell whether a claim may take an item, limits aside."""
    is_due = item.not_before is None or item.not_before <= now.wall
    has_home = draft.step is not None if wanted.batch_ids is None else draft.home in wanted.batch_ids
    has_command = wanted.commands is None or draft.target.get("workflow_command") in wanted.commands
    sources = {"queued", "stalled"} if wanted.stalled else {"queued"}
    return item.status in sources and is_due and has_home and has_command and draft.labels <= wanted.labels


def limits_of(draft: ItemDraft) -> set[str]:
    """Return all that can hold an item back: everything, its batch, what it names."""
    return {"*", draft.home, *draft.limit_keys}


def held(seen: Seen, drafts: Drafts, more: Sequence[ItemId] = ()) -> Counter[str]:
    """Count what is owned, in all and by key."""
    owned = [drafts[name] for name, item in seen.items.items() if item.status in OWNED]
    named = [key for one in (*owned, *(drafts[name] for name in more)) for key in ("*", *one.limit_keys)]
    return Counter(named)


def exceeded(seen: Seen, drafts: Drafts, more: Sequence[ItemId] = ()) -> set[str]:
    """Return the limits that what is owned goes beyond, with some items more."""
    counts = held(seen, drafts, more)
    limits = {key: seen.limits.get(key, None if key == "*" else seen.limits.get("key:*")) for key in counts}
    names = [name for name, item in seen.items.items() if item.status in OWNED]
    homes = Counter(drafts[name].home for name in (*names, *more))
    full = {batch.batch_id for batch in seen.batches if homes[batch.batch_id] > (batch.concurrency or len(seen.items))}
    return full | {key for key, most in limits.items() if most is not None and counts[key] > most}
