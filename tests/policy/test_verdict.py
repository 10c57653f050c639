"""The verdict: every row of its table, and what holds for all facts whatever they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from teamster.policy import AgentError, Facts, FailureClass, Report, Verdict, decide
from teamster.policy.verdict import REASON_CHARACTERS_MAX

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
A = AttemptStatus
F = FailureClass


def report(status: str) -> Report:
    """Return a valid report with this status."""
    return Report(value={"status": status, "summary": "the sum of it"})


OK: Final = report("ok")
INVALID: Final = Report(value=None, problems=("status: it is none of ok, failed, needs_attention",))
CODEX: Final = Facts(
    outcome=Exited(0), announces_end=True, requires_report=True, events=5, terminal="completed", report=OK
)
COMMAND: Final = Facts(outcome=Exited(0), announces_end=False, requires_report=False)
RESUMED: Final = replace(CODEX, asked_thread="thread-a", returned_thread="thread-a", source_digest_kept=True)
HUNG: Final = replace(CODEX, terminal=None, report=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table on the page, with facts that it holds for."""

    known: str
    status: AttemptStatus
    failure_class: FailureClass | None
    facts: tuple[Facts, ...]

    def __str__(self) -> str:
        """Write the line as it stands on the page."""
        shown = f"`{self.failure_class}`" if self.failure_class else "-"
        return f"| {self.known} | `{self.status}` | {shown} |"


def row(known: str, status: AttemptStatus, failure_class: FailureClass | None, *facts: Facts) -> Row:
    """Return a row."""
    return Row(known=known, status=status, failure_class=failure_class, facts=facts)


ROWS: Final = (
    row(
        "the session that it resumed from was changed meanwhile",
        A.NEEDS_ATTENTION,
        F.BASE_TOUCHED,
        replace(RESUMED, source_digest_kept=False),
        replace(RESUMED, source_digest_kept=False, outcome=Stopped(), cancel_requested=True),
    ),
    row(
        "a cancel was asked for, and the agent had not ended well by itself before",
        A.CANCELED,
        None,
        replace(CODEX, cancel_requested=True, outcome=Stopped()),
        replace(HUNG, cancel_requested=True, outcome=Exited(1)),
        replace(CODEX, cancel_requested=True, report=report("failed")),
        replace(CODEX, cancel_requested=True, outcome=Lost("host restarted")),
    ),
    row(
        "it worked in another session than the one to resume, or never said in which",
        A.NEEDS_ATTENTION,
        F.WRONG_THREAD,
        replace(RESUMED, returned_thread="thread-b"),
        replace(RESUMED, returned_thread="thread-b", outcome=Signalled(9), terminal=None),
        replace(RESUMED, returned_thread=None),
        replace(RESUMED, returned_thread=None, terminal=None, events=0),
    ),
    row(
        "the program could not be started",
        A.FAILED,
        F.AGENT_BROKEN,
        replace(COMMAND, outcome=NotStarted("no such file")),
        replace(COMMAND, outcome=NotStarted("no such file"), evidence_lost=True),
    ),
    row("nobody knows how it ended", A.FAILED, F.LOST, replace(CODEX, outcome=Lost("no record"), evidence_lost=True)),
    row(
        "its output is gone",
        A.NEEDS_ATTENTION,
        F.EVIDENCE_LOST,
        replace(CODEX, evidence_lost=True),
        replace(COMMAND, evidence_lost=True, outcome=Stopped()),
        replace(HUNG, evidence_lost=True, outcome=TimedOut(60.0)),
    ),
    row("a signal that is not ours ended it", A.FAILED, F.KILLED, replace(CODEX, outcome=Signalled(9))),
    row("it wrote more than it may", A.FAILED, F.AGENT_FAILED, replace(CODEX, outcome=OutputLimit(1024))),
    row(
        "its time was over without a first event, and it complained: a quota is used up",
        A.FAILED,
        F.QUOTA,
        replace(HUNG, outcome=TimedOut(60.0), events=0, complaint="x", complaint_class=F.QUOTA),
    ),
    row(
        "its time was over without a first event, and it complained: the key is missing or refused",
        A.FAILED,
        F.AUTH,
        replace(HUNG, outcome=TimedOut(60.0), events=0, complaint="x", complaint_class=F.AUTH),
    ),
    row(
        "its time was over without a first event, and it complained: the network or the service failed",
        A.FAILED,
        F.NETWORK,
        replace(HUNG, outcome=TimedOut(60.0), events=0, complaint="x", complaint_class=F.NETWORK),
    ),
    row(
        "its time was over without a first event",
        A.FAILED,
        F.NO_FIRST_EVENT,
        replace(HUNG, outcome=TimedOut(60.0), events=0),
    ),
    row(
        "its time was over before it was done",
        A.FAILED,
        F.TIMEOUT,
        replace(HUNG, outcome=TimedOut(60.0)),
        replace(COMMAND, outcome=TimedOut(60.0)),
        replace(CODEX, outcome=TimedOut(60.0), report=INVALID),
    ),
    row(
        "its harness stopped it, or was gone for too long, before it was done",
        A.FAILED,
        F.LOST,
        replace(HUNG, outcome=Stopped()),
        replace(HUNG, outcome=Orphaned()),
        replace(COMMAND, outcome=Orphaned(), report=OK),
    ),
    row(
        "it ended by itself without a first event",
        A.FAILED,
        F.AGENT_BROKEN,
        replace(HUNG, events=0, outcome=Exited(2)),
        replace(CODEX, events=0),
    ),
    *(
        row(
            f"its exit code is not 0, or its last turn failed: {blamed}",
            A.FAILED,
            failure_class,
            replace(HUNG, outcome=Exited(1), terminal="failed", errors=(AgentError("why", failure_class),)),
            replace(CODEX, terminal="failed", errors=(AgentError("why", failure_class),)),
        )
        for blamed, failure_class in (
            ("a quota is used up", F.QUOTA),
            ("the key is missing or refused", F.AUTH),
            ("the network or the service failed", F.NETWORK),
        )
    ),
    row(
        "its exit code is not 0, or its last turn failed: nothing of these",
        A.FAILED,
        F.AGENT_FAILED,
        replace(HUNG, outcome=Exited(1)),
        replace(CODEX, outcome=Exited(1)),
        replace(CODEX, terminal="failed"),
        replace(COMMAND, outcome=Exited(3), report=OK),
    ),
    row(
        "exit code 0, yet its last event never came",
        A.FAILED,
        F.AGENT_FAILED,
        replace(HUNG, report=OK),
    ),
    row(
        "it is done, and its report is invalid, or missing where one is asked for",
        A.NEEDS_ATTENTION,
        F.INVALID_REPORT,
        replace(CODEX, report=None),
        replace(CODEX, report=INVALID),
        replace(COMMAND, report=INVALID),
    ),
    row(
        "it is done, and its report says `failed`",
        A.FAILED,
        F.AGENT_FAILED,
        replace(CODEX, report=report("failed")),
        replace(COMMAND, report=report("failed")),
        replace(CODEX, outcome=Stopped(), report=report("failed")),
    ),
    row(
        "it is done, and its report says `needs_attention`",
        A.NEEDS_ATTENTION,
        None,
        replace(CODEX, report=report("needs_attention")),
        replace(CODEX, report=report("needs_attention"), cancel_requested=True),
    ),
    row(
        "it is done, and something of `artifacts_expected` is not there",
        A.NEEDS_ATTENTION,
        None,
        replace(CODEX, artifacts_missing=("a.txt is not there",)),
        replace(CODEX, artifacts_missing=("a.txt is not there",), cancel_requested=True),
        replace(CODEX, artifacts_missing=("a.txt is a link",), outcome=Stopped()),
        replace(COMMAND, artifacts_missing=("a.txt is not there",)),
    ),
    row(
        "it is done, and its report says `ok`",
        A.SUCCEEDED,
        None,
        CODEX,
        RESUMED,
        replace(COMMAND, report=OK),
        replace(CODEX, outcome=Stopped()),
        replace(CODEX, outcome=TimedOut(60.0)),
        replace(CODEX, outcome=Orphaned()),
        replace(CODEX, cancel_requested=True),
    ),
    row("exit code 0, from a `command` that wrote no report", A.SUCCEEDED, None, COMMAND),
)
CASES: Final = [
    pytest.param(line, facts, id=f"{line.known}-{number}")
    for line in ROWS
    for number, facts in enumerate(line.facts, start=1)
]

texts = st.text(max_size=2 * REASON_CHARACTERS_MAX)
outcomes = st.one_of(
    st.builds(Exited, st.integers(0, 255)),
    st.builds(Signalled, st.integers(1, 64)),
    st.builds(TimedOut, st.floats(0, 1e6)),
    st.builds(OutputLimit, st.integers(1, 2**40)),
    st.builds(NotStarted, texts),
    st.builds(Lost, texts),
    st.sampled_from((Stopped(), Orphaned())),
)
reports = st.one_of(
    st.none(),
    st.builds(lambda problem: Report(value=None, problems=(problem,)), texts),
    st.builds(
        lambda status, summary: Report(value={"status": status, "summary": summary}),
        st.sampled_from(("ok", "failed", "needs_attention")),
        texts,
    ),
)
threads = st.sampled_from((None, "thread-a", "thread-b"))
all_facts = st.builds(
    Facts,
    outcome=outcomes,
    announces_end=st.booleans(),
    requires_report=st.booleans(),
    events=st.integers(0, 3),
    terminal=st.sampled_from((None, "completed", "failed")),
    errors=st.lists(st.builds(AgentError, texts, st.sampled_from(FailureClass)), max_size=2).map(tuple),
    report=reports,
    asked_thread=threads,
    returned_thread=threads,
    source_digest_kept=st.sampled_from((None, True, False)),
    cancel_requested=st.booleans(),
    evidence_lost=st.booleans(),
    artifacts_missing=st.sampled_from(((), ("a is not there",), ("a is not there", "b is a link"))),
)


def is_done(facts: Facts) -> bool:
    """Tell whether an agent came to its own end, said here in other words than `decide` does."""
    if isinstance(facts.outcome, TimedOut | Stopped | Orphaned):
        return facts.terminal == "completed"
    return facts.outcome == Exited(0) and facts.terminal != "failed"


@pytest.mark.req("PH-8.1.1")
@pytest.mark.parametrize(("line", "facts"), CASES)
def test_every_row_of_the_table_holds(line: Row, facts: Facts) -> None:
    """The page, the code and this list say the same."""
    verdict = decide(facts)

    assert (verdict.status, verdict.failure_class) == (line.status, line.failure_class)


def test_the_page_shows_these_rows_in_this_order() -> None:
    """An operator reads the page and not the code."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if line.startswith("| ") and "| `" in line and line.count("|") == 4]

    assert [line for line in shown if line.split("|")[2].strip("` ") in set(AttemptStatus)] == [
        str(line) for line in ROWS
    ]


@given(all_facts)
def test_every_combination_of_facts_has_one_verdict_on_one_line(facts: Facts) -> None:
    """A fact that nobody thought of must not end a tick with an exception."""
    verdict = decide(facts)

    assert verdict.status in {A.SUCCEEDED, A.FAILED, A.CANCELED, A.NEEDS_ATTENTION}
    assert verdict.reason == verdict.reason.strip()
    assert len(verdict.reason) <= REASON_CHARACTERS_MAX
    assert "\n" not in verdict.reason
    assert decide(facts) == verdict


@pytest.mark.req("PH-8.1.1")
@given(all_facts)
def test_only_a_finished_agent_with_a_good_word_succeeds(facts: Facts) -> None:
    """A success is never assumed: it needs its own end and a valid report that says `ok`, where one is asked for."""
    if decide(facts).status is not A.SUCCEEDED:
        return

    assert is_done(facts)
    assert not facts.evidence_lost
    assert not facts.artifacts_missing
    assert facts.source_digest_kept is not False
    assert facts.asked_thread in {None, facts.returned_thread}
    if facts.report is None:
        assert not facts.requires_report
    else:
        assert facts.report.status == "ok"


@pytest.mark.req("PH-8.1.1")
@given(all_facts)
def test_a_report_that_says_failed_is_never_a_success(facts: Facts) -> None:
    """Whatever the exit code says."""
    assert decide(replace(facts, report=report("failed"))).status is not A.SUCCEEDED


@given(all_facts)
def test_a_canceled_attempt_is_never_tried_again(facts: Facts) -> None:
    """Who cancels doesn't want another try."""
    assert not decide(replace(facts, cancel_requested=True)).retryable


@given(all_facts)
def test_another_thread_than_the_asked_one_is_a_persons_matter(facts: Facts) -> None:
    """Exit code 0 says nothing: an agent that can't find a session may start a new one in silence."""
    strayed = replace(facts, asked_thread="thread-a", returned_thread="thread-b", cancel_requested=False)

    assert decide(strayed).status is A.NEEDS_ATTENTION


@pytest.mark.parametrize(
    "facts",
    [
        replace(CODEX, outcome=Exited(1), errors=(AgentError("old", F.NETWORK), AgentError("the newest", F.AUTH))),
        replace(COMMAND, outcome=Lost("the newest")),
        replace(CODEX, report=Report(value={"status": "failed", "summary": "the newest"})),
        replace(CODEX, report=Report(value=None, problems=("the newest",))),
    ],
    ids=["error", "outcome", "summary", "problem"],
)
def test_the_reason_says_what_the_agent_said(facts: Facts) -> None:
    """The first question about a failure is why."""
    assert "the newest" in decide(facts).reason


@pytest.mark.parametrize(
    "broken",
    [
        {"status": A.FAILED},
        {"status": A.SUCCEEDED, "failure_class": F.LOST},
        {"status": A.CANCELED, "failure_class": F.LOST},
    ],
    ids=["failed-without-class", "success-with-class", "canceled-with-class"],
)
def test_a_verdict_that_contradicts_itself_is_not_made(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match="class"):
        Verdict(reason="?", **broken)


def test_every_kind_of_outcome_is_in_the_table() -> None:
    """A new kind needs a row."""
    assert {type(facts.outcome) for line in ROWS for facts in line.facts} == set(Outcome.__args__)
