"""What follows a failed attempt: counts, waits, and whose expense it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.model import AttemptStatus, RetryPolicy
from teamster.policy import TREATMENTS, FailureClass, GiveUp, Retry, RetryLimits, Treatment, Verdict, after_attempt
from teamster.policy.retry import backoff

NOW: Final = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)
LIMITS: Final = RetryLimits(attempts_max=3, recoveries_max=2, backoff_seconds_first=10.0, backoff_seconds_max=60.0)
FREE: Final = [name for name, treatment in TREATMENTS.items() if treatment.startswith("free")]
COUNTED: Final = [name for name, treatment in TREATMENTS.items() if treatment is Treatment.RETRY]
STOPPED: Final = [name for name, treatment in TREATMENTS.items() if treatment is Treatment.STOP]


def failed(failure_class: FailureClass) -> Verdict:
    """Return a failure of a class."""
    return Verdict(status=AttemptStatus.FAILED, failure_class=failure_class, reason="a reason")


def after(
    failure_class: FailureClass, *, consumed: int = 0, recoveries: int = 0, jitter: float = 0.5
) -> Retry | GiveUp:
    """Decide about a failure."""
    return after_attempt(
        failed(failure_class), consumed=consumed, recoveries=recoveries, limits=LIMITS, now=NOW, jitter=jitter
    )


def test_every_class_has_one_treatment() -> None:
    """A class without a treatment would end a tick with an exception."""
    assert set(TREATMENTS) == set(FailureClass)
    assert len(FREE) + len(COUNTED) + len(STOPPED) == len(FailureClass)


@pytest.mark.parametrize("failure_class", COUNTED)
def test_a_counted_failure_is_tried_until_the_attempts_are_used(failure_class: FailureClass) -> None:
    """Three attempts are three, not four: the count doesn't hold the one that just ended."""
    tries = [after(failure_class, consumed=consumed) for consumed in range(4)]

    assert [isinstance(answer, Retry) and answer.consumes for answer in tries] == [True, True, False, False]
    assert tries[2] == GiveUp(reason="all 3 attempts are used")


def test_without_a_policy_there_is_one_attempt() -> None:
    """Nobody pays twice without having asked for it."""
    answer = after_attempt(
        failed(FailureClass.AGENT_FAILED), consumed=0, recoveries=0, limits=RetryLimits(), now=NOW, jitter=0.0
    )

    assert answer == GiveUp(reason="the only attempt is used")


@pytest.mark.parametrize("failure_class", FREE)
def test_a_free_failure_consumes_nothing_and_ends_with_a_person(failure_class: FailureClass) -> None:
    """Lost hosts and quotas are not the agent's fault, yet nothing may go on for ever."""
    used_up = after(failure_class, consumed=99, recoveries=1)
    last = after(failure_class, recoveries=2)

    assert isinstance(used_up, Retry)
    assert not used_up.consumes
    assert last == GiveUp(reason=f"{failure_class}, after 2 recoveries", needs_attention=True)


def test_a_lost_attempt_is_tried_again_at_once() -> None:
    """It is our fault: no delay."""
    assert after(FailureClass.LOST) == Retry(at=NOW, consumes=False)


def test_a_quota_waits_longer_than_a_backoff() -> None:
    """Haste only asks the same question again."""
    answer = after(FailureClass.QUOTA)

    assert isinstance(answer, Retry)
    assert answer.at >= NOW + timedelta(seconds=LIMITS.quota_wait_seconds)


@pytest.mark.parametrize("failure_class", STOPPED)
def test_what_would_only_happen_again_is_not_tried_again(failure_class: FailureClass) -> None:
    """A wrong key is wrong the second time too."""
    assert isinstance(after(failure_class), GiveUp)
    assert not failed(failure_class).retryable


@pytest.mark.parametrize("failure_class", [*FREE, *COUNTED])
def test_what_may_be_tried_again_says_so(failure_class: FailureClass) -> None:
    """The verdict and the treatment agree."""
    assert failed(failure_class).retryable


@pytest.mark.parametrize(
    ("status", "needs_attention"),
    [(AttemptStatus.NEEDS_ATTENTION, True), (AttemptStatus.CANCELED, False), (AttemptStatus.SUCCEEDED, False)],
)
def test_only_failures_are_tried_again(status: AttemptStatus, *, needs_attention: bool) -> None:
    """What a person must look at waits for the person."""
    verdict = Verdict(status=status, reason="a reason")
    answer = after_attempt(verdict, consumed=0, recoveries=0, limits=LIMITS, now=NOW, jitter=0.0)

    assert isinstance(answer, GiveUp)
    assert answer.needs_attention is needs_attention


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_wait_lies_between_half_and_all_of_a_span_that_doubles_up_to_its_bound(failures: int, jitter: float) -> None:
    """However many failures: the wait that was asked for, never zero, never without an end."""
    span = min(10.0 * 2 ** min(failures, 64), 60.0)

    seconds = backoff(failures, LIMITS, jitter=jitter).total_seconds()

    assert span / 2 <= seconds <= span


def test_the_waits_of_a_step_grow() -> None:
    """10 s, 20 s, 40 s, then the bound."""
    waits = [backoff(failures, LIMITS, jitter=0.0).total_seconds() for failures in range(5)]

    assert waits == [5.0, 10.0, 20.0, 30.0, 30.0]


@pytest.mark.parametrize("jitter", [-0.1, 1.0, float("nan")])
def test_chance_lies_within_its_bounds(jitter: float) -> None:
    """A jitter of 1 is a mistake of the caller."""
    with pytest.raises(ValueError, match="jitter"):
        backoff(0, LIMITS, jitter=jitter)


def test_the_limits_of_a_step_are_those_of_its_policy() -> None:
    """A table's words reach the decision."""
    limits = RetryLimits.of(RetryPolicy(attempts_max=4, backoff_seconds=1.5, backoff_seconds_max=9.0))

    assert (limits.attempts_max, limits.backoff_seconds_first, limits.backoff_seconds_max) == (4, 1.5, 9.0)


ALSO_DOUBTED: Final = RetryLimits(attempts_max=3, on_statuses=("failed", "needs_attention"))


@pytest.mark.req("PH-7.5")
@pytest.mark.parametrize("failure_class", [None, *FailureClass], ids=str)
def test_what_needs_attention_is_tried_again_only_on_request_and_never_where_evidence_is_in_doubt(
    failure_class: FailureClass | None,
) -> None:
    """Another try can mend a missing artifact or a bad report; it can't mend a base that was touched."""
    verdict = Verdict(status=AttemptStatus.NEEDS_ATTENTION, failure_class=failure_class, reason="a reason")
    answers = [
        after_attempt(verdict, consumed=consumed, recoveries=0, limits=limits, now=NOW, jitter=0.0)
        for limits, consumed in ((LIMITS, 0), (ALSO_DOUBTED, 0), (ALSO_DOUBTED, 2))
    ]
    may_clear = failure_class in {None, FailureClass.INVALID_REPORT}

    assert [isinstance(answer, Retry) and answer.consumes for answer in answers] == [False, may_clear, False]


@pytest.mark.req("PH-7.5")
def test_a_policy_without_failures_tries_none_again_but_what_was_lost() -> None:
    """A lost attempt is our fault and consumes nothing: no policy of a table can forbid to make it good."""
    limits = RetryLimits(attempts_max=3, on_statuses=())

    def follows(failure_class: FailureClass) -> Retry | GiveUp:
        return after_attempt(failed(failure_class), consumed=0, recoveries=0, limits=limits, now=NOW, jitter=0.0)

    assert isinstance(follows(FailureClass.AGENT_FAILED), GiveUp)
    assert follows(FailureClass.LOST) == Retry(at=NOW, consumes=False)


@pytest.mark.parametrize(
    "broken",
    [
        {"attempts_max": 0},
        {"recoveries_max": -1},
        {"backoff_seconds_first": -1.0},
        {"backoff_seconds_first": 400.0},
        {"quota_wait_seconds": -1.0},
    ],
    ids=lambda broken: next(iter(broken)),
)
def test_limits_that_make_no_sense_are_refused(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match=r"is|longer"):
        RetryLimits(**broken)
