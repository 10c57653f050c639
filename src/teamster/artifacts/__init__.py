"""The runs store: where everything lies, what its documents say, who may write which file and until when.

May touch the folders beneath a root, each file through the one function of its class. Must not interpret what agents
wrote, know a database, or start a process.

- `layout`: names relative to the root, and `KEPT`, the table of what may lie there.
- `documents`, `current`, `configuration`: the JSON documents as values.
- `outbox`: promised files, written, flushed, told.
- `homes`, `sessions`: what lies in an agent's home, and the resume base that is made of it.
- `credentials`: login files, lent as private copies.
- `frozen`, `evidence`: the end of an attempt, and what comes too late.
- `tampering`: what an agent did to its own attempt.
- `verify`: every promise that files alone can show.
"""

from teamster.artifacts.configuration import HarnessConfig
from teamster.artifacts.credentials import Credentials, read_login
from teamster.artifacts.current import pointers, pointers_faults
from teamster.artifacts.documents import (
    ResolvedResume,
    batch_meta,
    files_touched,
    heartbeat,
    manifest,
    manifest_entry,
    meta,
    queued,
    running,
    terminal,
)
from teamster.artifacts.evidence import save_late
from teamster.artifacts.faults import batch_meta_faults, meta_faults, state_faults
from teamster.artifacts.findings import Finding, Report, Rule
from teamster.artifacts.frozen import freeze_attempt, inventory, made_whole, manifest_draft
from teamster.artifacts.homes import first_line, keep_session, remove_links, session_files
from teamster.artifacts.layout import (
    CODEX_HOME,
    CREDENTIALS,
    DATABASES,
    EVIDENCE,
    INCOMING,
    KEPT,
    ROOT_FOLDERS,
    ROOT_RECORD,
    RUNNERS,
    RUNS,
    SPOOL,
    STAGING,
    SYSTEM,
    WORKSPACES,
    AttemptFile,
    AttemptName,
    Kept,
    attempt_file,
    attempt_folder,
    attempt_name,
    attempts_folder,
    batch_folder,
    batch_meta_path,
    codex_home,
    control_path,
    current_path,
    draft,
    harness_config_path,
    harness_config_version_path,
    health_path,
    inputs_path,
    job_folder,
    kept,
    runner_folder,
    shift_deadline,
    shift_lock,
    shifts_folder,
    spool_folder,
    staging,
    superseded_folder,
)
from teamster.artifacts.outbox import Outbox
from teamster.artifacts.root import Root, leftovers, open_root, sweep_leftovers
from teamster.artifacts.sessions import BaseChanged, NotSealable, Sealed, SealedFile, is_unchanged, restore, seal
from teamster.artifacts.tampering import blames_disk, is_whole, make_whole
from teamster.artifacts.verify import verify

__all__ = [
    "CODEX_HOME",
    "CREDENTIALS",
    "DATABASES",
    "EVIDENCE",
    "INCOMING",
    "KEPT",
    "ROOT_FOLDERS",
    "ROOT_RECORD",
    "RUNNERS",
    "RUNS",
    "SPOOL",
    "STAGING",
    "SYSTEM",
    "WORKSPACES",
    "AttemptFile",
    "AttemptName",
    "BaseChanged",
    "Credentials",
    "Finding",
    "HarnessConfig",
    "Kept",
    "NotSealable",
    "Outbox",
    "Report",
    "ResolvedResume",
    "Root",
    "Rule",
    "Sealed",
    "SealedFile",
    "attempt_file",
    "attempt_folder",
    "attempt_name",
    "attempts_folder",
    "batch_folder",
    "batch_meta",
    "batch_meta_faults",
    "batch_meta_path",
    "blames_disk",
    "codex_home",
    "control_path",
    "current_path",
    "draft",
    "files_touched",
    "first_line",
    "freeze_attempt",
    "harness_config_path",
    "harness_config_version_path",
    "health_path",
    "heartbeat",
    "inputs_path",
    "inventory",
    "is_unchanged",
    "is_whole",
    "job_folder",
    "keep_session",
    "kept",
    "leftovers",
    "made_whole",
    "make_whole",
    "manifest",
    "manifest_draft",
    "manifest_entry",
    "meta",
    "meta_faults",
    "open_root",
    "pointers",
    "pointers_faults",
    "queued",
    "read_login",
    "remove_links",
    "restore",
    "runner_folder",
    "running",
    "save_late",
    "seal",
    "session_files",
    "shift_deadline",
    "shift_lock",
    "shifts_folder",
    "spool_folder",
    "staging",
    "state_faults",
    "superseded_folder",
    "sweep_leftovers",
    "terminal",
    "verify",
]
