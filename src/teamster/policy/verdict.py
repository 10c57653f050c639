"""What we conclude from how an attempt ended: one pure function, a table in `docs/agents.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from teamster.kit import one_line
from teamster.model import (
    AttemptStatus,
    Exited,
    Lost,
    NotStarted,
    Orphaned,
    Outcome,
    OutputLimit,
    Signalled,
    Stopped,
    TimedOut,
)
from teamster.policy.failure import TREATMENTS, AgentError, FailureClass, Terminal, Treatment
from teamster.policy.report import Report

REASON_CHARACTERS_MAX: Final = 400
# Some programs wait for a quota without an event, and say so in their log alone.
_TELLING: Final = frozenset({FailureClass.QUOTA, FailureClass.AUTH, FailureClass.NETWORK})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is known about an attempt whose tree was seen empty.

    `announces_end` and `requires_report` are what its agent promises. `source_digest_kept` is None where nothing
    was resumed. `report` is None where the agent wrote none. `complaint` is the last line of its standard error, and
    `complaint_class` what that line is plain about. `artifacts_missing` says of each expected artifact that is not
    there what is wrong with it.
    """

    outcome: Outcome
    announces_end: bool
    requires_report: bool
    events: int = 0
    terminal: Terminal | None = None
    errors: tuple[AgentError, ...] = ()
    report: Report | None = None
    asked_thread: str | None = None
    returned_thread: str | None = None
    source_digest_kept: bool | None = None
    cancel_requested: bool = False
    evidence_lost: bool = False
    complaint: str = ""
    artifacts_missing: tuple[str, ...] = ()
    complaint_class: FailureClass = FailureClass.AGENT_FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How an attempt ends in `state.json`, and why."""

    status: AttemptStatus
    reason: str
    failure_class: FailureClass | None = None

    def __post_init__(self) -> None:
        if (self.status is AttemptStatus.FAILED) and self.failure_class is None:
            raise ValueError("a failure has a class")
        if self.status in {AttemptStatus.SUCCEEDED, AttemptStatus.CANCELED} and self.failure_class is not None:
            raise ValueError(f"{self.status} has no class of failure")

    @property
    def retryable(self) -> bool:
        """Another try may follow, if the limits allow it."""
        if self.status is not AttemptStatus.FAILED or self.failure_class is None:
            return False
        return TREATMENTS[self.failure_class] is not Treatment.STOP


def decide(facts: Facts) -> Verdict:
    """Conclude from the facts how the attempt ended. Pure; the first row that fits holds."""
    return _doubt(facts) or _cancel(facts) or _judge(facts)


def _doubt(facts: Facts) -> Verdict | None:
    if facts.source_digest_kept is False:
        return _look(FailureClass.BASE_TOUCHED, "the session that it resumed from was changed while it ran")
    return None


def _cancel(facts: Facts) -> Verdict | None:
    """Honour a request to cancel, unless the agent was done, or a person must look, before it was heard."""
    if not facts.cancel_requested:
        return None
    if facts.outcome == Exited(0) and _judge(facts).status is not AttemptStatus.FAILED:
        return None
    return Verdict(status=AttemptStatus.CANCELED, reason="canceled on request")


def _judge(facts: Facts) -> Verdict:
    return _wrong_thread(facts) or _never_ran(facts) or _evidence(facts) or _interruption(facts) or _own_end(facts)


def _wrong_thread(facts: Facts) -> Verdict | None:
    asked, returned = facts.asked_thread, facts.returned_thread
    if asked is None or returned == asked:
        return None
    if returned is not None:
        return _look(FailureClass.WRONG_THREAD, f"it was asked to resume {asked} and went on in {returned}")
    if facts.terminal == "completed" or facts.outcome == Exited(0):
        return _look(FailureClass.WRONG_THREAD, f"it was asked to resume {asked} and never said in which it works")
    return None


def _never_ran(facts: Facts) -> Verdict | None:
    match facts.outcome:
        case NotStarted(fact):
            return _fail(FailureClass.AGENT_BROKEN, f"it could not be started: {fact}")
        case Lost(fact):
            return _fail(FailureClass.LOST, f"nobody knows how it ended: {fact}")
        case _:
            return None


def _evidence(facts: Facts) -> Verdict | None:
    """Leave an agent that ran, and whose output is gone, to a person: another try could do its work twice."""
    if facts.evidence_lost:
        return _look(FailureClass.EVIDENCE_LOST, "its output is gone: what it did can't be judged")
    return None


def _interruption(facts: Facts) -> Verdict | None:
    """Judge an end that was not the agent's own; one that came after its last word is judged by its word."""
    outcome = facts.outcome
    match outcome:
        case Signalled(signal):
            return _fail(FailureClass.KILLED, f"signal {signal} ended it, and we did not send it")
        case OutputLimit(bytes_max):
            return _fail(FailureClass.AGENT_FAILED, f"it wrote more than {bytes_max} bytes")
        case TimedOut() | Stopped() | Orphaned():
            return _by_report(facts) if _has_finished(facts) else _ended_by_us(outcome, facts)
        case Exited() | NotStarted() | Lost():
            return None
        case _:
            assert_never(outcome)


def _ended_by_us(outcome: TimedOut | Stopped | Orphaned, facts: Facts) -> Verdict:
    match outcome:
        case TimedOut(seconds) if facts.announces_end and facts.events == 0 and facts.complaint_class in _TELLING:
            return _fail(facts.complaint_class, f"no sign of life in {seconds:g} s; it complained: {facts.complaint}")
        case TimedOut(seconds) if facts.announces_end and facts.events == 0:
            return _fail(FailureClass.NO_FIRST_EVENT, f"it gave no sign of life in {seconds:g} s")
        case TimedOut(seconds):
            return _fail(FailureClass.TIMEOUT, f"it was not done after {seconds:g} s")
        case Stopped():
            return _fail(FailureClass.LOST, "its harness stopped it")
        case Orphaned():
            return _fail(FailureClass.LOST, "its harness was gone for too long")
        case _:
            assert_never(outcome)


def _own_end(facts: Facts) -> Verdict:
    assert isinstance(facts.outcome, Exited)
    code = facts.outcome.code
    if facts.announces_end and facts.events == 0:
        reason = f"it ended with exit code {code} without a first event"
        return _fail(FailureClass.AGENT_BROKEN, f"{reason}: {facts.complaint}" if facts.complaint else reason)
    if code != 0 or facts.terminal == "failed":
        last = facts.errors[-1] if facts.errors else AgentError(facts.complaint, FailureClass.AGENT_FAILED)
        reason = f"exit code {code}: {last.message}" if last.message else f"exit code {code}"
        return _fail(last.failure_class, reason)
    if facts.announces_end and facts.terminal is None:
        return _fail(FailureClass.AGENT_FAILED, "it ended without its last event")
    return _by_report(facts)


def _has_finished(facts: Facts) -> bool:
    valid = facts.report is not None and facts.report.value is not None
    return facts.terminal == "completed" and valid


def _by_report(facts: Facts) -> Verdict:
    report = facts.report
    if report is None:
        if facts.requires_report:
            return _look(FailureClass.INVALID_REPORT, "it wrote no report")
        return _success(facts, "exit code 0, and no report was asked for")
    if report.value is None:
        return _look(FailureClass.INVALID_REPORT, f"its report is invalid: {'; '.join(report.problems)}")
    summary = str(report.value.get("summary", ""))
    match report.status:
        case "ok":
            return _success(facts, "its report says ok")
        case "failed":
            return _fail(FailureClass.AGENT_FAILED, f"its report says failed: {summary}")
        case _:
            return _look(None, f"its report asks for attention: {summary}")


def _success(facts: Facts, reason: str) -> Verdict:
    """Believe a success, unless something that was expected of it is not there."""
    if facts.artifacts_missing:
        return _look(None, f"expected artifacts are missing: {'; '.join(facts.artifacts_missing)}")
    return Verdict(status=AttemptStatus.SUCCEEDED, reason=reason)


def _fail(failure_class: FailureClass, reason: str) -> Verdict:
    return Verdict(status=AttemptStatus.FAILED, failure_class=failure_class, reason=_cut(reason))


def _look(failure_class: FailureClass | None, reason: str) -> Verdict:
    return Verdict(status=AttemptStatus.NEEDS_ATTENTION, failure_class=failure_class, reason=_cut(reason))


def _cut(text: str) -> str:
    return one_line(text, characters_max=REASON_CHARACTERS_MAX)
