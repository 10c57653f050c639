-- A database of schema 1, as the first release wrote it: items in every state, one submission that never ended.
BEGIN TRANSACTION;
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
INSERT INTO attempts VALUES(1,'run-batch-urgent-1-1','batch-urgent-1','batch','urgent','step',1,'runs/run-batch-urgent-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(2,'run-batch-urgent-1-2','batch-urgent-1','batch','urgent','step',2,'runs/run-batch-urgent-1-2','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(3,'run-batch-done-1-1','batch-done-1','batch','done','step',1,'runs/run-batch-done-1-1','succeeded','2026-01-14T17:30:00.000000Z','2026-01-14T17:30:00.000000Z','{"session_sha256":"0"}');
INSERT INTO attempts VALUES(4,'run-batch-runs-1-1','batch-runs-1','batch','runs','step',1,'runs/run-batch-runs-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(5,'run-batch-late-1-1','batch-late-1','batch','late','step',1,'runs/run-batch-late-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(6,'run-batch-plain-1-1','batch-plain-1','batch','plain','step',1,'runs/run-batch-plain-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(7,'run-batch-plain-1-2','batch-plain-1','batch','plain','step',2,'runs/run-batch-plain-1-2','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(8,'run-batch-broken-1-1','batch-broken-1','batch','broken','step',1,'runs/run-batch-broken-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
INSERT INTO attempts VALUES(9,'run-batch-stuck-1-1','batch-stuck-1','batch','stuck','step',1,'runs/run-batch-stuck-1-1','running','2026-01-14T17:30:00.000000Z',NULL,'{}');
CREATE INDEX attempts_by_step ON attempts(batch_id, job_id, step_id);
CREATE TABLE batches (
  no INTEGER PRIMARY KEY,
  batch_id TEXT NOT NULL UNIQUE,
  submitted_at TEXT NOT NULL,
  submitter TEXT,                -- who is still adding chunks; NULL once the batch is visible
  meta TEXT NOT NULL
) STRICT;
INSERT INTO batches VALUES(1,'batch','2026-01-14T17:30:00.000000Z',NULL,'{"of":"batch"}');
INSERT INTO batches VALUES(2,'later','2026-01-14T17:30:00.000000Z',NULL,'{"of":"later"}');
INSERT INTO batches VALUES(3,'half','2026-01-14T17:30:00.000000Z','token_00005001','{}');
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
INSERT INTO drafts VALUES(1,'batch-done-1','batch/done#1',1,'batch','done','step',1,0,'{"plan_id":"done","workflow_command":"code"}','{"prompt":"done"}',NULL);
INSERT INTO drafts VALUES(2,'batch-runs-1','batch/runs#1',1,'batch','runs','step',1,0,'{"plan_id":"runs","workflow_command":"code"}','{"prompt":"runs"}',NULL);
INSERT INTO drafts VALUES(3,'batch-late-1','batch/late#1',1,'batch','late','step',1,0,'{"plan_id":"late","workflow_command":"code"}','{"prompt":"late"}',NULL);
INSERT INTO drafts VALUES(4,'batch-urgent-1','batch/urgent#1',1,'batch','urgent','step',1,2,'{"plan_id":"urgent","workflow_command":"code"}','{"prompt":"urgent"}',NULL);
INSERT INTO drafts VALUES(5,'batch-plain-1','batch/plain#1',1,'batch','plain','step',1,0,'{"plan_id":"plain","workflow_command":"code"}','{"prompt":"plain"}',NULL);
INSERT INTO drafts VALUES(6,'batch-waits-1','batch/waits#1',1,'batch','waits','step',1,0,'{"plan_id":"waits","workflow_command":"code"}','{"prompt":"waits"}','[["batch","runs","step","succeeded"]]');
INSERT INTO drafts VALUES(7,'batch-broken-1','batch/broken#1',1,'batch','broken','step',1,0,'{"plan_id":"broken","workflow_command":"code"}','{"prompt":"broken"}',NULL);
INSERT INTO drafts VALUES(8,'batch-stuck-1','batch/stuck#1',1,'batch','stuck','step',1,0,'{"plan_id":"stuck","workflow_command":"code"}','{"prompt":"stuck"}',NULL);
INSERT INTO drafts VALUES(9,'later-other-1','later/other#1',2,'later','other','step',1,0,'{"plan_id":"other","workflow_command":"code"}','{"prompt":"other"}',NULL);
INSERT INTO drafts VALUES(10,'half-h-1','half/h#1',3,'half','h','step',1,0,'{"plan_id":"h","workflow_command":"code"}','{"prompt":"h"}',NULL);
CREATE INDEX drafts_by_step ON drafts(batch_id, job_id, step_id);
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
INSERT INTO events VALUES(1,1,'event_00000002','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(2,2,'event_00000003','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(3,3,'event_00000004','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(4,4,'event_00000005','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(5,5,'event_00000006','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(6,6,'event_00000007','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(7,7,'event_00000008','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(8,8,'event_00000010','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
INSERT INTO events VALUES(9,4,'event_00000012','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(10,4,'event_00000013','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-1','{"run_id":"run-batch-urgent-1-1"}','f594fb907e725cc5c6e1796ccc32e7cb347fe6db42ce9df1f5e8919678f642dc','["running",3,1,1,"shift-a","token_00000011",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(11,4,'event_00000014','stalled','running','stalled','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-2','{"error":{"message":"it broke"}}','1bbceaf4efb7b1940c5618db0c1dd69ad2356bf1ec2d7011eceb0214348e6a66','["queued",5,1,1,null,null,1,0,false,"2026-01-14T17:30:00.000000Z",null,null,null]');
INSERT INTO events VALUES(12,4,'event_00000015','requeued','stalled','queued','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"not_before":"2026-01-14T17:30:00.000000Z"}',NULL,NULL);
INSERT INTO events VALUES(13,4,'event_00000017','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":2,"fence":2}',NULL,NULL);
INSERT INTO events VALUES(14,4,'event_00000018','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-3','{"run_id":"run-batch-urgent-1-2"}','532c079864615c011809e986c626740724ad9ebcdecabf01192bd05f5067116a','["running",7,2,2,"shift-a","token_00000016",1,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(15,4,'event_00000019','succeeded','running','succeeded','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-4','{"claim_token":"token_00000016"}','35c106e9e26c63d183bfc5bbf280efb82b6c7da974a1070158144fe6223a46b7',NULL);
INSERT INTO events VALUES(16,1,'event_00000021','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(17,1,'event_00000022','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-5','{"run_id":"run-batch-done-1-1"}','26761103ff0ee800c3338b42ff0144de4f4badc6f59fbd5bfcefcd5a2e8f8067','["running",3,1,1,"shift-a","token_00000020",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(18,1,'event_00000023','succeeded','running','succeeded','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-6','{"run_id":"run-batch-done-1-1","claim_token":"token_00000020"}','b8034ff19cf37daf45a56cd9c0588a73703d376c08a3f5c3ca22ba0bb94f935a',NULL);
INSERT INTO events VALUES(19,2,'event_00000025','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(20,2,'event_00000026','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-7','{"run_id":"run-batch-runs-1-1"}','7ea455fc284a02740806dccfc0be684bb4c45d6976d9735b20d38cec642a1449','["running",3,1,1,"shift-a","token_00000024",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(21,3,'event_00000028','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(22,3,'event_00000029','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-8','{"run_id":"run-batch-late-1-1"}','95a039db7b8c265cb944b26a8707296fb892feede33b92eae78038d8b73fb52a','["running",3,1,1,"shift-a","token_00000027",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(23,3,'event_00000030','stalled','running','stalled','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-9','{"error":{"message":"it broke"}}','b8a989a64e436a942b2a94fe69e2968154bead97154dffaf607c06b896b91fa3','["queued",5,1,1,null,null,1,0,false,"2026-01-14T17:40:00.000000Z",null,null,null]');
INSERT INTO events VALUES(24,3,'event_00000031','requeued','stalled','queued','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"not_before":"2026-01-14T17:40:00.000000Z"}',NULL,NULL);
INSERT INTO events VALUES(25,5,'event_00000033','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(26,5,'event_00000034','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-10','{"run_id":"run-batch-plain-1-1"}','cdb6e0e0aef023d586edb3f10292d4e0eeebafe8a936aba82d080fd18ebbe900','["running",3,1,1,"shift-a","token_00000032",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(27,5,'event_00000035','stalled','running','stalled','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-11','{"error":{"message":"it broke"}}','027e78261ea490c8c70e36b6f9660eb41c5905d546488856e2b68642f4d58b96','["queued",5,1,1,null,null,1,0,false,"2026-01-14T17:30:00.000000Z",null,null,null]');
INSERT INTO events VALUES(28,5,'event_00000036','requeued','stalled','queued','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"not_before":"2026-01-14T17:30:00.000000Z"}',NULL,NULL);
INSERT INTO events VALUES(29,5,'event_00000038','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":2,"fence":2}',NULL,NULL);
INSERT INTO events VALUES(30,5,'event_00000039','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-12','{"run_id":"run-batch-plain-1-2"}','139749a3280afba4ce685a5149a37eb2c0a6398df4b8ef4ba9a47902af8577cb','["running",7,2,2,"shift-a","token_00000037",1,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(31,5,'event_00000040','stalled','running','stalled','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-13','{"error":{"message":"it broke"}}','d429396bb7a7a3f424f5bf210eaeff2290cb7cd6081e654cdc29fb701fd469ea','["queued",9,2,2,null,null,2,0,false,"2026-01-14T17:45:00.000000Z",null,null,null]');
INSERT INTO events VALUES(32,5,'event_00000041','requeued','stalled','queued','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"not_before":"2026-01-14T17:45:00.000000Z"}',NULL,NULL);
INSERT INTO events VALUES(33,6,'event_00000043','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(34,6,'event_00000044','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-14','{"run_id":"run-batch-broken-1-1"}','d77b49426be36c281088a94f8aafaa2f168ad2b25d8b2f32375690f0bcb4f1e1','["running",3,1,1,"shift-a","token_00000042",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(35,6,'event_00000045','failed','running','failed','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-15','{"claim_token":"token_00000042"}','98b3df55c7b87f36225e65efdb1884eda589e115208fd4a7c03293b3f9de27f9',NULL);
INSERT INTO events VALUES(36,7,'event_00000047','claimed','queued','claimed','2026-01-14T17:30:00.000000Z','runner-of-shift-a',NULL,'{"shift_id":"shift-a","attempt":1,"fence":1}',NULL,NULL);
INSERT INTO events VALUES(37,7,'event_00000048','started','claimed','running','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-16','{"run_id":"run-batch-stuck-1-1"}','58d44b024974989b95d2ab3c4c66ce4bd2232beba86073f271b46e2273ad9990','["running",3,1,1,"shift-a","token_00000046",0,0,false,null,"2026-01-14T17:31:30.000000Z","2026-01-14T17:30:00.000000Z",{"worker_id":"runner-of-shift-a","runtime":"teamster","host":"host","pid":4711}]');
INSERT INTO events VALUES(38,7,'event_00000049','stalled','running','stalled','2026-01-14T17:30:00.000000Z','runner-of-shift-a','request-17','{"error":{"message":"it broke"}}','1b7b08db5e610eb48a4e8eec8704a52d600618aad093474c7f8b9cd7bfde5f69','["stalled",4,1,1,null,null,1,0,false,null,null,null,null]');
INSERT INTO events VALUES(39,9,'event_00005002','enqueued',NULL,'queued','2026-01-14T17:30:00.000000Z','teamster',NULL,NULL,NULL,NULL);
CREATE INDEX events_by_item ON events(item);
CREATE UNIQUE INDEX events_by_request ON events(request_id) WHERE request_id IS NOT NULL;
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
INSERT INTO items VALUES(1,1,1,0,'2026-01-14T17:30:00.000000Z','succeeded',4,1,1,NULL,NULL,1,0,0,NULL,NULL,NULL,NULL,'{"ok":true}',NULL);
INSERT INTO items VALUES(2,2,1,0,'2026-01-14T17:30:00.000000Z','running',3,1,1,'shift-a','token_00000024',0,0,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO items VALUES(3,3,1,0,'2026-01-14T17:30:00.000000Z','queued',5,1,1,NULL,NULL,1,0,0,'2026-01-14T17:40:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO items VALUES(4,4,1,2,'2026-01-14T17:30:00.000000Z','succeeded',8,2,2,NULL,NULL,2,0,0,NULL,NULL,NULL,NULL,'{"ok":true}',NULL);
INSERT INTO items VALUES(5,5,1,0,'2026-01-14T17:30:00.000000Z','queued',9,2,2,NULL,NULL,2,0,0,'2026-01-14T17:45:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO items VALUES(6,7,1,0,'2026-01-14T17:30:00.000000Z','failed',4,1,1,NULL,NULL,1,0,0,NULL,NULL,NULL,NULL,NULL,'{"message":"it broke"}');
INSERT INTO items VALUES(7,8,1,0,'2026-01-14T17:30:00.000000Z','stalled',4,1,1,NULL,NULL,1,0,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO items VALUES(8,9,2,0,'2026-01-14T17:30:00.000000Z','queued',1,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO items VALUES(9,10,3,0,'2026-01-14T17:30:00.000000Z','queued',1,0,0,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX items_by_batch ON items(batch);
CREATE INDEX items_due ON items(batch, not_before) WHERE status = 'queued';
CREATE INDEX items_held ON items(shift) WHERE shift IS NOT NULL;
CREATE INDEX items_in_motion ON items(status, seq) WHERE status IN ('claimed', 'running', 'stalled');
CREATE INDEX items_queued ON items(batch, priority DESC, seq, not_before) WHERE status = 'queued';
CREATE INDEX items_stalled ON items(batch, priority DESC, seq) WHERE status = 'stalled';
CREATE INDEX items_to_cancel ON items(shift) WHERE cancel_requested = 1 AND shift IS NOT NULL;
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
INSERT INTO outbox VALUES(1,'submission:1',NULL,'batch',NULL,'runs/batch/batch_meta.json','write-once',X'74657874');
CREATE INDEX outbox_by_shift ON outbox(shift);
CREATE TABLE shifts (
  shift_id TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  expires_boot_seconds REAL NOT NULL,
  expires_at TEXT NOT NULL,
  renewed_at TEXT NOT NULL,
  ended_at TEXT,
  facts TEXT NOT NULL            -- what never changes
) STRICT;
INSERT INTO shifts VALUES('shift-a','boot-1',1090.0,'2026-01-14T17:31:30.000000Z','2026-01-14T17:30:00.000000Z',NULL,'{"runner_id":"runner-of-shift-a","runtime":"teamster","host_id":"host","root_id":"root","pid":4711,"start_ticks":12,"ttl_seconds":90.0,"began_at":"2026-01-14T17:30:00.000000Z"}');
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
INSERT INTO tallies VALUES(1,1,3,1,2,0,1,1,2,1);
INSERT INTO tallies VALUES(2,1,NULL,0,1,0,0,0,0,0);
INSERT INTO tallies VALUES(3,0,NULL,0,1,0,0,0,0,0);
CREATE INDEX tallies_hidden ON tallies(batch) WHERE visible = 0;
CREATE INDEX tallies_queued ON tallies(batch) WHERE visible = 1 AND queued > 0;
CREATE TABLE waits (
  batch_id TEXT NOT NULL,
  job_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  draft INTEGER NOT NULL REFERENCES drafts(no),
  needs TEXT NOT NULL,
  PRIMARY KEY (batch_id, job_id, step_id, draft, needs)
) STRICT, WITHOUT ROWID;
INSERT INTO waits VALUES('batch','runs','step',6,'succeeded');
CREATE INDEX waits_by_draft ON waits(draft);
DELETE FROM main.sqlite_sequence WHERE name='outbox';
INSERT INTO main.sqlite_sequence VALUES ('outbox', 1);
pragma user_version=1;
pragma application_id=1952801133;
COMMIT TRANSACTION;
