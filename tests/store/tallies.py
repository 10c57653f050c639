"""A check of the counters that every SQL store keeps."""

# ruff: noqa: S608 - joined from the constants of this file alone

from __future__ import annotations

from collections.abc import Callable

COUNTED = ("queued", "claimed", "running", "stalled", "succeeded", "failed")


def require_true(rows: Callable[[str], object]) -> None:
    """Check the counters against what they count, and that nothing that has a record waits."""
    of_status = (f"(SELECT COUNT(*) FROM items i WHERE i.batch = t.batch AND i.status = '{one}')" for one in COUNTED)
    waiting = "(SELECT COUNT(*) FROM drafts d WHERE d.batch = t.batch AND d.no NOT IN (SELECT draft FROM items))"
    kept = rows(f"SELECT {', '.join(COUNTED)}, waiting FROM tallies t ORDER BY batch")
    assert kept == rows(f"SELECT {', '.join(of_status)}, {waiting} FROM tallies t ORDER BY batch")
    assert rows("SELECT * FROM waits WHERE draft IN (SELECT draft FROM items)") == []
