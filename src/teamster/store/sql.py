"""The statements of the SQL stores, as SQLite reads them; `postgres_sql.py` spells them for PostgreSQL."""

# ruff: noqa: S608 - joined from the constants of this file alone; every value is bound

from __future__ import annotations

from typing import Final

ITEM: Final = """
SELECT i.seq, i.batch, i.status, i.rev, i.attempt, i.fence, i.claim_token, i.consumed, i.recoveries,
  i.cancel_requested, i.not_before, i.held_until, i.lease_expires_at, i.lease_renewed_at, i.enqueued_at, i.result,
  i.error, d.item_id, d.dedupe_key, d.batch_id, d.job_id, d.step_id, d.generation, d.target, d.spec, d.waits,
  s.shift_id, s.boot_id, s.expires_boot_seconds, s.expires_at, s.renewed_at, s.ended_at, s.facts
FROM items i JOIN drafts d ON d.no = i.draft JOIN tallies t ON t.batch = i.batch AND t.visible = 1
  LEFT JOIN shifts s ON s.shift_id = i.shift
"""
ITEM_BY_ID: Final = f"{ITEM} WHERE d.item_id = ?"
ITEM_BY_KEY: Final = f"{ITEM} WHERE d.dedupe_key = ?"
MOVE_ITEM: Final = """
UPDATE items SET status = ?, rev = ?, attempt = ?, fence = ?, shift = ?, claim_token = ?, consumed = ?, recoveries = ?,
  cancel_requested = ?, not_before = ?, held_until = ?, lease_expires_at = ?, lease_renewed_at = ?, result = ?,
  error = ?, delayed = ?, shelf = NULL
WHERE seq = ? AND rev = ? AND status = ? AND claim_token IS ?
"""
ADD_ITEM: Final = """
INSERT INTO items (draft, batch, lane, limit_keys, priority, enqueued_at, status, rev, attempt, fence, consumed,
  recoveries, cancel_requested)
SELECT no, batch, lane, limit_keys, priority, ?, 'queued', 1, 0, 0, 0, 0, 0 FROM drafts WHERE no = ?
"""

SHIFT: Final = "SELECT shift_id, boot_id, expires_boot_seconds, expires_at, renewed_at, ended_at, facts FROM shifts"
SHIFT_BY_ID: Final = f"{SHIFT} WHERE shift_id = ?"
SHIFTS_OPEN: Final = f"""
{SHIFT} WHERE ended_at IS NULL OR shift_id IN (SELECT shift FROM items WHERE shift IS NOT NULL) ORDER BY rowid
"""
SHIFTS_ALL: Final = f"{SHIFT} ORDER BY rowid"
ADD_SHIFT: Final = """
INSERT INTO shifts (shift_id, boot_id, expires_boot_seconds, expires_at, renewed_at, ended_at, facts)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
RENEW_SHIFT: Final = """
UPDATE shifts SET expires_boot_seconds = ?, expires_at = ?, renewed_at = ?
WHERE shift_id = ? AND ended_at IS NULL AND boot_id = ? AND expires_boot_seconds > ?
"""
END_SHIFT: Final = "UPDATE shifts SET ended_at = ? WHERE shift_id = ? AND ended_at IS NULL"

_LANES: Final = """
SELECT l.no, l.batch, l.routing, t.concurrency, t.served, b.batch_id
FROM tallies t JOIN batches b ON b.no = t.batch JOIN lanes l ON l.batch = t.batch WHERE t.visible = 1 AND
"""
LANES_QUEUED: Final = f"{_LANES} t.queued > 0"
LANES_STALLED: Final = f"{_LANES} (t.queued > 0 OR t.stalled > 0)"
_HEADS: Final = """
SELECT i.priority, i.seq, d.item_id, i.limit_keys, i.not_before FROM items i JOIN drafts d ON d.no = i.draft
"""
HEADS_READY: Final = f"""
{_HEADS} WHERE i.lane = ? AND i.status = 'queued' AND i.delayed = 0 AND i.shelf IS NULL
ORDER BY i.priority DESC, i.seq LIMIT ?
"""
HEADS_SHELVED: Final = f"""
{_HEADS} WHERE i.shelf = ? AND i.lane = ? AND i.status = 'queued' AND i.shelf IS NOT NULL
ORDER BY i.priority DESC, i.seq LIMIT ?
"""
HEADS_STALLED: Final = f"""
{_HEADS} WHERE i.lane = ? AND i.status = 'stalled' ORDER BY i.priority DESC, i.seq LIMIT ?
"""
NEXT_SHELF: Final = """
SELECT shelf, lane FROM items WHERE status = 'queued' AND shelf IS NOT NULL AND (shelf, lane) > (?, ?)
ORDER BY shelf, lane LIMIT 1
"""
SHELVE: Final = "UPDATE items SET delayed = ?, shelf = ? WHERE seq = ?"
OUTLOOK: Final = """
SELECT COALESCE((SELECT MAX(seq) FROM events), 0),
  EXISTS (SELECT 1 FROM items WHERE status = 'queued' AND delayed = 1 AND not_before <= ?),
  EXISTS (SELECT 1 FROM items WHERE status = 'queued' AND shelf IS NOT NULL)
"""
DELAYED_DUE: Final = """
SELECT seq FROM items WHERE status = 'queued' AND delayed = 1 AND not_before <= ? ORDER BY not_before LIMIT ?
"""
END_DELAY: Final = "UPDATE items SET delayed = 0 WHERE seq = ?"
OWNED: Final = "SELECT batch FROM items WHERE shift IS NOT NULL"  # to group them here would sort, and cost four times
HELD_KEYS: Final = """
SELECT limit_keys, COUNT(*) FROM items WHERE shift IS NOT NULL AND limit_keys IS NOT NULL GROUP BY limit_keys
"""
SERVE: Final = "UPDATE tallies SET served = ? WHERE batch = ?"
LIMITS: Final = "SELECT limit_key, maximum FROM limits ORDER BY limit_key"
MAXIMUM: Final = "SELECT maximum FROM limits WHERE limit_key = ?"
PUT_LIMIT: Final = """
INSERT INTO limits (limit_key, maximum) VALUES (?, ?) ON CONFLICT (limit_key) DO UPDATE SET maximum = excluded.maximum
"""
DROP_LIMIT: Final = "DELETE FROM limits WHERE limit_key = ?"
LANE_NO: Final = "SELECT no FROM lanes WHERE batch = ? AND routing = ?"
ADD_LANE: Final = "INSERT INTO lanes (batch, routing) VALUES (?, ?)"
CANCEL_REQUESTS: Final = """
SELECT d.item_id FROM items i JOIN drafts d ON d.no = i.draft
WHERE i.shift = ? AND i.cancel_requested = 1 AND i.shift IS NOT NULL ORDER BY i.seq
"""

ADD_EVENT: Final = """
INSERT INTO events (item, event_id, type, from_status, to_status, at, actor, request_id, data, digest, answer)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
EVENTS: Final = """
SELECT e.event_id, e.type, e.from_status, e.to_status, e.at, e.actor, e.request_id, e.data
FROM drafts d JOIN items i ON i.draft = d.no JOIN tallies t ON t.batch = i.batch AND t.visible = 1
  JOIN events e ON e.item = i.seq
WHERE d.item_id = ? ORDER BY e.seq
"""
_NOTICED: Final = """
SELECT e.event_id, e.type, e.from_status, e.to_status, e.at, e.actor, e.request_id, e.data, d.item_id, e.seq, i.seq
"""
EVENTS_AFTER: Final = f"""
{_NOTICED} FROM events e JOIN items i ON i.seq = e.item JOIN drafts d ON d.no = i.draft
  JOIN tallies t ON t.batch = i.batch AND t.visible = 1
WHERE e.seq > ? AND e.seq <= ? AND (t.shown IS NULL OR e.seq >= t.shown) ORDER BY e.seq LIMIT ?
"""
EARLY_EVENTS: Final = f"""
{_NOTICED} FROM items i JOIN drafts d ON d.no = i.draft JOIN events e ON e.item = i.seq
WHERE i.batch = (SELECT batch FROM tallies WHERE shown = ?) AND i.seq > ? AND e.seq < ? ORDER BY i.seq LIMIT ?
"""
NEXT_SHOWN: Final = "SELECT MIN(shown) FROM tallies WHERE shown IS NOT NULL AND shown > ?"
RAISE_LAST_EVENT: Final = """
UPDATE events SET seq = (SELECT MAX(seq) + 1 FROM events)
WHERE item = (SELECT MAX(seq) FROM items WHERE batch = ?)
"""
MARK_SHOWN: Final = """
UPDATE tallies SET shown = (SELECT seq FROM events WHERE item = (SELECT MAX(seq) FROM items WHERE batch = ?))
WHERE batch = ?
"""
REPEAT: Final = """
SELECT e.digest, e.answer, d.item_id FROM events e JOIN items i ON i.seq = e.item JOIN drafts d ON d.no = i.draft
WHERE e.request_id = ?
"""
ENDING: Final = "SELECT data, digest FROM events WHERE item = ? ORDER BY seq DESC LIMIT 1"

PUT_ATTEMPT: Final = """
INSERT INTO attempts (run_id, item_id, batch_id, job_id, step_id, number, directory, status, started_at, ended_at,
  facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET number = excluded.number, directory = excluded.directory, status = excluded.status,
  started_at = excluded.started_at, ended_at = excluded.ended_at, facts = excluded.facts
"""
_ATTEMPT: Final = """
SELECT a.run_id, a.item_id, a.batch_id, a.job_id, a.step_id, a.number, a.directory, a.status, a.started_at, a.ended_at,
  a.facts
FROM attempts a
"""
_OF_ITEM: Final = """
JOIN drafts d ON d.batch_id = a.batch_id AND d.job_id = a.job_id AND d.step_id = a.step_id AND d.item_id = a.item_id
WHERE d.item_id = ?
"""
ATTEMPTS: Final = f"{_ATTEMPT} ORDER BY a.seq"
ATTEMPTS_OF_STEP: Final = f"{_ATTEMPT} WHERE a.batch_id = ? AND a.job_id = ? AND a.step_id = ? ORDER BY a.seq"
ATTEMPTS_OF_JOB: Final = f"{_ATTEMPT} WHERE a.batch_id = ? AND a.job_id = ? ORDER BY a.seq"
ATTEMPTS_OF_ITEM: Final = f"{_ATTEMPT} {_OF_ITEM} ORDER BY a.seq"
LAST_ATTEMPT: Final = f"{_ATTEMPT} {_OF_ITEM} ORDER BY a.seq DESC LIMIT 1"
DROP_ATTEMPT: Final = "DELETE FROM attempts WHERE run_id = ?"

ADD_PROMISE: Final = """
INSERT INTO outbox (seq, shift, request_id, batch_id, job_id, path, file_class, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
LAST_PROMISE: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
DROP_PROMISE: Final = "DELETE FROM outbox WHERE seq = ?"
_PROMISE: Final = "SELECT seq, path, file_class, content, batch_id, job_id FROM outbox"
_HIDDEN: Final = "SELECT 'submission:' || batch FROM tallies WHERE visible = 0"
OUTBOX: Final = f"{_PROMISE} WHERE seq > ? AND shift NOT IN ({_HIDDEN}) ORDER BY seq LIMIT ?"
ORPHANS: Final = f"""
{_PROMISE} WHERE seq IN (SELECT seq FROM outbox WHERE shift NOT IN (
  SELECT shift_id FROM shifts WHERE ended_at IS NULL AND boot_id = ? AND expires_boot_seconds > ? UNION ALL {_HIDDEN}
) ORDER BY seq LIMIT ?) ORDER BY seq
"""
PROMISES_OF_REQUEST: Final = f"{_PROMISE} WHERE request_id = ? ORDER BY seq"

ADD_DRAFT: Final = """
INSERT INTO drafts (item_id, dedupe_key, batch, batch_id, job_id, step_id, generation, priority, target, spec, waits,
  limit_keys, lane)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_DRAFT: Final = """
SELECT d.item_id, d.dedupe_key, d.batch_id, d.job_id, d.step_id, d.generation, d.priority, d.target, d.spec, d.waits,
  d.limit_keys, l.routing, d.no, d.batch FROM drafts d JOIN lanes l ON l.no = d.lane
"""
DRAFT_BY_ID: Final = f"{_DRAFT} JOIN tallies t ON t.batch = d.batch AND t.visible = 1 WHERE d.item_id = ?"
DRAFT_BY_NO: Final = f"{_DRAFT} WHERE d.no = ?"
WAITS_OF: Final = "SELECT waits FROM drafts WHERE item_id = ?"
KNOWN_KEY: Final = """
SELECT d.item_id FROM drafts d JOIN tallies t ON t.batch = d.batch AND t.visible = 1 WHERE d.dedupe_key = ?
"""
KEY_TAKEN: Final = "SELECT 1 FROM drafts WHERE dedupe_key = ?"
ADD_WAIT: Final = "INSERT INTO waits (batch_id, job_id, step_id, draft, needs) VALUES (?, ?, ?, ?, ?)"
WAITERS: Final = """
SELECT d.item_id, w.needs, d.no FROM waits w JOIN drafts d ON d.no = w.draft
WHERE w.batch_id = ? AND w.job_id = ? AND w.step_id = ? ORDER BY w.draft
"""
DROP_WAIT: Final = """
DELETE FROM waits WHERE batch_id = ? AND job_id = ? AND step_id = ? AND draft = ? AND needs = ?
"""
DROP_WAITS_OF: Final = "DELETE FROM waits WHERE draft = ?"
STILL_WAITS: Final = "SELECT 1 FROM waits WHERE draft = ? LIMIT 1"
ENDS_OF: Final = """
SELECT d.item_id, i.status FROM drafts d JOIN items i ON i.draft = d.no
WHERE d.batch_id = ? AND d.job_id = ? AND d.step_id = ? AND i.status IN ('succeeded', 'failed') ORDER BY i.seq
"""
WAITING: Final = f"""
{_DRAFT} JOIN tallies t ON t.batch = d.batch AND t.visible = 1
WHERE d.no IN (SELECT draft FROM waits) AND (?1 IS NULL OR d.batch_id = ?1) ORDER BY d.no LIMIT ?2
"""
UNMET: Final = "SELECT batch_id, job_id, step_id, needs FROM waits WHERE draft = ?"

ADD_BATCH: Final = "INSERT INTO batches (batch_id, submitted_at, submitter, meta) VALUES (?, ?, ?, ?)"
ADD_TALLY: Final = "INSERT INTO tallies (batch, visible, concurrency) VALUES (?, ?, ?)"
_BATCH: Final = """
SELECT b.batch_id, b.submitted_at, t.concurrency, b.meta FROM batches b JOIN tallies t ON t.batch = b.no
WHERE t.visible = 1 AND SUBSTR(b.batch_id, 1, 1) <> '_'
"""
BATCH_BY_ID: Final = f"{_BATCH} AND b.batch_id = ?"
BATCHES: Final = f"{_BATCH} ORDER BY b.no DESC"
BATCH_NO: Final = (
    "SELECT b.no, b.submitter, t.visible FROM batches b JOIN tallies t ON t.batch = b.no WHERE b.batch_id = ?"
)
TAKE_OVER_BATCH: Final = "UPDATE batches SET submitter = ?, submitted_at = ?, meta = ? WHERE no = ?"
RESET_TALLY: Final = """
UPDATE tallies SET concurrency = ?, waiting = 0, queued = 0, claimed = 0, running = 0, stalled = 0, succeeded = 0,
  failed = 0 WHERE batch = ?
"""
SHOW_BATCH: Final = "UPDATE batches SET submitter = NULL WHERE no = ?"
SHOW_TALLY: Final = "UPDATE tallies SET visible = 1 WHERE batch = ?"
CHUNK_OF_BATCH: Final = "SELECT d.no, i.seq FROM drafts d LEFT JOIN items i ON i.draft = d.no WHERE d.batch = ? LIMIT ?"
DROP_DRAFT: Final = "DELETE FROM drafts WHERE no = ?"
DROP_ITEM: Final = "DELETE FROM items WHERE seq = ?"
DROP_EVENTS_OF: Final = "DELETE FROM events WHERE item = ?"
DROP_PROMISES_OF: Final = "DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE shift = ? LIMIT ?)"

TALLY_COLUMNS: Final = ("waiting", "queued", "claimed", "running", "stalled", "succeeded", "failed")
COUNT: Final = f"""
UPDATE tallies SET {", ".join(f"{name} = {name} + ?" for name in TALLY_COLUMNS)} WHERE batch = ?
"""
COUNTS: Final = (
    f"SELECT {', '.join(f'COALESCE(SUM({name}), 0)' for name in TALLY_COLUMNS)} FROM tallies WHERE visible = 1"
)
COUNTS_OF_BATCH: Final = f"""
SELECT {", ".join(TALLY_COLUMNS)} FROM tallies
WHERE visible = 1 AND batch = (SELECT no FROM batches WHERE batch_id = ?)
"""
_DUE: Final = """
SELECT MIN(CASE WHEN i.delayed = 0 THEN i.enqueued_at ELSE i.not_before END) FROM tallies t JOIN items i ON i.seq = (
  SELECT q.seq FROM items q WHERE q.batch = t.batch AND q.status = 'queued' ORDER BY q.delayed, q.not_before LIMIT 1
) WHERE t.visible = 1 AND t.queued > 0
"""
NEXT_DUE: Final = _DUE
NEXT_DUE_OF_BATCH: Final = f"{_DUE} AND t.batch = (SELECT no FROM batches WHERE batch_id = ?)"
