"""A runs store as a runner leaves it, made with the room's own builders: what these tests read and damage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from teamster.artifacts import (
    AttemptFile,
    HarnessConfig,
    Outbox,
    ResolvedResume,
    Root,
    Sealed,
    attempt_file,
    attempt_folder,
    batch_meta,
    batch_meta_path,
    codex_home,
    current_path,
    draft,
    freeze_attempt,
    harness_config_path,
    harness_config_version_path,
    manifest_draft,
    meta,
    open_root,
    pointers,
    restore,
    running,
    seal,
    session_files,
    terminal,
)
from teamster.kit import CountedNames, ManualClock, append, document, make_folder, write_snapshot
from teamster.model import (
    AgentChoice,
    Attempt,
    AttemptStatus,
    BatchId,
    ExecutionPolicy,
    FileDraft,
    ItemId,
    Job,
    JobId,
    JsonObject,
    OutboxRow,
    RetryPolicy,
    RunId,
    RunnerId,
    Step,
    StepId,
    StepKey,
    Table,
)

START = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)
GOAL = "Show that a runs store keeps what it promises. " * 20
BATCH = BatchId("b1")
CONFIG = HarnessConfig.of(
    program_version="test",
    execution_policy={},
    timeouts={},
    retries={},
    heartbeat_stale_after_seconds=2700.0,
    limits={},
    choices={},
)
FIRST = StepKey(BATCH, JobId("j1"), StepId("s1"))
SECOND = StepKey(BATCH, JobId("j1"), StepId("s2"))
OTHER = StepKey(BATCH, JobId("j2"), StepId("s1"))
ROLLOUT = "sessions/2026/01/rollout-1.jsonl"
ENVIRONMENT = {
    "teamster_version": "0.1.0",
    "agent": "codex",
    "agent_version": "0.163.0",
    "python": "3.11.7",
    "platform": "linux",
    "working_directory": "/somewhere",
}
REPORT = {
    "schema_version": "1.0.0",
    "status": "ok",
    "summary": "done",
    "files_read": [],
    "files_written": [],
    "artifacts": [],
}


def root_at(path: Path) -> Root:
    """Make a root."""
    return open_root(path, names=CountedNames(), clock=ManualClock())


def row(seq: int, file: FileDraft) -> OutboxRow:
    """Promise a file as a store does."""
    return OutboxRow(
        seq=seq, path=file.path, file_class=file.file_class, content=file.content, batch_id=None, job_id=None
    )


def table(*steps: StepKey) -> Table:
    """Return a normalised table with these steps."""
    jobs: dict[JobId, list[Step]] = {}
    for key in steps:
        step = Step(
            step_id=key.step_id,
            working_directory="/somewhere",
            prompt="do it",
            agent=AgentChoice(),
            policy=ExecutionPolicy(),
            timeout_seconds=60.0,
            retry=RetryPolicy(),
        )
        jobs.setdefault(key.job_id, []).append(step)
    return Table(
        batch_id=BATCH,
        goal_summary=GOAL,
        jobs=tuple(
            Job(job_id=job_id, working_directory="/somewhere", steps=tuple(found)) for job_id, found in jobs.items()
        ),
        concurrency=8,
        source="table.yaml",
    )


@dataclass(kw_only=True)
class Writer:
    """Writes attempts in the order in which a runner does; `promised` are rows that nobody has written yet."""

    root: Root
    delivers: bool = True
    attempts: list[Attempt] = field(default_factory=list)
    promised: dict[str, bytes] = field(default_factory=dict)
    bases: dict[RunId, Sealed] = field(default_factory=dict)
    _seqs: count[int] = field(default_factory=lambda: count(1))

    def submit(self, *steps: StepKey) -> None:
        """Keep the record of a batch."""
        record = batch_meta(
            table(*steps).to_json(), submitted_at=START, harness_config_version=CONFIG.version, effective_defaults={}
        )
        self.deliver(
            draft(batch_meta_path(BATCH), document(record)),
            draft(harness_config_version_path(CONFIG.version), document(CONFIG.version_document())),
            draft(harness_config_path(), document(CONFIG.snapshot(written_at=START, runners=[]))),
        )

    def begin(
        self, step: StepKey, *, run_id: str | None = None, source: Attempt | None = None, seconds: int = 0
    ) -> Attempt:
        """Start an attempt: its directory, `meta.json`, the first `state.json` and, for a resume, the copied base."""
        number = len(self.attempts) + 1
        started_at = START + timedelta(seconds=seconds or number)
        name = RunId(run_id or f"run_{number}")
        attempt = Attempt(
            run_id=name,
            item_id=ItemId(f"item_{number}"),
            step=step,
            number=1,
            directory=attempt_folder(step, name, started_at),
            status=AttemptStatus.RUNNING,
            started_at=started_at,
        )
        record = meta(
            step=step,
            run_id=name,
            runner_id=RunnerId("runner_1"),
            created_at=started_at,
            prompt_sha256="0" * 64,
            policy=ExecutionPolicy().to_json(),
            environment=ENVIRONMENT,
            workspace_policy={"mode": "shared"},
            resume=None if source is None else self.resolved(source),
        )
        home = self.root.at(codex_home(attempt.directory))
        make_folder(home)
        if source is not None:
            restore(self.root.at(codex_home(source.directory)), self.bases[source.run_id], home)
        self.attempts.append(attempt)
        self.deliver(
            draft(attempt_file(attempt.directory, AttemptFile.META), document(record)),
            draft(attempt_file(attempt.directory, AttemptFile.STATE), document(running(started_at=started_at))),
        )
        self.point(step)
        return attempt

    def end(
        self, attempt: Attempt, status: AttemptStatus = AttemptStatus.SUCCEEDED, *, report: JsonObject | None = None
    ) -> Attempt:
        """End it: events, the sealed session, then the files of the finishing commit."""
        directory, home = attempt.directory, self.root.at(codex_home(attempt.directory))
        append(self.root.at(attempt_file(directory, AttemptFile.EVENTS)), b'{"type":"turn.completed"}\n')
        make_folder((home / ROLLOUT).parent)
        append(home / ROLLOUT, f'{{"turn of":"{attempt.run_id}"}}\n'.encode())
        sealed = self.bases[attempt.run_id] = seal(home, session_files(home))
        make_folder(self.root.at(f"{directory}/.teamster"))
        write_snapshot(self.root.at(attempt_file(directory, AttemptFile.SESSION)), document(sealed.to_json()))
        ended = self._ended(attempt, status, sealed)
        self.deliver(*self._files(ended, REPORT if report is None and status == "succeeded" else report))
        if self.delivers:
            freeze_attempt(self.root, directory)
        self.point(attempt.step)
        return ended

    def resolved(self, source: Attempt) -> ResolvedResume:
        """Name the base that an attempt left."""
        return ResolvedResume(
            step_id=source.step.step_id,
            run_id=source.run_id,
            resume_base_dir=f"{codex_home(source.directory)}/",
            source_session_sha256=self.bases[source.run_id].session_sha256,
        )

    def deliver(self, *files: FileDraft) -> None:
        """Write files through the outbox, or keep them promised."""
        if not self.delivers:
            self.promised |= {file.path: file.content for file in files}
            return
        with Outbox(self.root, flush_paths=lambda _: None) as outbox:  # what the disk does has tests of its own
            outbox.write([row(next(self._seqs), file) for file in files])

    def point(self, step: StepKey) -> None:
        """Write the pointers of a job."""
        attempts = [attempt for attempt in self.attempts if attempt.step.job_id == step.job_id]
        value = pointers(batch_id=BATCH, job_id=step.job_id, attempts=attempts, updated_at=START)
        place = self.root.at(current_path(BATCH, step.job_id))
        make_folder(place.parent)
        write_snapshot(place, document(value))

    def _ended(self, attempt: Attempt, status: AttemptStatus, sealed: Sealed) -> Attempt:
        ended = replace(
            attempt,
            status=status,
            ended_at=attempt.started_at + timedelta(seconds=1),
            facts={"session_sha256": sealed.session_sha256},
        )
        self.attempts[self.attempts.index(attempt)] = ended
        return ended

    def _files(self, ended: Attempt, report: JsonObject | None) -> tuple[FileDraft, ...]:
        assert ended.ended_at is not None
        succeeded = ended.status is AttemptStatus.SUCCEEDED
        state = terminal(
            ended.status,
            started_at=ended.started_at,
            ended_at=ended.ended_at,
            exit_code=0 if succeeded else 1,
            reason=None if succeeded else "exit code 1",
            session_sha256=ended.facts["session_sha256"],
        )
        verdict = {"status": ended.status.value, "report_status": None if report is None else report["status"]}
        contents = {AttemptFile.VERDICT: verdict, AttemptFile.STATE: state}
        if report is not None:
            contents = {AttemptFile.FINAL: report, **contents}
        files = [draft(attempt_file(ended.directory, name), document(value)) for name, value in contents.items()]
        begun = [draft(path, content) for path, content in self.promised.items()]
        return (manifest_draft(self.root, ended.directory, ended.run_id, [*begun, *files]), *files)


def full_store(path: Path, *, delivers: bool = True) -> Writer:
    """Make a store with a success, its resume, a failure with its retry, and a second job."""
    writer = Writer(root=root_at(path), delivers=delivers)
    writer.submit(FIRST, SECOND, OTHER)
    first = writer.end(writer.begin(FIRST))
    writer.end(writer.begin(SECOND, source=first))
    writer.end(writer.begin(OTHER), AttemptStatus.FAILED)
    writer.end(writer.begin(OTHER))
    return writer
