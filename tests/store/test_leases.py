"""Who may write now: pure judgements at their edges."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.store_world import TTL_SECONDS, World
from teamster.kit import Instant
from teamster.model import Lease, Shift
from teamster.store import MemoryStore
from teamster.store.leases import has_owner, is_over, lease_of
from teamster.store.ledger import Entry

WORLD = World(MemoryStore)
START = WORLD.now
SHIFT = WORLD.shift_value("shift-a")
ITEM = WORLD.running()


@pytest.mark.parametrize(
    ("shift", "at", "over"),
    [
        (SHIFT, START, False),
        (SHIFT, START.after(TTL_SECONDS - 0.001), False),
        (SHIFT, START.after(TTL_SECONDS), True),
        (SHIFT, replace(START, wall=START.wall + timedelta(days=9)), False),
        (SHIFT, replace(START, boot_id="boot-2"), True),
        (replace(SHIFT, ended_at=START.wall), START, True),
    ],
    ids=["fresh", "last-moment", "expired", "wall-stepped", "other-boot", "ended"],
)
def test_a_shift_is_over_by_boot_time_boot_or_its_own_end(shift: Shift, at: Instant, *, over: bool) -> None:
    """The end itself is already too late: two owners never overlap, not even for one moment."""
    assert is_over(shift, at=at) is over


@pytest.mark.parametrize(
    ("shift", "held_seconds", "after_seconds", "owned"),
    [
        (SHIFT, None, 1, True),
        (SHIFT, None, TTL_SECONDS, False),
        (SHIFT, 500, TTL_SECONDS, True),
        (SHIFT, 500, 500, False),
        (SHIFT, 10, 20, True),
        (replace(SHIFT, ended_at=START.wall), 500, 1, False),
        (None, None, 0, False),
    ],
    ids=["living", "expired", "held-by-a-heartbeat", "heartbeat-ran-out", "short-heartbeat", "ended", "nobodys"],
)
def test_an_item_is_owned_until_the_later_of_two_ends(
    shift: Shift | None, held_seconds: float | None, after_seconds: float, *, owned: bool
) -> None:
    """Its shift's lease, or a heartbeat of its own; a shift that gave its lease back holds nothing."""
    until = None if held_seconds is None else START.boot_seconds + held_seconds

    entry = Entry(item=ITEM, shift=shift, held_until_boot_seconds=until)

    assert has_owner(entry, at=START.after(after_seconds)) is owned


def test_a_record_shows_the_later_lease() -> None:
    """A reader wants to know until when, not by what."""
    later = Lease(expires_at=SHIFT.expires_at + timedelta(seconds=1), renewed_at=START.wall)
    earlier = Lease(expires_at=SHIFT.expires_at - timedelta(seconds=1))

    assert lease_of(SHIFT, later) == later
    assert (
        lease_of(SHIFT, earlier) == lease_of(SHIFT) == Lease(expires_at=SHIFT.expires_at, renewed_at=SHIFT.renewed_at)
    )
