"""The queue: items, leases, events, dependants and promised files, each change one transaction.

May touch the database. Must not know what an agent or a process is.
"""

from teamster.store.gate import is_safe_sqlite
from teamster.store.memory import MemoryStore
from teamster.store.opening import open_postgres
from teamster.store.protocol import Store
from teamster.store.sqlite import open_sqlite
from teamster.store.values import (
    ANY_ITEM,
    Adoption,
    Answer,
    Batch,
    BatchDraft,
    Begin,
    Change,
    Claimed,
    ClaimFilter,
    Complete,
    Drafter,
    Fail,
    Guard,
    Heartbeat,
    ItemDraft,
    Needs,
    Noticed,
    Released,
    Stall,
    Start,
    Submission,
    Waiting,
    Waits,
)

__all__ = [
    "ANY_ITEM",
    "Adoption",
    "Answer",
    "Batch",
    "BatchDraft",
    "Begin",
    "Change",
    "ClaimFilter",
    "Claimed",
    "Complete",
    "Drafter",
    "Fail",
    "Guard",
    "Heartbeat",
    "ItemDraft",
    "MemoryStore",
    "Needs",
    "Noticed",
    "Released",
    "Stall",
    "Start",
    "Store",
    "Submission",
    "Waiting",
    "Waits",
    "is_safe_sqlite",
    "open_postgres",
    "open_sqlite",
]
