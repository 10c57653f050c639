"""Which attempt's conversation a step goes on with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from teamster.kit import ManualClock
from teamster.model import (
    Attempt,
    AttemptStatus,
    BatchId,
    ItemId,
    JobId,
    ResumeFrom,
    RunId,
    StepId,
    StepKey,
)
from teamster.runner.source import Source, choose_source

NOW = ManualClock().now().wall
A = AttemptStatus
FIRST = StepId("first")


def attempt(number: int, status: AttemptStatus) -> Attempt:
    """Return an attempt that left a base, if it ended."""
    ended = status is not A.RUNNING
    return Attempt(
        run_id=RunId(f"run-{number}"),
        item_id=ItemId("item"),
        step=StepKey(BatchId("batch"), JobId("job"), FIRST),
        number=number,
        directory=f"runs/batch/job/steps/first/attempts/{number}",
        status=status,
        started_at=NOW,
        ended_at=NOW if ended else None,
        facts={"session_sha256": f"digest-{number}", "codex_thread_id": f"thread-{number}"} if ended else {},
    )


HISTORY = (attempt(1, A.SUCCEEDED), attempt(2, A.FAILED), attempt(3, A.SUCCEEDED), attempt(4, A.NEEDS_ATTENTION))


@pytest.mark.req("PH-7.4")
@pytest.mark.parametrize(
    ("resume", "history", "expected"),
    [
        (ResumeFrom(step_id=FIRST), HISTORY, "run-3"),
        (ResumeFrom(step_id=FIRST, selector="latest"), HISTORY, "run-4"),
        (ResumeFrom(step_id=FIRST, selector="latest"), (*HISTORY, attempt(5, A.RUNNING)), "run-4"),
        (ResumeFrom(step_id=FIRST, selector="run_id", run_id=RunId("run-2")), HISTORY, "run-2"),
        (ResumeFrom(step_id=FIRST, selector="run_id", run_id=RunId("run-9")), HISTORY, None),
        (ResumeFrom(step_id=FIRST), HISTORY[1:2], None),
        (ResumeFrom(step_id=FIRST, selector="latest"), (), None),
    ],
)
def test_a_selector_means_one_attempt(resume: ResumeFrom, history: tuple[Attempt, ...], expected: str | None) -> None:
    """Choosing another one would go on with another conversation."""
    source = choose_source(resume, history)

    assert (None if source is None else source.run_id) == expected
    if source is not None:
        assert source.session_sha256 == f"digest-{expected[-1:] if expected else ''}"


def test_a_thread_that_was_named_comes_before_the_one_that_was_seen() -> None:
    """Who names the thread means it."""
    source = choose_source(ResumeFrom(step_id=FIRST, codex_thread_id="named"), HISTORY)

    assert source is not None
    assert source.thread_id == "named"


def test_an_attempt_without_a_base_says_so() -> None:
    """The runner refuses it by name; it must not be passed over for an older one."""
    bare = replace(HISTORY[0], facts={})

    source = choose_source(ResumeFrom(step_id=FIRST), [bare])

    assert source is not None
    assert (source.session_sha256, source.thread_id) == (None, None)


def test_it_survives_an_attempts_facts() -> None:
    """An adopter reads there what was resumed."""
    source = choose_source(ResumeFrom(step_id=FIRST), HISTORY)

    assert source is not None
    assert Source.from_json(source.to_json()) == source
