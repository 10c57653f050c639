"""A scenario: what the scripted model says and does, attempt by attempt, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.draw import Draw


@dataclass(frozen=True, slots=True)
class Say:
    """The model says something and goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """The agent runs a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """The agent writes a file beneath its working directory, through its shell."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Patch:
    """The agent changes files beneath its working directory by a unified diff, through its shell."""

    diff: str


@dataclass(frozen=True, slots=True)
class Loop:
    """The agent runs a shell command again and again, as long as the conditions hold: without any, for ever."""

    command: str


@dataclass(frozen=True, slots=True)
class Delay:
    """The model thinks for a while: for a time between the two, which is drawn."""

    seconds: float
    seconds_max: float


@dataclass(frozen=True, slots=True)
class Report:
    """The final report. What the request's schema wants beside these fields is filled in."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InvalidReport:
    """A last answer that is sent as it is, whatever the schema says: a text, or fields of a report."""

    content: str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fail:
    """The model refuses, as a service does."""

    status: int
    message: str
    retry_after_seconds: int | None = None


class Break(StrEnum):
    """How an answer that has begun never comes to its end."""

    STREAM_CUT = "stream_cut"  # the connection ends in the middle of it
    MALFORMED_JSON = "malformed_json"  # an event can't be read, then the connection ends
    HANG = "hang"  # nothing more comes, and the connection stays open


Ending = Report | InvalidReport | Fail | Break
Action = Run | Write | Patch | Loop
"""What the agent does in its shell: the moves that a conversation shows to have been made."""

Move = Say | Delay | Action | Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What the conversation must hold, or must not, for a move to be made."""

    text: str
    is_wanted: bool
    is_remembered: bool

    def holds(self, *, seen: str, remembered: str) -> bool:
        """Decide it for a conversation."""
        return (self.text in (remembered if self.is_remembered else seen)) == self.is_wanted


@dataclass(frozen=True, slots=True)
class Line:
    """A move, and when it is made."""

    move: Move
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The script of the attempts that it fits, or of a share of them. No attempt numbers: it fits every one."""

    match: str
    attempts: frozenset[int]
    lines: tuple[Line, ...]
    chance: float = 1.0

    def fits(self, conversation: Conversation) -> bool:
        """Tell whether an attempt plays by this rule."""
        if self.attempts and conversation.attempt_number not in self.attempts:
            return False
        return self.is_for(f"{conversation.job_id}.{conversation.step_id}")

    def is_for(self, step: str) -> bool:
        """Tell whether it is about a step, named `job.step`, whichever the attempt."""
        return self.match == "*" or fnmatchcase(step, self.match)


@dataclass(frozen=True, slots=True)
class Scenario:
    """All rules; the first one that fits an attempt is its script. Without one it reports that all is well."""

    rules: tuple[Rule, ...] = ()
    draw: Draw = field(default_factory=Draw)

    def lines_for(self, conversation: Conversation) -> tuple[Line, ...]:
        """Return an attempt's script."""
        fitting = (
            rule.lines
            for number, rule in enumerate(self.rules)
            if rule.fits(conversation) and self.draw.share("rule", number, conversation) < rule.chance
        )
        return next(fitting, ())
