"""The classes of failure, and how policy treats each: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from types import MappingProxyType
from typing import Final, Literal

Terminal = Literal["completed", "failed"]


class FailureClass(StrEnum):
    """Why an attempt did not succeed."""

    AGENT_FAILED = "agent_failed"
    INVALID_REPORT = "invalid_report"
    TIMEOUT = "timeout"
    NO_FIRST_EVENT = "no_first_event"
    AGENT_BROKEN = "agent_broken"
    QUOTA = "quota"
    AUTH = "auth"
    NETWORK = "network"
    KILLED = "killed"
    LOST = "lost"
    REFUSED_INPUT = "refused_input"
    DELIVERY_FAILED = "delivery_failed"
    STORE_UNAVAILABLE = "store_unavailable"
    # Doubts about the evidence: always a person's matter.
    WRONG_THREAD = "wrong_thread"
    BASE_TOUCHED = "base_touched"
    EVIDENCE_LOST = "evidence_lost"


class Treatment(StrEnum):
    """What follows a failure of a class."""

    RETRY = auto()  # after a backoff; the attempt counts
    FREE_AT_ONCE = auto()  # our fault: no delay, the attempt doesn't count, the recovery does
    FREE_AFTER_BACKOFF = auto()  # as above, but haste would not help
    FREE_AFTER_WAIT = auto()  # as above, and waits for a quota to come back
    STOP = auto()  # the same again would fail the same way


@dataclass(frozen=True, slots=True)
class AgentError:
    """What an agent complained about, and the class that its text is plain about."""

    message: str
    failure_class: FailureClass


F = FailureClass
T = Treatment
TREATMENTS: Final[Mapping[FailureClass, Treatment]] = MappingProxyType(
    {
        F.AGENT_FAILED: T.RETRY,
        F.INVALID_REPORT: T.STOP,
        F.TIMEOUT: T.RETRY,
        F.NO_FIRST_EVENT: T.RETRY,
        F.AGENT_BROKEN: T.RETRY,  # counted until a breaker can tell one broken table from a broken program
        F.QUOTA: T.FREE_AFTER_WAIT,
        F.AUTH: T.STOP,
        F.NETWORK: T.RETRY,
        F.KILLED: T.RETRY,
        F.LOST: T.FREE_AT_ONCE,
        F.REFUSED_INPUT: T.STOP,
        F.DELIVERY_FAILED: T.RETRY,
        F.STORE_UNAVAILABLE: T.FREE_AFTER_BACKOFF,
        F.WRONG_THREAD: T.STOP,
        F.BASE_TOUCHED: T.STOP,
        F.EVIDENCE_LOST: T.STOP,
    }
)
