"""What an attempt left behind, gathered once its tree was seen empty, and flushed before anyone is told."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.agents import Reading, classify
from teamster.artifacts import (
    AttemptFile,
    NotSealable,
    Root,
    Sealed,
    attempt_file,
    blames_disk,
    codex_home,
    files_touched,
    first_line,
    is_unchanged,
    is_whole,
    keep_session,
    make_whole,
    seal,
    session_files,
    staging,
)
from teamster.kit import OutsideRoot, document, flush, make_folder, one_line, read_beneath, redact, write_snapshot
from teamster.model import RUN_REPORT_SCHEMA, ExitRecord, Lost, NotStarted, Outcome, WorldError
from teamster.policy import Facts, Report, report_problems
from teamster.runner.carried import Carried
from teamster.runner.expecting import missing_artifacts
from teamster.runner.lineage import FIRST_LINE_BYTES_MAX, BrokenLineage, lineage
from teamster.runner.preparing import CannotStart, sealed_base
from teamster.runner.spending import Spending, spent
from teamster.runner.spools import BASELINE
from teamster.runner.streams import is_readable, open_plain
from teamster.workspace import Baseline, Workspaces

REPORT_BYTES_MAX: Final = 4 << 20
STDERR_BYTES_MAX: Final = 1 << 20
COMPLAINT_CHARACTERS_MAX: Final = 200
BASELINE_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The facts of an ended attempt. `troubles` are ours: what we could not find out, and why."""

    facts: Facts
    reading: Reading
    report_text: str | None
    sealed: Sealed | None
    spending: Spending | None = None
    troubles: tuple[str, ...] = ()


def gather(
    carried: Carried, record: ExitRecord | None, *, root: Root, workspaces: Workspaces, keeping: bool = True
) -> Evidence:
    """Read the rest of the output, seal the session, look at the workspace; flush what no transaction could make again.

    Without `keeping` it only looks: for a reader that is no longer the owner.

    Raises:
        WorldError: the disk failed.
    """
    outcome: Outcome = Lost("its shim died without a record") if record is None else record.outcome
    # A reader that never found the raw output can't tell a silent agent from one whose words are gone.
    began = not isinstance(outcome, NotStarted | Lost)
    lost = began and not is_readable(carried.places.stdout)
    troubles = [carried.tampered] if carried.tampered else []
    if keeping and (troubles or not is_whole(root, carried.attempt.directory)):
        troubles += make_whole(root, carried.attempt.directory)
        lost = began  # what lay there before can't be vouched for
    carried.stream.finish(keeping=keeping)
    reading, stderr = carried.stream.reading, _stderr(carried)
    text, report = _report(carried, reading, root)
    kept: list[Path] = []
    sealed = None
    # Before the home is tidied: of a killed run only its session tells.
    spending = spent(carried.agent, reading, carried.source, home=carried.home)
    if keeping:
        sealed = _seal(carried, reading, root, kept, troubles)
        _keep_stderr(carried, stderr, root, kept)
        _keep_workspace(carried, root, workspaces, kept, troubles)
        _flush(carried, root, kept)
    return Evidence(
        facts=_facts(carried, outcome, reading, report, root, stderr=stderr, evidence_lost=lost),
        reading=reading,
        report_text=text,
        sealed=sealed,
        spending=spending,
        troubles=tuple(troubles),
    )


def lost_evidence(carried: Carried, record: ExitRecord | None, root: Root, *, why: str) -> Evidence:
    """Stand in for evidence that can't be gathered: how it ended is known at most, and a person must look."""
    outcome: Outcome = Lost("its shim died without a record") if record is None else record.outcome
    reading, stderr = carried.stream.reading, _stderr(carried)
    facts = _facts(carried, outcome, reading, None, root, stderr=stderr, evidence_lost=True)
    return Evidence(facts=facts, reading=reading, report_text=None, sealed=None, troubles=(why,))


def _flush(carried: Carried, root: Root, kept: list[Path]) -> None:
    if carried.stream.has_log:
        kept.append(root.at(attempt_file(carried.attempt.directory, AttemptFile.EVENTS)))
    if carried.plan is not None:
        staged = root.at(staging(carried.attempt.directory)) / carried.plan.staged_report
        kept += [staged] if is_readable(staged) else []
    if kept:
        flush([*kept, *{path.parent for path in kept}])


def _facts(
    carried: Carried,
    outcome: Outcome,
    reading: Reading,
    report: Report | None,
    root: Root,
    *,
    stderr: bytes,
    evidence_lost: bool,
) -> Facts:
    source = carried.source
    complaint = _last_line(stderr)
    return Facts(
        outcome=outcome,
        announces_end=carried.agent.announces_end,
        requires_report=carried.agent.requires_report,
        events=reading.events,
        terminal=reading.terminal,
        errors=reading.errors,
        report=report,
        asked_thread=None if source is None else source.thread_id,
        returned_thread=reading.thread_id,
        source_digest_kept=_source_kept(carried, root),
        cancel_requested=carried.cancel_requested,
        evidence_lost=evidence_lost,
        complaint=complaint,
        complaint_class=classify(complaint),
        artifacts_missing=missing_artifacts(Path(carried.step.working_directory), carried.step.artifacts_expected),
    )


def _report(carried: Carried, reading: Reading, root: Root) -> tuple[str | None, Report | None]:
    """Read what it reported. A report that is there and can't be read is an invalid one, never a missing one."""
    if carried.plan is None:
        return None, None
    name = f"{staging(carried.attempt.directory)}/{carried.plan.staged_report}"
    try:
        staged = read_beneath(root.path, name, bytes_max=REPORT_BYTES_MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        staged = None
    except OutsideRoot as error:
        if blames_disk(error):
            raise WorldError(f"the report of {carried.attempt.run_id} can't be read: {error}") from error
        return None, Report(value=None, problems=(one_line(str(error), characters_max=COMPLAINT_CHARACTERS_MAX),))
    text = carried.agent.report_text(reading, staged)
    schema = RUN_REPORT_SCHEMA if carried.step.schema is None else carried.step.schema
    return text, report_problems(text, schema)


def _source_kept(carried: Carried, root: Root) -> bool | None:
    if carried.source is None or carried.source.session_sha256 is None:
        return None
    try:
        return is_unchanged(root.at(codex_home(carried.source.directory)), sealed_base(carried.source, root))
    except CannotStart:
        return False


def _seal(carried: Carried, reading: Reading, root: Root, kept: list[Path], troubles: list[str]) -> Sealed | None:
    """Make the base that later steps resume from: the closure of the thread and its digests.

    An agent that did its work and left a session that can't be gone on with is no failure: it is told, and who wants
    to resume is refused.
    """
    if not carried.agent.sessions:
        return None
    sessions = [name for name in session_files(carried.home) if carried.agent.is_session_file(name)]
    keep_session(carried.home, sessions)
    if reading.thread_id is None:
        return None
    try:
        closure = _closure(carried, sessions, reading.thread_id)
        sealed = seal(carried.home, closure) if closure else None
    except (BrokenLineage, NotSealable) as error:
        troubles.append(f"the session can't be gone on with: {error.fact}")
        return None
    if sealed is None:
        return None
    path = root.at(attempt_file(carried.attempt.directory, AttemptFile.SESSION))
    write_snapshot(path, document(sealed.to_json()))
    kept.append(path)
    return sealed


def _closure(carried: Carried, sessions: Sequence[str], thread_id: str) -> tuple[str, ...]:
    def read(name: str) -> bytes:
        try:
            return first_line(carried.home, name, bytes_max=FIRST_LINE_BYTES_MAX)
        except WorldError as error:
            if blames_disk(error):
                raise
            raise BrokenLineage(f"{name} can't be read or unpacked") from error

    return lineage(sessions, thread_id, agent=carried.agent, first_line=read)


def _stderr(carried: Carried) -> bytes:
    """Read the end of what the agent complained about: its last lines say why it died."""
    descriptor = open_plain(carried.places.stderr)
    if descriptor is None:
        return b""
    try:
        start = max(0, os.fstat(descriptor).st_size - STDERR_BYTES_MAX)
        return redact(os.pread(descriptor, STDERR_BYTES_MAX, start), carried.secrets)
    finally:
        os.close(descriptor)


def _last_line(content: bytes) -> str:
    lines = content.decode("utf-8", "replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return one_line(last, characters_max=COMPLAINT_CHARACTERS_MAX)


def _keep_stderr(carried: Carried, content: bytes, root: Root, kept: list[Path]) -> None:
    if content:
        path = root.at(attempt_file(carried.attempt.directory, AttemptFile.STDERR))
        write_snapshot(path, content)
        kept.append(path)


def _keep_workspace(
    carried: Carried, root: Root, workspaces: Workspaces, kept: list[Path], troubles: list[str]
) -> None:
    """Keep what the attempt did to its workspace; a workspace that can't be read is a trouble, not a failed step."""
    try:
        baseline = _baseline(carried)
        facts = None if baseline is None else workspaces.observe_end(baseline)
    except WorldError as error:
        troubles.append(f"the state of the workspace is unknown: {error.fact}")
        return
    if facts is None or not facts.is_repository:
        return
    troubles += facts.gaps
    touched = files_touched(
        run_id=carried.attempt.run_id,
        files=[(change.path, change.change.value) for change in facts.files],
        shared=carried.step.workspace_mode == "shared",
        truncated=facts.truncated,
    )
    contents: Sequence[tuple[AttemptFile, bytes]] = (
        (AttemptFile.GIT_HEAD, f"{facts.head or ''}\n".encode()),
        (AttemptFile.GIT_STATUS, facts.status.encode("utf-8", "surrogateescape")),
        (AttemptFile.GIT_DIFF, facts.diff),
        (AttemptFile.FILES_TOUCHED, document(touched)),
    )
    make_folder(root.at(carried.attempt.directory))
    for name, content in contents:
        path = root.at(attempt_file(carried.attempt.directory, name))
        write_snapshot(path, redact(content, carried.secrets))
        kept.append(path)


def _baseline(carried: Carried) -> Baseline | None:
    try:
        content = read_beneath(carried.places.spool, BASELINE, bytes_max=BASELINE_BYTES_MAX)
        return Baseline.from_json(json.loads(content))
    except FileNotFoundError:
        return None
    except (OutsideRoot, ValueError, KeyError, TypeError) as error:
        raise WorldError(f"its baseline can't be read: {error}") from error
