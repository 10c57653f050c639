"""How an attempt's process ended: the facts, before anyone concludes from them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from teamster.kit import from_iso, iso


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process that can't be taken for another one: a pid is only reused with another start time or boot."""

    boot_id: str
    pid: int
    start_ticks: int

    def to_json(self) -> dict[str, Any]:
        """Write it for a record."""
        return {"boot_id": self.boot_id, "pid": self.pid, "start_ticks": self.start_ticks}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ProcessIdentity:
        """Read what `to_json` wrote."""
        return cls(boot_id=value["boot_id"], pid=value["pid"], start_ticks=value["start_ticks"])


@dataclass(frozen=True, slots=True)
class Exited:
    """The program ended by itself."""

    code: int


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal that we did not send ended it."""

    signal: int


@dataclass(frozen=True, slots=True)
class TimedOut:
    """It was ended at its hard deadline."""

    after_seconds: float


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """It was ended because it wrote more than it may."""

    bytes_max: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """It was ended because its harness asked for it."""


@dataclass(frozen=True, slots=True)
class Orphaned:
    """It was ended because nobody renewed its harness's shift in time."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The program could not be started at all."""

    fact: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Process and record are gone: nobody knows how it ended."""

    fact: str


Outcome = Exited | Signalled | TimedOut | OutputLimit | Stopped | Orphaned | NotStarted | Lost


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitRecord:
    """What a shim wrote when the agent's tree was seen empty: `.teamster/exit.json`."""

    run_id: str
    outcome: Outcome
    started_at: datetime
    ended_at: datetime
    stragglers_ended: int = 0

    def __post_init__(self) -> None:
        if self.stragglers_ended < 0:
            raise ValueError("a number of processes is not negative")


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Write an outcome as the flat object of `exit.json` and of the verdict."""
    match outcome:
        case Exited(code):
            return {"kind": "exited", "exit_code": code}
        case Signalled(signal):
            return {"kind": "signalled", "signal": signal}
        case TimedOut(after_seconds):
            return {"kind": "timed_out", "after_seconds": after_seconds}
        case OutputLimit(bytes_max):
            return {"kind": "output_limit", "bytes_max": bytes_max}
        case Stopped():
            return {"kind": "stopped"}
        case Orphaned():
            return {"kind": "orphaned"}
        case NotStarted(fact):
            return {"kind": "not_started", "fact": fact}
        case Lost(fact):
            return {"kind": "lost", "fact": fact}
        case _:
            assert_never(outcome)


def outcome_from_json(value: dict[str, Any]) -> Outcome:
    """Read what `outcome_to_json`, or a shim, wrote.

    Raises:
        ValueError: it is none of ours.
    """
    match value:
        case {"kind": "exited", "exit_code": int(code)}:
            return Exited(code)
        case {"kind": "signalled", "signal": int(signal)}:
            return Signalled(signal)
        case {"kind": "timed_out", "after_seconds": int() | float() as seconds}:
            return TimedOut(float(seconds))
        case {"kind": "output_limit", "bytes_max": int(bytes_max)}:
            return OutputLimit(bytes_max)
        case {"kind": "stopped"}:
            return Stopped()
        case {"kind": "orphaned"}:
            return Orphaned()
        case {"kind": "not_started", "fact": str(fact)}:
            return NotStarted(fact)
        case {"kind": "lost", "fact": str(fact)}:
            return Lost(fact)
        case _:
            raise ValueError(f"not an outcome: {value!r:.200}")


def exit_record_to_json(record: ExitRecord) -> dict[str, Any]:
    """Write an exit record as a shim does."""
    return {
        "run_id": record.run_id,
        **outcome_to_json(record.outcome),
        "started_at": iso(record.started_at),
        "ended_at": iso(record.ended_at),
        "stragglers_ended": record.stragglers_ended,
    }


def exit_record_from_json(value: dict[str, Any]) -> ExitRecord:
    """Read an exit record.

    Raises:
        ValueError: it is none of ours.
    """
    match value:
        case {"run_id": str(run_id), "started_at": str(began), "ended_at": str(ended), "stragglers_ended": int(count)}:
            return ExitRecord(
                run_id=run_id,
                outcome=outcome_from_json(value),
                started_at=from_iso(began),
                ended_at=from_iso(ended),
                stragglers_ended=count,
            )
        case _:
            raise ValueError(f"not an exit record: {value!r:.200}")
