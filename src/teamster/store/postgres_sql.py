"""The hand-written statements in PostgreSQL's spelling.

`sql.py` holds them once, as SQLite reads them. Most differ by their placeholders alone; the few that say something else
stand here, beside what they replace.
"""

# ruff: noqa: S608 - joined from constants alone; every value is bound

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from teamster.store import sql

ROWS_PER_MESSAGE_MAX: Final = 500
_PLACE: Final = re.compile(r"\?(\d*)")
_MANY: Final = re.compile(r"\A(?P<into>\s*INSERT INTO .*?VALUES )\((?P<places>[?, ]+)\)\s*\Z", re.DOTALL)
_TALLIES: Final = re.compile(r"\b(UPDATE|INTO|JOIN) tallies\b")  # what needs no counter, or writes them
_NUMBERS: Final[Mapping[str, str]] = {"batches": "no", "drafts": "no", "items": "seq", "lanes": "no"}
_WORDS: Final = (
    (" IS ?", " IS NOT DISTINCT FROM ?"),
    ("ORDER BY rowid", "ORDER BY no"),
)

# Batches in which something may have to be done: those whose sums say so, and the few that have changes beside them.
_ACTIVE: Final = """
SELECT batch FROM tally_sums WHERE visible = 1 AND (queued > 0 OR stalled > 0) UNION SELECT batch FROM tally_changes
"""
_OF_ACTIVE: Final = (sql.LANES_QUEUED, sql.LANES_STALLED, sql.NEXT_DUE, sql.NEXT_DUE_OF_BATCH)
_HERE: Final = "root = current_setting('teamster.root')"

LOCK: Final = "SELECT pg_advisory_xact_lock(?)"
NOW: Final = """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""

# Rows are taken before anything is decided, by class (items, shifts, drafts) and in order within one: nobody waits in
# a circle. A shift is shared by its writers and alone for who ends it; a renewal changes no key and waits for neither.
TAKE_ITEMS: Final = """
SELECT 1 FROM items WHERE draft IN (SELECT no FROM drafts WHERE item_id = ANY(?)) ORDER BY seq FOR NO KEY UPDATE
"""
SHARE_SHIFTS: Final = """
SELECT 1 FROM shifts WHERE shift_id = ?2 OR shift_id IN (
  SELECT i.shift FROM items i JOIN drafts d ON d.no = i.draft WHERE d.item_id = ANY(?1)
) ORDER BY no FOR KEY SHARE
"""
TAKE_SHIFT: Final = "SELECT 1 FROM shifts WHERE shift_id = ? FOR UPDATE"
# Who ends a step and who begins to wait for it meet at the step's drafts; two that free one waiter, at the waiter's.
TAKE_DRAFTS: Final = """
SELECT 1 FROM drafts WHERE no IN (
  SELECT no FROM drafts WHERE item_id = ANY(?1) UNION
  SELECT w.draft FROM waits w JOIN drafts d ON d.batch_id = w.batch_id AND d.job_id = w.job_id AND d.step_id = w.step_id
  WHERE d.item_id = ANY(?1)
) ORDER BY no FOR NO KEY UPDATE
"""
TAKE_FREE: Final = """
SELECT 1 FROM items WHERE draft = (SELECT no FROM drafts WHERE item_id = ?) AND status IN ('queued', 'stalled')
FOR NO KEY UPDATE SKIP LOCKED
"""
_SHARE_STEP: Final = """
SELECT 1 FROM drafts WHERE batch_id = ?1 AND job_id = ?2 AND step_id = ?3 ORDER BY no FOR SHARE
"""

COUNT: Final = f"SELECT count_items(?, {', '.join('?' * len(sql.TALLY_COLUMNS))})"
ADD_DRAFT: Final = """
INSERT INTO drafts (item_id, dedupe_key, batch, batch_id, job_id, step_id, generation, priority, target, spec, waits,
  limit_keys, lane, no) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
ADD_ITEM: Final = """
INSERT INTO items (seq, draft, batch, lane, limit_keys, priority, enqueued_at, status, rev, attempt, fence, consumed,
  recoveries, cancel_requested)
SELECT ?, no, batch, lane, limit_keys, priority, ?, 'queued', 1, 0, 0, 0, 0, 0 FROM drafts WHERE no = ?
"""
NUMBERS: Final = "SELECT nextval(?) FROM generate_series(1, ?)"
PROMISE_ELSEWHERE: Final = """
INSERT INTO outbox (seq, root, shift, batch_id, job_id, path, file_class, content) VALUES (?, ?, '', ?, ?, ?, ?, ?)
"""
TAKEN_IDS: Final = "SELECT item_id FROM drafts WHERE item_id = ANY(?)"
TAKEN_KEYS: Final = "SELECT dedupe_key FROM drafts WHERE dedupe_key = ANY(?)"

# What a transaction would ask about each item that it is called with, asked about all of them at once.
ENTRIES: Final = f"{sql.ITEM} WHERE d.item_id = ANY(?)"
USED_REQUESTS: Final = "SELECT request_id FROM events WHERE request_id = ANY(?)"
AWAITED: Final = """
SELECT DISTINCT d.batch_id, d.job_id, d.step_id FROM drafts d JOIN waits w ON w.batch_id = d.batch_id
  AND w.job_id = d.job_id AND w.step_id = d.step_id
WHERE d.item_id = ANY(?)
"""
STEPS: Final = "SELECT batch_id, job_id, step_id FROM drafts WHERE item_id = ANY(?) AND step_id IS NOT NULL"

EVENT: Final = "SELECT 1 FROM events WHERE item = ? AND event_id = ?"

# A writer says from which event on its own will be before it numbers them, and a reader stops below all of these.
ANNOUNCE_EVENTS: Final = "SELECT pg_advisory_xact_lock_shared(? | last_value) FROM events_seq_seq"
SETTLED_EVENTS: Final = """
SELECT LEAST(v.last_value, (
  SELECT MIN(((l.classid::bigint & 65535) << 32) | l.objid::bigint) FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::bigint >> 16 = ? >> 48 AND v.last_value > 0
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)) FROM events_seq_seq v
"""

_LIVING: Final = """
SELECT shift_id FROM shifts WHERE ended_at IS NULL AND expires_at > ?1 AND (
  facts::json ->> 'host_id' <> current_setting('teamster.host') OR (boot_id = ?2 AND expires_boot_seconds > ?3)
)
"""
_HIDDEN: Final = "SELECT 'submission:' || batch FROM tally_sums WHERE visible = 0"
ORPHANS: Final = f"""
SELECT seq, path, file_class, content, batch_id, job_id FROM outbox
WHERE {_HERE} AND shift NOT IN ({_LIVING} UNION ALL {_HIDDEN}) ORDER BY seq LIMIT ?4
"""


def _numbered(statement: str) -> str:
    """Give each place its number, so that another statement of the same message can use the values too."""
    numbers = itertools.count(1)
    return _PLACE.sub(lambda _: f"?{next(numbers)}", statement)


_INSTEAD: Final[Mapping[str, str]] = {
    sql.ENDS_OF: f"{_SHARE_STEP}; {_numbered(sql.ENDS_OF)}",
    sql.OUTBOX: sql.OUTBOX.replace("WHERE", f"WHERE {_HERE} AND", 1),
    sql.SHELVE: f"{sql.SHELVE} AND status = 'queued'",
    sql.SERVE: """
INSERT INTO turns (served, batch) VALUES (?, ?) ON CONFLICT (batch) DO UPDATE SET served = excluded.served
""",
    sql.RESET_TALLY: f"{_numbered(sql.RESET_TALLY)}; DELETE FROM tally_changes WHERE batch = ?2",
    sql.RAISE_LAST_EVENT: sql.RAISE_LAST_EVENT.replace(
        "(SELECT MAX(seq) + 1 FROM events)", "nextval('events_seq_seq')"
    ),
    **{each: each.replace("t.visible = 1 AND", f"t.batch IN ({_ACTIVE}) AND t.visible = 1 AND") for each in _OF_ACTIVE},
}


@lru_cache(maxsize=512)
def _spelled(statement: str) -> tuple[bytes, tuple[int, ...] | None]:
    """Return a statement as PostgreSQL reads it, and the order of its values where places are numbered."""
    text = _TALLIES.sub(r"\1 tally_sums", _INSTEAD.get(statement, statement))
    for ours, theirs in _WORDS:
        text = text.replace(ours, theirs)
    numbers = _PLACE.findall(text)
    order = tuple(int(number) - 1 for number in numbers) if any(numbers) else None
    return _PLACE.sub("%s", text.replace("%", "%%")).encode(), order


def spelled(statement: str, values: Sequence[Any]) -> tuple[bytes, Sequence[Any]]:
    """Return a statement and its values as PostgreSQL wants them."""
    text, order = _spelled(statement)
    if order is not None:
        values = [values[number] for number in order]
    return text, values


@lru_cache(maxsize=64)
def insert_returning(statement: str) -> str:
    """Return an insert that answers with the number of its row."""
    found = re.match(r"\s*INSERT INTO (\w+)", statement)
    assert found is not None
    return f"{statement} RETURNING {_NUMBERS[found[1]]}"


def many(statement: str, values: Sequence[Sequence[Any]]) -> Iterator[tuple[bytes, Sequence[Any], int]]:
    """Yield what runs one statement for each set of values, and of how many statements it is made.

    It is one insert of many rows, or one statement after the other.
    """
    insert = _MANY.match(statement)
    for start in range(0, len(values), ROWS_PER_MESSAGE_MAX):
        chunk = values[start : start + ROWS_PER_MESSAGE_MAX]
        if insert is not None:
            text = insert["into"] + ", ".join(f"({insert['places']})" for _ in chunk)
            yield _PLACE.sub("%s", text).encode(), [value for row in chunk for value in row], 1
        else:
            parts = [spelled(statement, row) for row in chunk]
            yield b"; ".join(text for text, _ in parts), [value for _, row in parts for value in row], len(parts)
