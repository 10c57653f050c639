"""What follows an attempt that did not succeed: another try, when, and at whose expense."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self, assert_never

from teamster.model import AttemptStatus, RetriedStatus, RetryPolicy
from teamster.policy.failure import TREATMENTS, FailureClass, Treatment
from teamster.policy.verdict import Verdict

DOUBLINGS_MAX: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """How often and how soon to try again. `recoveries_max` bounds the tries that count as no attempt."""

    attempts_max: int = 1
    recoveries_max: int = 5
    backoff_seconds_first: float = 5.0
    backoff_seconds_max: float = 300.0
    quota_wait_seconds: float = 300.0
    on_statuses: tuple[RetriedStatus, ...] = ("failed",)

    def __post_init__(self) -> None:
        if self.attempts_max < 1:
            raise ValueError(f"attempts_max is {self.attempts_max}: there is at least one attempt")
        if self.recoveries_max < 0:
            raise ValueError(f"recoveries_max is {self.recoveries_max}: a count is not negative")
        if not 0 <= self.backoff_seconds_first <= self.backoff_seconds_max:
            raise ValueError("the first backoff is longer than the longest, or negative")
        if self.quota_wait_seconds < 0:
            raise ValueError("a wait is not negative")

    @classmethod
    def of(cls, policy: RetryPolicy) -> Self:
        """Return what a step's own policy says, with our bounds for what it can't say."""
        return cls(
            attempts_max=policy.attempts_max,
            backoff_seconds_first=policy.backoff_seconds,
            backoff_seconds_max=policy.backoff_seconds_max,
            on_statuses=policy.on_statuses,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Try again at a time. A try that doesn't consume the attempt counts as a recovery."""

    at: datetime
    consumes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """No more tries; `needs_attention` where a person should find out why."""

    reason: str
    needs_attention: bool = False


def after_attempt(
    verdict: Verdict, *, consumed: int, recoveries: int, limits: RetryLimits, now: datetime, jitter: float
) -> Retry | GiveUp:
    """Decide what follows an attempt that did not succeed. Pure: `jitter` in [0, 1) is the only chance.

    `consumed` and `recoveries` are the counts before this attempt is added to them.
    """
    if _may_clear_itself(verdict) and "needs_attention" in limits.on_statuses:
        return _counted(consumed=consumed, limits=limits, now=now, jitter=jitter)
    if verdict.status is not AttemptStatus.FAILED or verdict.failure_class is None:
        return GiveUp(
            reason=f"{verdict.status} is never retried by itself",
            needs_attention=verdict.status is AttemptStatus.NEEDS_ATTENTION,
        )
    treatment = TREATMENTS[verdict.failure_class]
    if treatment is Treatment.STOP:
        return GiveUp(reason=f"{verdict.failure_class} would only happen again")
    if treatment is Treatment.RETRY and "failed" not in limits.on_statuses:
        return GiveUp(reason="its retry policy asks for no other try after a failure")
    if treatment is Treatment.RETRY:
        return _counted(consumed=consumed, limits=limits, now=now, jitter=jitter)
    return _free(verdict.failure_class, recoveries=recoveries, limits=limits, now=now, jitter=jitter)


def _may_clear_itself(verdict: Verdict) -> bool:
    """Tell whether another try may do what this one left to a person; doubts about the evidence never go away."""
    is_doubt = verdict.failure_class not in {None, FailureClass.INVALID_REPORT}
    return verdict.status is AttemptStatus.NEEDS_ATTENTION and not is_doubt


def _counted(*, consumed: int, limits: RetryLimits, now: datetime, jitter: float) -> Retry | GiveUp:
    if consumed + 1 >= limits.attempts_max:
        used = "the only attempt is" if limits.attempts_max == 1 else f"all {limits.attempts_max} attempts are"
        return GiveUp(reason=f"{used} used")
    return Retry(at=now + backoff(consumed, limits, jitter=jitter), consumes=True)


def _free(
    failure_class: FailureClass, *, recoveries: int, limits: RetryLimits, now: datetime, jitter: float
) -> Retry | GiveUp:
    if recoveries >= limits.recoveries_max:
        return GiveUp(reason=f"{failure_class}, after {recoveries} recoveries", needs_attention=True)
    treatment = TREATMENTS[failure_class]
    match treatment:
        case Treatment.FREE_AT_ONCE:
            return Retry(at=now, consumes=False)
        case Treatment.FREE_AFTER_BACKOFF:
            return Retry(at=now + backoff(recoveries, limits, jitter=jitter), consumes=False)
        case Treatment.FREE_AFTER_WAIT:
            wait = timedelta(seconds=limits.quota_wait_seconds)
            return Retry(at=now + wait + backoff(recoveries, limits, jitter=jitter), consumes=False)
        case Treatment.RETRY | Treatment.STOP:
            raise ValueError(f"{failure_class} is not free")
        case _:
            assert_never(treatment)


def backoff(failures: int, limits: RetryLimits, *, jitter: float) -> timedelta:
    """Return half to all of a span that doubles with each failure.

    At least half, since who asked for a wait gets one; and chance for the rest, so that what failed together does
    not return together.
    """
    if not 0 <= jitter < 1:
        raise ValueError(f"jitter is {jitter}: it lies in [0, 1)")
    span = limits.backoff_seconds_first * 2 ** min(failures, DOUBLINGS_MAX)
    return timedelta(seconds=(1 + jitter) / 2 * min(span, limits.backoff_seconds_max))
