"""Who may write about an item now: judged by boot time, shown by the wall clock.

A store that has many hosts works for one of them. There, boot time says what it can say of that host alone; the shifts
of all hosts are judged by the wall clock of the moment as well, which is then the database's.
"""

from __future__ import annotations

from teamster.kit import Instant
from teamster.model import ItemId, Lease, LeaseLost, Shift, ShiftId
from teamster.store.ledger import Entry
from teamster.store.values import Guard


def is_over(shift: Shift, *, at: Instant, host: str | None = None) -> bool:
    """Tell whether a shift ended, expired, or belongs to another boot. It never comes back.

    `host` is the one that the store works for where it has many.
    """
    if shift.ended_at is not None or (host is not None and at.wall >= shift.expires_at):
        return True
    if host is not None and shift.host_id != host:
        return False
    return shift.boot_id != at.boot_id or at.boot_seconds >= shift.expires_boot_seconds


def has_owner(entry: Entry, *, at: Instant, host: str | None = None) -> bool:
    """Tell whether somebody may still write about an item: its shift lives, or a heartbeat of its own holds it."""
    shift = entry.shift
    if shift is None:
        return False
    if not is_over(shift, at=at, host=host):
        return True
    if shift.ended_at is not None or entry.held_until_boot_seconds is None:
        return False
    if host is not None and (entry.item.lease is None or at.wall >= entry.item.lease.expires_at):
        return False
    if host is not None and shift.host_id != host:
        return True
    return shift.boot_id == at.boot_id and at.boot_seconds < entry.held_until_boot_seconds


def lease_of(shift: Shift, own: Lease | None = None) -> Lease:
    """Return the lease that a record shows: its shift's, or a later one by a heartbeat."""
    if own is None or own.expires_at <= shift.expires_at:
        return Lease(expires_at=shift.expires_at, renewed_at=shift.renewed_at)
    return own


def require_shift(shift: Shift | None, *, shift_id: ShiftId, at: Instant, host: str | None = None) -> Shift:
    """Return a shift that lives.

    Raises:
        LeaseLost: it is unknown or over.
    """
    if shift is None:
        raise LeaseLost(f"shift {shift_id}: not in this store", hint="begin a new shift")
    if is_over(shift, at=at, host=host):
        raise LeaseLost(f"shift {shift_id}: its lease is over and never comes back", hint="begin a new shift")
    return shift


def no_owner(entry: Entry | None, guard: Guard, *, at: Instant, host: str | None = None) -> LeaseLost | None:
    """Say why a writer is not the owner that it believes to be, or nothing."""
    if entry is None:
        return LeaseLost(f"item {guard.item_id}: not in this store")
    item = entry.item
    if item.claim_token != guard.claim_token:
        return LeaseLost(f"item {item.item_id}: it is {item.status} and no longer this writer's")
    if item.rev != guard.rev:
        return stale(item.item_id, expected=guard.rev, found=item.rev)
    if not has_owner(entry, at=at, host=host):
        return LeaseLost(f"item {item.item_id}: the lease ran out before the write")
    return None


def stale(item_id: ItemId, *, expected: int, found: int) -> LeaseLost:
    """Say that an item moved on since it was read."""
    return LeaseLost(f"item {item_id}: its rev is {found}, not {expected}", hint="read it again")
