"""What a tick asks for costs the same however much is finished."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.store_world import World
from teamster.model import ItemStatus
from teamster.store import sql, sql_reading
from teamster.store.connection import Database

GROWING = {"items", "drafts", "events", "attempts", "waits", "outbox"}  # tables that grow with what is finished
SCANS_ALLOWED = {  # what lists everything, what looks at the few rows that are still promised or unmet
    "ATTEMPTS": "asked for all",
    "ORPHANS": "the outbox holds what is on its way to the disk",
    "PROMISES_OF_REQUEST": "the outbox again, for a repeat",
    "WAITING": "only what is unmet has rows there",
    "CHUNK_OF_BATCH": "clears up after a death, 500 rows at a time",
}
CLAIMING = {  # what a claim and a tick ask for, and the index that has it in order
    "HEADS_READY": "items_ready",
    "HEADS_SHELVED": "items_shelved",
    "HEADS_STALLED": "items_stalled",
    "NEXT_SHELF": "items_shelved",
    "DELAYED_DUE": "items_delayed",
    "OWNED": "items_held",
    "HELD_KEYS": "items_holding",
    "EVENTS_AFTER": "PRIMARY KEY",
    "EARLY_EVENTS": "items_by_batch",
    "NEXT_DUE": "items_due",
    "NEXT_DUE_OF_BATCH": "items_due",
    "CANCEL_REQUESTS": "items_to_cancel",
}
STATEMENTS = {
    name: value
    for name, value in vars(sql).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str) and name not in {"ITEM", "SHIFT"}
}


@pytest.fixture
def database(world: World, path: Path) -> Iterator[Database]:
    """Open a connection below the store."""
    del world  # it makes the schema
    with contextlib.closing(Database(path)) as opened:
        yield opened


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_scans_a_table_that_grows(database: Database, name: str) -> None:
    """The original harness read the whole batch again for each step: 4.9 steps a second with 50 jobs, 1.2 with 400."""
    statement = STATEMENTS[name]
    numbered = {int(number) for number in re.findall(r"\?(\d)", statement)}
    values = [None] * (max(numbered) if numbered else statement.count("?"))

    plan = [str(row[3]) for row in database.rows(f"EXPLAIN QUERY PLAN {statement}", values)]

    aliases = dict(re.findall(r"(?:FROM|JOIN|UPDATE) (\w+) (\w)\b", statement))
    names = {short: table for table, short in aliases.items()}
    scanned = {names.get(found, found) for step in plan for found in re.findall(r"^SCAN (\w+)", step)}
    assert (scanned & GROWING == set()) is (name not in SCANS_ALLOWED), plan


def test_sorting_needs_no_table_of_its_own_where_a_tick_claims(database: Database) -> None:
    """The index has the order of the claim; else each claim would sort all that is queued."""
    for name, index in CLAIMING.items():
        values = [None] * STATEMENTS[name].count("?")
        plan = " ".join(str(row[3]) for row in database.rows(f"EXPLAIN QUERY PLAN {STATEMENTS[name]}", values))

        assert "TEMP B-TREE" not in plan, name
        assert index in plan, (name, plan)


@pytest.mark.parametrize("status", ["claimed", "running", "stalled"])
def test_what_is_in_motion_is_found_without_looking_at_what_ended(database: Database, status: str) -> None:
    """The scheduler asks for stalled items all the time, among however many that have ended."""
    statement, values = sql_reading.items_statement(
        batch_id=None, job_id=None, shift_id=None, status=ItemStatus(status), limit=10, after=""
    )

    plan = " ".join(str(row[3]) for row in database.rows(f"EXPLAIN QUERY PLAN {statement}", values))

    assert "items_in_motion" in plan
