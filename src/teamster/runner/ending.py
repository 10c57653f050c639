"""How an attempt ends: its evidence is judged by policy and turned into one guarded write. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from teamster.artifacts import AttemptFile, attempt_file, draft, manifest, manifest_entry, terminal
from teamster.kit import Instant, document, one_line, redact, sha256
from teamster.model import (
    Attempt,
    AttemptStatus,
    Exited,
    ExitRecord,
    FileDraft,
    JsonObject,
    Outcome,
    RequestId,
    Signalled,
    exit_record_to_json,
    outcome_to_json,
)
from teamster.policy import FailureClass, GiveUp, Retry, RetryLimits, Verdict, after_attempt, decide
from teamster.runner.carried import Carried
from teamster.runner.evidence import Evidence
from teamster.runner.handing import FINAL_DIGEST
from teamster.store import Complete, Fail, Guard, Stall

FINAL_TEXT_BYTES_MAX: Final = 4 << 20
SUMMARY_CHARACTERS_MAX: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A judged end: what to tell the store, with the files that follow from it."""

    carried: Carried
    verdict: Verdict
    attempt: Attempt
    files: tuple[FileDraft, ...]
    change: Complete | Fail | Stall


def conclude(
    carried: Carried,
    record: ExitRecord | None,
    evidence: Evidence,
    *,
    on_disk: Mapping[str, tuple[str, int]],
    now: Instant,
    jitter: float,
) -> Ending:
    """Judge an attempt by its evidence; `on_disk` are its files that no transaction has to promise."""
    ended_at = now.wall if record is None else record.ended_at
    verdict = decide(evidence.facts)
    return _ending(carried, verdict, evidence, record, ended_at=ended_at, on_disk=on_disk, now=now, jitter=jitter)


def refuse(
    carried: Carried,
    fact: str,
    failure_class: FailureClass,
    *,
    on_disk: Mapping[str, tuple[str, int]],
    now: Instant,
    jitter: float,
) -> Ending:
    """End an attempt whose agent was never started, because it can't be started as asked."""
    status = AttemptStatus.FAILED
    if failure_class in {FailureClass.BASE_TOUCHED, FailureClass.EVIDENCE_LOST}:
        status = AttemptStatus.NEEDS_ATTENTION
    verdict = Verdict(status=status, failure_class=failure_class, reason=one_line(fact, characters_max=400))
    started_at = carried.attempt.started_at
    return _ending(carried, verdict, None, None, ended_at=started_at, on_disk=on_disk, now=now, jitter=jitter)


def lose(carried: Carried, fact: str, *, now: Instant, jitter: float) -> Ending:
    """End an attempt that nobody can look at from here: its manifest is to be made whole where its files lie."""
    verdict = Verdict(status=AttemptStatus.FAILED, failure_class=FailureClass.LOST, reason=fact)
    return _ending(carried, verdict, None, None, ended_at=now.wall, on_disk=None, now=now, jitter=jitter)


def _ending(
    carried: Carried,
    verdict: Verdict,
    evidence: Evidence | None,
    record: ExitRecord | None,
    *,
    ended_at: datetime,
    on_disk: Mapping[str, tuple[str, int]] | None,
    now: Instant,
    jitter: float,
) -> Ending:
    verdict, follows = _what_follows(carried, verdict, now=now, jitter=jitter)
    attempt = replace(
        carried.attempt,
        status=verdict.status,
        ended_at=max(ended_at, carried.attempt.started_at),  # a wall clock may have stepped back in between
        facts={**carried.attempt.facts, **_facts(carried, verdict, evidence)},
    )
    files = _files(carried, attempt, verdict, evidence, record, on_disk)
    guard = _guard(carried)
    match follows:
        case None:
            change: Complete | Fail | Stall = Complete(
                guard=guard, result=_result(attempt, verdict, evidence), attempt=attempt, files=files
            )
        case GiveUp():
            change = Fail(guard=guard, error=_error(attempt, verdict, follows), attempt=attempt, files=files)
        case Retry(at=at, consumes=consumes):
            change = Stall(
                guard=guard,
                error=_error(attempt, verdict, None),
                requeue_at=at,
                attempt=attempt,
                files=files,
                consumes_attempt=consumes,
                recovery=not consumes,
            )
    return Ending(carried=carried, verdict=verdict, attempt=attempt, files=files, change=change)


def _what_follows(
    carried: Carried, verdict: Verdict, *, now: Instant, jitter: float
) -> tuple[Verdict, Retry | GiveUp | None]:
    if verdict.status is AttemptStatus.SUCCEEDED:
        return verdict, None
    item = carried.item
    follows = after_attempt(
        verdict,
        consumed=item.attempts_consumed,
        recoveries=item.recoveries,
        limits=RetryLimits.of(carried.step.retry),
        now=now.wall,
        jitter=jitter,
    )
    if isinstance(follows, GiveUp) and follows.needs_attention and verdict.status is AttemptStatus.FAILED:
        verdict = replace(verdict, status=AttemptStatus.NEEDS_ATTENTION, reason=f"{verdict.reason}; {follows.reason}")
    return verdict, follows


def _guard(carried: Carried) -> Guard:
    item = carried.item
    assert item.claim_token is not None
    return Guard(
        item_id=item.item_id,
        claim_token=item.claim_token,
        rev=item.rev,
        request_id=RequestId(f"end_{carried.attempt.run_id}_{item.fence}"),  # each owner's end is a request of its own
    )


def _facts(carried: Carried, verdict: Verdict, evidence: Evidence | None) -> JsonObject:
    """Say what later steps and pointers need of an attempt."""
    failure_class = None if verdict.failure_class is None else verdict.failure_class.value
    facts: JsonObject = {"failure_class": failure_class, "reason": verdict.reason}
    if evidence is not None and evidence.reading.thread_id is not None:
        facts["codex_thread_id"] = evidence.reading.thread_id
    if evidence is not None and evidence.sealed is not None:
        facts["session_sha256"] = evidence.sealed.session_sha256
    if evidence is not None and (final := _words(carried, evidence).get(AttemptFile.FINAL)) is not None:
        facts[FINAL_DIGEST] = sha256(final)
    if evidence is not None and evidence.spending is not None:
        facts |= evidence.spending.to_json()
    return facts


def _result(attempt: Attempt, verdict: Verdict, evidence: Evidence | None) -> JsonObject:
    return {
        "run_id": attempt.run_id,
        "attempt_dir": f"{attempt.directory}/",
        "summary": _summary(verdict, evidence),
        "usage": attempt.facts.get("usage"),
    }


def _error(attempt: Attempt, verdict: Verdict, given_up: GiveUp | None) -> JsonObject:
    match verdict.status:
        case AttemptStatus.NEEDS_ATTENTION | AttemptStatus.CANCELED:
            code = verdict.status.value
        case _:
            code = "agent_failed" if verdict.failure_class is None else verdict.failure_class.value
    details = {
        "run_id": attempt.run_id,
        "attempt_dir": f"{attempt.directory}/",
        "usage": attempt.facts.get("usage"),
    }
    if verdict.failure_class is not None:
        details["failure_class"] = verdict.failure_class.value
    if given_up is not None:
        details["gave_up"] = given_up.reason
    return {"message": verdict.reason, "code": code, "details": details}


def _summary(verdict: Verdict, evidence: Evidence | None) -> str:
    report = None if evidence is None else evidence.facts.report
    if report is not None and report.value is not None:
        return one_line(str(report.value.get("summary", "")), characters_max=SUMMARY_CHARACTERS_MAX)
    return verdict.reason


def _files(
    carried: Carried,
    attempt: Attempt,
    verdict: Verdict,
    evidence: Evidence | None,
    record: ExitRecord | None,
    on_disk: Mapping[str, tuple[str, int]] | None,
) -> tuple[FileDraft, ...]:
    """Promise the files of an end, the manifest last but one: `state.json` says that all others are there.

    The exit record is promised again as it was told: its file was never flushed, and lies where an agent may write.
    """
    contents: dict[AttemptFile, bytes] = {}
    if record is not None:
        contents[AttemptFile.EXIT] = document(exit_record_to_json(record))
    if evidence is not None:
        contents |= _words(carried, evidence)
    contents[AttemptFile.VERDICT] = document(_verdict(verdict, evidence))
    state = document(_state(carried, attempt, verdict, evidence))
    promised = {**contents, AttemptFile.STATE: state}
    listed = {**(on_disk or {}), **{name.value: manifest_entry(content) for name, content in promised.items()}}
    contents[AttemptFile.MANIFEST] = document(manifest(attempt.run_id, listed, is_partial=on_disk is None))
    contents[AttemptFile.STATE] = state
    return tuple(draft(attempt_file(attempt.directory, name), content) for name, content in contents.items())


def _words(carried: Carried, evidence: Evidence) -> dict[AttemptFile, bytes]:
    """Keep the agent's own words: never edited, but for secrets."""
    words: dict[AttemptFile, bytes] = {}
    report = evidence.facts.report
    if report is not None and report.value is not None and evidence.report_text is not None:
        words[AttemptFile.FINAL] = redact(evidence.report_text.encode("utf-8", "replace"), carried.secrets)
    message = evidence.reading.last_message or evidence.report_text
    if message:
        text = redact(message.encode("utf-8", "replace"), carried.secrets)
        words[AttemptFile.FINAL_TEXT] = text[:FINAL_TEXT_BYTES_MAX]
    return words


def _verdict(verdict: Verdict, evidence: Evidence | None) -> JsonObject:
    value: JsonObject = {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "failure_class": None if verdict.failure_class is None else verdict.failure_class.value,
    }
    if evidence is None:
        return {**value, "outcome": None}
    facts = evidence.facts
    return {
        **value,
        "outcome": outcome_to_json(facts.outcome),
        "events": facts.events,
        "unknown_events": evidence.reading.unknown_events,
        "terminal_event": facts.terminal,
        "report_status": None if facts.report is None else facts.report.status,
        "report_problems": [] if facts.report is None else list(facts.report.problems),
        "asked_thread": facts.asked_thread,
        "returned_thread": facts.returned_thread,
        "source_digest_kept": facts.source_digest_kept,
        "cancel_requested": facts.cancel_requested,
        "evidence_lost": facts.evidence_lost,
        "artifacts_missing": list(facts.artifacts_missing),
        "troubles": list(evidence.troubles),
    }


def _state(carried: Carried, attempt: Attempt, verdict: Verdict, evidence: Evidence | None) -> JsonObject:
    assert attempt.ended_at is not None
    facts: dict[str, Any] = _outcome_facts(None if evidence is None else evidence.facts.outcome)
    if verdict.status is not AttemptStatus.SUCCEEDED:
        facts["reason"] = verdict.reason
        facts["failure_class"] = None if verdict.failure_class is None else verdict.failure_class.value
        facts["errors"] = [verdict.reason]
    if evidence is not None:
        reading, report = evidence.reading, evidence.facts.report
        facts["errors"] = [*facts.get("errors", ()), *(error.message for error in reading.errors), *evidence.troubles]
        facts["codex_thread_id"] = reading.thread_id
        facts["usage"] = attempt.facts.get("usage")
        facts["session_sha256"] = None if evidence.sealed is None else evidence.sealed.session_sha256
        if report is not None and report.value is not None:
            facts["artifacts"] = report.value.get("artifacts", [])
    return terminal(
        verdict.status,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        current_item=carried.state["current_item"],
        **facts,
    )


def _outcome_facts(outcome: Outcome | None) -> dict[str, Any]:
    match outcome:
        case Exited(code):
            return {"exit_code": code}
        case Signalled(signal):
            return {"signal": signal}
        case _:
            return {}
