"""Dependants: who waits, whose wait is over, in the same transaction as what ended it."""

from __future__ import annotations

from typing import Final

from teamster.model import FINAL_STATUSES, Item, ItemId, ItemStatus, UsageError
from teamster.store.course import first_event, first_record
from teamster.store.ledger import Ledger, Turn
from teamster.store.values import Answer, ItemDraft, Needs, Waits

BASE_FACT: Final = "session_sha256"  # of an attempt: its base is sealed and whole


def admit(turn: Turn, draft: ItemDraft) -> None:
    """Keep a draft; give it its record if it waits for nothing.

    Raises:
        UsageError: its item id or dedupe key is taken.
    """
    unmet = [waits for waits in dict.fromkeys(draft.waits) if not _is_met(turn.ledger, waits)]
    turn.ledger.add_draft(draft, unmet=unmet)
    if not unmet:
        give_record(turn, draft)


def enqueue_one(turn: Turn, draft: ItemDraft) -> Answer:
    """Admit one item, find the one that has its dedupe key, or say why not."""
    known = turn.ledger.known(draft.dedupe_key)
    if known is None:
        if not turn.ledger.has_home(draft.home):
            refusal = UsageError(f"there is no batch {draft.home}", hint="submit it first")
            return Answer(item=None, refusal=refusal)
        try:
            admit(turn, draft)
        except UsageError as taken:
            return Answer(item=None, refusal=taken)
    entry = turn.ledger.entry(draft.item_id if known is None else known)
    return Answer(item=None if entry is None else entry.item, replayed=known is not None)


def give_record(turn: Turn, draft: ItemDraft) -> None:
    """Enqueue a draft: from now on it has a record and a history."""
    turn.ledger.enqueue(first_record(draft, at=turn.at), first_event(names=turn.names, at=turn.at))


def release(turn: Turn, ended: Item) -> None:
    """Enqueue what waited for the step of an item that has just ended, and for nothing else.

    It costs as much as the item has dependants, however large the batch is.
    """
    assert ended.status in FINAL_STATUSES
    if ended.step is None:
        return
    waiters = turn.ledger.waiters(ended.step)
    if not waiters:
        return
    ways = _needs_met(turn.ledger, ended.item_id, ended.status)
    met = [waiter for waiter in waiters if waiter.needs in ways]
    for draft in turn.ledger.meet(ended.step, met):
        give_record(turn, draft)


def _is_met(ledger: Ledger, waits: Waits) -> bool:
    return any(waits.needs in _needs_met(ledger, item_id, status) for item_id, status in ledger.ends_of(waits.step))


def _needs_met(ledger: Ledger, item_id: ItemId, status: ItemStatus) -> set[Needs]:
    met = {Needs.SUCCEEDED} if status is ItemStatus.SUCCEEDED else set()
    last = ledger.last_attempt(item_id)
    if last is not None and last.facts.get(BASE_FACT):
        met.add(Needs.FINAL)
    return met
