"""Where everything lies: names relative to the root, with `/`, found from ids alone.

Pure. `KEPT` is the table of what may be kept and how it may change; `verify` and
`docs/artifact-contract.md` read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from teamster.model import BatchId, FileClass, FileDraft, JobId, RunId, RunnerId, ShiftId, StepId, StepKey, is_id

RUNS: Final = "runs"
RUNNERS: Final = "runners"
INCOMING: Final = "incoming"
DATABASES: Final = "db"
SPOOL: Final = "spool"
WORKSPACES: Final = "workspaces"
CREDENTIALS: Final = "credentials"
ROOT_FOLDERS: Final = (RUNS, RUNNERS, INCOMING, DATABASES, SPOOL, WORKSPACES, CREDENTIALS)
ROOT_RECORD: Final = "root.json"
EVIDENCE: Final = ".teamster"
SYSTEM: Final = "_system"  # no id of a batch: those begin with a letter or a digit
CONTROL: Final = f"{EVIDENCE}/control.jsonl"
CODEX_HOME: Final = "codex_home"
STAGING: Final = f"{EVIDENCE}/staging"
STARTED_FORMAT: Final = "%Y%m%dT%H%M%SZ"


class AttemptFile(StrEnum):
    """The files of one attempt, relative to its directory."""

    META = "meta.json"
    STATE = "state.json"
    FINAL = "final.json"
    FINAL_TEXT = "final.txt"
    HANDOFF = "handoff.json"
    EVENTS = "codex.events.jsonl"
    GIT_HEAD = "git_head.txt"
    GIT_STATUS = "git_status.txt"
    GIT_DIFF = "git_diff.patch"
    FILES_TOUCHED = "files_touched.json"
    EXIT = f"{EVIDENCE}/exit.json"
    SESSION = f"{EVIDENCE}/session.json"
    VERDICT = f"{EVIDENCE}/verdict.json"
    STDERR = f"{EVIDENCE}/stderr.txt"
    MANIFEST = f"{EVIDENCE}/manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How one kept name may change. A pattern that ends in `/` is a folder, one in `/**` all beneath it."""

    file_class: FileClass
    writer: str
    written: str
    immutable_from: str


def batch_folder(batch_id: BatchId) -> str:
    """Name a batch's folder."""
    return f"{RUNS}/{_id(batch_id)}"


def batch_meta_path(batch_id: BatchId) -> str:
    """Name the record of a submission."""
    return f"{batch_folder(batch_id)}/batch_meta.json"


def inputs_path(batch_id: BatchId) -> str:
    """Name the prompts and schemas of a batch, kept by hash."""
    return f"{batch_folder(batch_id)}/{EVIDENCE}/inputs.jsonl"


def harness_config_path() -> str:
    """Name the snapshot of what the harness is set to."""
    return f"{RUNS}/{SYSTEM}/harness_config.json"


def harness_config_version_path(version: str) -> str:
    """Name one version of it, kept for the batches that were submitted under it.

    Raises:
        ValueError: it is no version.
    """
    path = f"{RUNS}/{SYSTEM}/harness_config_versions/{version}.json"
    if kept(path) is None:
        raise ValueError(f"{version!r} is not the version of a configuration")
    return path


def control_path(batch_id: BatchId) -> str:
    """Name the record of what was done to a batch as a whole: what retention removed, among others."""
    return f"{batch_folder(batch_id)}/{CONTROL}"


def superseded_folder(batch_id: BatchId, run_id: RunId, fence: int) -> str:
    """Name the folder for what a writer found that was no longer the owner."""
    return f"{batch_folder(batch_id)}/{EVIDENCE}/superseded/{_id(run_id)}-{fence}"


def job_folder(batch_id: BatchId, job_id: JobId) -> str:
    """Name a job's folder."""
    return f"{batch_folder(batch_id)}/{_id(job_id)}"


def current_path(batch_id: BatchId, job_id: JobId) -> str:
    """Name a job's pointers."""
    return f"{job_folder(batch_id, job_id)}/current.json"


def attempts_folder(step: StepKey) -> str:
    """Name the folder of a step's attempts."""
    return f"{job_folder(step.batch_id, step.job_id)}/steps/{step.step_id}/attempts"


def attempt_folder(step: StepKey, run_id: RunId, started_at: datetime) -> str:
    """Name an attempt's directory: sorted by start, found by run id."""
    return f"{attempts_folder(step)}/{started_at.astimezone(UTC).strftime(STARTED_FORMAT)}_{_id(run_id)}"


def attempt_file(directory: str, name: AttemptFile) -> str:
    """Name a file of an attempt."""
    return f"{directory}/{name.value}"


def codex_home(directory: str) -> str:
    """Name an attempt's session store, its resume base once it has ended."""
    return f"{directory}/{CODEX_HOME}"


def staging(directory: str) -> str:
    """Name the folder where an agent program leaves its last message before anybody has checked it."""
    return f"{directory}/{STAGING}"


def spool_folder(run_id: RunId) -> str:
    """Name the place of raw streams and the attempt's lock; not kept after the end."""
    return f"{SPOOL}/{_id(run_id)}"


def runner_folder(runner_id: RunnerId) -> str:
    """Name a runner's folder."""
    return f"{RUNNERS}/{_id(runner_id)}"


def health_path(runner_id: RunnerId) -> str:
    """Name a runner's health snapshot."""
    return f"{runner_folder(runner_id)}/health.json"


def shifts_folder(runner_id: RunnerId) -> str:
    """Name the folder of a runner's shift locks and deadlines."""
    return f"{runner_folder(runner_id)}/shifts"


def shift_lock(runner_id: RunnerId, shift_id: ShiftId) -> str:
    """Name the lock that a living shift holds."""
    return f"{shifts_folder(runner_id)}/{_id(shift_id)}.lock"


def shift_deadline(runner_id: RunnerId, shift_id: ShiftId) -> str:
    """Name the deadline that the shims of a shift obey."""
    return f"{shifts_folder(runner_id)}/{_id(shift_id)}.deadline"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptName:
    """What the path of an attempt's directory says about it."""

    step: StepKey
    run_id: RunId
    started: str


def attempt_name(directory: str) -> AttemptName:
    """Read the ids out of an attempt's directory.

    Raises:
        ValueError: it is no such path.
    """
    found = _ATTEMPT.fullmatch(directory.rstrip("/"))
    if found is None:
        raise ValueError(f"{directory!r} is not the directory of an attempt")
    step = StepKey(BatchId(found["batch_id"]), JobId(found["job_id"]), StepId(found["step_id"]))
    return AttemptName(step=step, run_id=RunId(found["run_id"]), started=found["started"])


def kept(path: str) -> Kept | None:
    """Return the rule for a path relative to the root (a folder ends in `/`), None if nothing may lie there."""
    rules = _RULES_BY_NAME.get(path.rpartition("/")[2], _OTHER_RULES)
    return next((rule for pattern, rule in rules if pattern.fullmatch(path)), None)


def draft(path: str, content: bytes) -> FileDraft:
    """Make a promised file of the class that `KEPT` gives its name.

    Raises:
        ValueError: nothing may lie there, or the file only grows: the outbox holds whole files.
    """
    rule = kept(path)
    if rule is None or rule.file_class is FileClass.APPEND_ONLY:
        raise ValueError(f"{path!r} can't be promised: {'it only grows' if rule else 'KEPT has no such name'}")
    return FileDraft(path=path, file_class=rule.file_class, content=content)


def _id(text: str) -> str:
    if not is_id(text):
        raise ValueError(f"{text!r} is not an id")
    return text


def _rule(file_class: FileClass, writer: str, written: str, immutable_from: str) -> Kept:
    return Kept(file_class=file_class, writer=writer, written=written, immutable_from=immutable_from)


def _folder(writer: str, written: str, immutable_from: str = "never") -> Kept:
    return _rule(FileClass.INDEX, writer, written, immutable_from)


_B: Final = f"{RUNS}/<batch_id>"
_J: Final = f"{_B}/<job_id>"
_S: Final = f"{_J}/steps/<step_id>"
_A: Final = f"{_S}/attempts/<run_dir_name>"
_AT_END: Final = "attempt end"
_AT_ONCE: Final = "when it appears"
_END_BY_OUTBOX: Final = _rule(FileClass.WRITE_ONCE, "runner", "with the finishing commit", _AT_ONCE)
_END_BY_OWNER: Final = _rule(FileClass.WRITE_ONCE, "runner", "flushed before the finishing commit", _AT_END)

KEPT: Final[Mapping[str, Kept]] = MappingProxyType(
    {
        ROOT_RECORD: _rule(FileClass.WRITE_ONCE, "harness", "when the root is made", _AT_ONCE),
        f"{RUNS}/": _folder("harness", "for each new batch"),
        f"{RUNS}/{SYSTEM}/": _folder("harness", "at the first submission"),
        f"{RUNS}/{SYSTEM}/harness_config.json": _rule(
            FileClass.SNAPSHOT, "harness", "when it starts to work, and at each submission", "never"
        ),
        f"{RUNS}/{SYSTEM}/harness_config_versions/": _folder("harness", "for each new version"),
        f"{RUNS}/{SYSTEM}/harness_config_versions/<version>.json": _rule(
            FileClass.WRITE_ONCE, "harness", "at the first submission under it", _AT_ONCE
        ),
        f"{_B}/": _folder("harness", "for each new job"),
        f"{_B}/batch_meta.json": _rule(FileClass.WRITE_ONCE, "harness", "at submission", _AT_ONCE),
        f"{_B}/{EVIDENCE}/": _folder("harness", "at submission"),
        f"{_B}/{EVIDENCE}/inputs.jsonl": _rule(FileClass.WRITE_ONCE, "harness", "at submission", _AT_ONCE),
        f"{_B}/{CONTROL}": _rule(FileClass.APPEND_ONLY, "harness", "at each removal", "never"),
        f"{_B}/{EVIDENCE}/superseded/": _folder("runner", "for late evidence"),
        f"{_B}/{EVIDENCE}/superseded/<run_id>-<fence>/": _folder("runner", "for late evidence"),
        f"{_B}/{EVIDENCE}/superseded/<run_id>-<fence>/<file>": _rule(
            FileClass.WRITE_ONCE, "runner that lost its lease", "when its write was refused", _AT_ONCE
        ),
        f"{_J}/": _folder("harness", "for its first attempt"),
        f"{_J}/current.json": _rule(FileClass.INDEX, "harness", "when an attempt starts or ends", "never"),
        f"{_J}/steps/": _folder("harness", "for each new step"),
        f"{_S}/": _folder("harness", "for its first attempt"),
        f"{_S}/attempts/": _folder("harness", "for each new attempt"),
        f"{_A}/": _folder("runner", "when the attempt starts", _AT_END),
        f"{_A}/meta.json": _rule(FileClass.WRITE_ONCE, "runner", "with the starting commit", _AT_ONCE),
        f"{_A}/state.json": _rule(
            FileClass.SNAPSHOT, "runner", "with the starting commit, each heartbeat, the finishing commit", _AT_END
        ),
        f"{_A}/final.json": _END_BY_OUTBOX,
        f"{_A}/final.txt": _END_BY_OUTBOX,
        f"{_A}/handoff.json": _END_BY_OUTBOX,
        f"{_A}/codex.events.jsonl": _rule(FileClass.APPEND_ONLY, "runner", "while the agent runs", _AT_END),
        f"{_A}/git_head.txt": _END_BY_OWNER,
        f"{_A}/git_status.txt": _END_BY_OWNER,
        f"{_A}/git_diff.patch": _END_BY_OWNER,
        f"{_A}/files_touched.json": _END_BY_OWNER,
        f"{_A}/{CODEX_HOME}/": _folder("runner (agent)", "while the agent runs", _AT_END),
        f"{_A}/{CODEX_HOME}/**": _folder("runner (agent)", "while the agent runs", _AT_END),
        f"{_A}/{EVIDENCE}/": _folder("runner", "while the attempt runs", _AT_END),
        f"{_A}/{EVIDENCE}/exit.json": _rule(
            FileClass.WRITE_ONCE,
            "shim, runner",
            "when the agent's tree is empty, again with the finishing commit",
            _AT_END,
        ),
        f"{_A}/{EVIDENCE}/session.json": _END_BY_OWNER,
        f"{_A}/{EVIDENCE}/verdict.json": _END_BY_OUTBOX,
        f"{_A}/{EVIDENCE}/stderr.txt": _END_BY_OWNER,
        f"{_A}/{EVIDENCE}/manifest.json": _END_BY_OUTBOX,
        f"{_A}/{STAGING}/": _folder("runner (agent)", "while the agent runs", _AT_END),
        f"{_A}/{STAGING}/<file>": _rule(FileClass.WRITE_ONCE, "runner (agent)", "while the agent runs", _AT_END),
        f"{RUNNERS}/": _folder("runner", "for each new runner"),
        f"{RUNNERS}/<runner_id>/": _folder("runner", "for each new shift"),
        f"{RUNNERS}/<runner_id>/health.json": _rule(FileClass.SNAPSHOT, "runner", "while it is online", "never"),
        f"{RUNNERS}/<runner_id>/shifts/": _folder("runner", "for each new shift"),
        f"{RUNNERS}/<runner_id>/shifts/<shift_id>.lock": _rule(
            FileClass.SNAPSHOT, "runner", "when the shift begins", "never"
        ),
        f"{RUNNERS}/<runner_id>/shifts/<shift_id>.deadline": _rule(
            FileClass.SNAPSHOT, "runner", "at each renewal of the shift", "never"
        ),
    }
)

_ID: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_PARTS: Final = {
    "<run_dir_name>": rf"[0-9]{{8}}T[0-9]{{6}}Z_{_ID}",
    "<fence>": r"[0-9]+",
    "<version>": r"[A-Za-z0-9][A-Za-z0-9._-]{0,126}",
    "<file>": r"[^/]+",
    "**": r".+",
}
_PART: Final = re.compile(r"<[a-z_]+>|\*\*")
_ATTEMPT: Final = re.compile(
    rf"{RUNS}/(?P<batch_id>{_ID})/(?P<job_id>{_ID})/steps/(?P<step_id>{_ID})/attempts/"
    rf"(?P<started>[0-9]{{8}}T[0-9]{{6}}Z)_(?P<run_id>{_ID})"
)


def _compiled(pattern: str) -> re.Pattern[str]:
    literals = [re.escape(text) for text in _PART.split(pattern)]
    parts = [_PARTS.get(part, _ID) for part in _PART.findall(pattern)]
    return re.compile("".join(a + b for a, b in zip(literals, [*parts, ""], strict=True)))


# Most questions are about files with a fixed name: these need not try every pattern.
_OTHER_RULES: Final = tuple((_compiled(pattern), rule) for pattern, rule in KEPT.items())
_RULES_BY_NAME: Final = {
    name: tuple(
        (_compiled(pattern), rule)
        for pattern, rule in KEPT.items()
        if pattern.rpartition("/")[2] in {name, "<file>", "**"}
    )
    for name in (pattern.rpartition("/")[2] for pattern in KEPT)
    if name and not _PART.search(name)
}
