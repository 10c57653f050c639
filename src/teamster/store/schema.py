"""The tables of the SQLite store, and the migrations that bring an older file up to them."""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x7465616D  # "team": tells our files from other SQLite files

_FIRST: Final = """
-- What is fixed stands apart from what changes: a move rewrites a narrow row, never a spec.
CREATE TABLE batches (
  no INTEGER PRIMARY KEY,
  batch_id TEXT NOT NULL UNIQUE,
  submitted_at TEXT NOT NULL,
  submitter TEXT,                -- who is still adding chunks; NULL once the batch is visible
  meta TEXT NOT NULL
) STRICT;

-- One narrow row of counters for each batch, kept by the transactions that move items: nothing is counted by a scan.
CREATE TABLE tallies (
  batch INTEGER PRIMARY KEY REFERENCES batches(no),
  visible INTEGER NOT NULL,
  concurrency INTEGER,
  waiting INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  claimed INTEGER NOT NULL DEFAULT 0,
  running INTEGER NOT NULL DEFAULT 0,
  stalled INTEGER NOT NULL DEFAULT 0,
  succeeded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tallies_queued ON tallies(batch) WHERE visible = 1 AND queued > 0;
CREATE INDEX tallies_hidden ON tallies(batch) WHERE visible = 0;

CREATE TABLE drafts (
  no INTEGER PRIMARY KEY,
  item_id TEXT NOT NULL UNIQUE,
  dedupe_key TEXT NOT NULL UNIQUE,
  batch INTEGER NOT NULL REFERENCES batches(no),
  batch_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  target TEXT NOT NULL,
  spec TEXT NOT NULL,
  waits TEXT                     -- all that it waited for at first
) STRICT;
CREATE INDEX drafts_by_step ON drafts(batch_id, job_id, step_id);

-- What is still unmet. A row goes when it is met.
CREATE TABLE waits (
  batch_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  draft INTEGER NOT NULL REFERENCES drafts(no),
  needs TEXT NOT NULL,
  PRIMARY KEY (batch_id, job_id, step_id, draft, needs)
) STRICT, WITHOUT ROWID;
CREATE INDEX waits_by_draft ON waits(draft);

CREATE TABLE items (
  seq INTEGER PRIMARY KEY,       -- the order of enqueueing
  draft INTEGER NOT NULL UNIQUE REFERENCES drafts(no),
  batch INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  enqueued_at TEXT NOT NULL,
  status TEXT NOT NULL,
  rev INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  shift TEXT,
  claim_token TEXT,
  consumed INTEGER NOT NULL,
  recoveries INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  not_before TEXT,
  held_until REAL,               -- boot seconds, by a heartbeat of its own
  lease_expires_at TEXT,         -- the same for people, NULL where the shift's lease is all
  lease_renewed_at TEXT,
  result TEXT,
  error TEXT
) STRICT;
CREATE INDEX items_by_batch ON items(batch);
CREATE INDEX items_queued ON items(batch, priority DESC, seq, not_before) WHERE status = 'queued';
CREATE INDEX items_due ON items(batch, not_before) WHERE status = 'queued';
CREATE INDEX items_stalled ON items(batch, priority DESC, seq) WHERE status = 'stalled';
CREATE INDEX items_in_motion ON items(status, seq) WHERE status IN ('claimed', 'running', 'stalled');
CREATE INDEX items_held ON items(shift) WHERE shift IS NOT NULL;
CREATE INDEX items_to_cancel ON items(shift) WHERE cancel_requested = 1 AND shift IS NOT NULL;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  item INTEGER NOT NULL REFERENCES items(seq),
  event_id TEXT NOT NULL,
  type TEXT NOT NULL,
  from_status TEXT,
  to_status TEXT NOT NULL,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  request_id TEXT,
  data TEXT,
  digest TEXT,                   -- of what the request asked for
  answer TEXT                    -- what it was told
) STRICT;
CREATE INDEX events_by_item ON events(item);
CREATE UNIQUE INDEX events_by_request ON events(request_id) WHERE request_id IS NOT NULL;

CREATE TABLE attempts (
  seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  item_id TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  directory TEXT NOT NULL,
  status TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  facts TEXT NOT NULL
) STRICT;
CREATE INDEX attempts_by_step ON attempts(batch_id, job_id, step_id);

CREATE TABLE shifts (
  shift_id TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  expires_boot_seconds REAL NOT NULL,
  expires_at TEXT NOT NULL,
  renewed_at TEXT NOT NULL,
  ended_at TEXT,
  facts TEXT NOT NULL            -- what never changes
) STRICT;

-- AUTOINCREMENT: a number that was dropped is never given again, or a late drop would take a new row.
CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  shift TEXT NOT NULL,           -- who will write it; empty: whoever comes first
  request_id TEXT,
  batch_id TEXT,
  job_id TEXT,
  path TEXT NOT NULL,
  file_class TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX outbox_by_shift ON outbox(shift);
"""

_LANES_AND_LIMITS: Final = """
-- What items of one batch ask of their runner: a claim looks at lanes, however many items wait in them.
CREATE TABLE lanes (
  no INTEGER PRIMARY KEY,
  batch INTEGER NOT NULL REFERENCES batches(no),
  routing TEXT NOT NULL,
  UNIQUE (batch, routing)
) STRICT;
INSERT INTO lanes (batch, routing) SELECT no, '[null,null,null,[],null]' FROM batches;

ALTER TABLE drafts ADD COLUMN lane INTEGER NOT NULL DEFAULT 0;
ALTER TABLE drafts ADD COLUMN limit_keys TEXT;
UPDATE drafts SET lane = (SELECT no FROM lanes WHERE lanes.batch = drafts.batch);

ALTER TABLE items ADD COLUMN lane INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN limit_keys TEXT;
ALTER TABLE items ADD COLUMN delayed INTEGER NOT NULL DEFAULT 0;  -- its moment has not been seen to come
ALTER TABLE items ADD COLUMN shelf TEXT;  -- the key of a limit that was full when a claim met it
UPDATE items SET lane = (SELECT no FROM lanes WHERE lanes.batch = items.batch),
  delayed = CASE WHEN status = 'queued' AND not_before IS NOT NULL THEN 1 ELSE 0 END;

DROP INDEX items_queued;
DROP INDEX items_due;
DROP INDEX items_stalled;
DROP INDEX items_held;
CREATE INDEX items_ready ON items(lane, priority DESC, seq)
  WHERE status = 'queued' AND delayed = 0 AND shelf IS NULL;
CREATE INDEX items_shelved ON items(shelf, lane, priority DESC, seq) WHERE status = 'queued' AND shelf IS NOT NULL;
CREATE INDEX items_delayed ON items(not_before) WHERE status = 'queued' AND delayed = 1;
CREATE INDEX items_due ON items(batch, delayed, not_before) WHERE status = 'queued';
CREATE INDEX items_stalled ON items(lane, priority DESC, seq) WHERE status = 'stalled';
CREATE INDEX items_held ON items(shift, batch) WHERE shift IS NOT NULL;
CREATE INDEX items_holding ON items(limit_keys) WHERE shift IS NOT NULL AND limit_keys IS NOT NULL;

ALTER TABLE tallies ADD COLUMN served INTEGER NOT NULL DEFAULT 0;  -- grows with each claim from the batch

-- The event at which a batch that came in chunks was shown: readers of all events meet its earlier ones there.
ALTER TABLE tallies ADD COLUMN shown INTEGER;
CREATE INDEX tallies_shown ON tallies(shown) WHERE shown IS NOT NULL;

CREATE TABLE limits (
  limit_key TEXT PRIMARY KEY,
  maximum INTEGER NOT NULL
) STRICT;
"""

MIGRATIONS: Final[tuple[str, ...]] = (_FIRST, _LANES_AND_LIMITS)
"""The n-th brings a file from `user_version` n to n + 1. One that was released never changes."""

SCHEMA_VERSION: Final = len(MIGRATIONS)
