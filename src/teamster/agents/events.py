"""Reads what agents print: one JSON object a line, whatever else comes between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from teamster.agents.protocol import Reading
from teamster.kit import one_line
from teamster.model import JsonObject
from teamster.policy import AgentError, FailureClass, Terminal

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
ERRORS_MAX: Final = 8
ERROR_CHARACTERS_MAX: Final = 500
ACTIVITY_CHARACTERS_MAX: Final = 120
TEXT_CHARACTERS_SEEN: Final = 2000
THREAD_ID_CHARACTERS_MAX: Final = 128
TOKENS_MAX: Final = 2**53

Handler = Callable[[Reading, JsonObject], Reading]

_STATUS: Final = re.compile(r"status:? (\d{3})\b")
_WORDS: Final = (
    (
        FailureClass.QUOTA,
        re.compile(r"quota|usage limit|rate.?limit|too many requests|billing|out of credits", re.IGNORECASE),
    ),
    (
        FailureClass.AUTH,
        re.compile(
            r"unauthori[sz]ed|api key|missing environment variable|not logged in|sign in again|log ?in again|"
            r"access token|refresh token",
            re.IGNORECASE,
        ),
    ),
    (
        FailureClass.NETWORK,
        re.compile(
            r"stream disconnected|stream closed|error sending request|connection (refused|reset|closed|failed)|"
            r"connection error|high demand|overloaded|timed? ?out|dns error|service unavailable|bad gateway|"
            r"unable to connect|cannot connect|internal server error",
            re.IGNORECASE,
        ),
    ),
)
_DIGITS_OF_AUTH: Final = (401, 403)
_DIGITS_OF_PATIENCE: Final = (408, 425)
_SERVER_FAULTS: Final = range(500, 600)
_TOO_MANY: Final = 429


class EventDecoder:
    """Turns event lines into a reading; lines that are no event, or of a kind unknown here, are counted."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self._reading = Reading()

    def feed(self, line: bytes) -> None:
        """Take one line, whatever it is."""
        if not line.strip():
            return
        event = _parse(line)
        handler = None if event is None else self._handlers.get(text(event, "type"))
        if event is None or handler is None:
            self._reading = replace(self._reading, unknown_events=self._reading.unknown_events + 1)
            return
        self._reading = replace(handler(self._reading, event), events=self._reading.events + 1)
        self.took(event)

    def took(self, event: JsonObject) -> None:
        """Note what a reading has no place for; nothing, unless a dialect has more to remember."""

    @property
    def reading(self) -> Reading:
        """What was learned so far."""
        return self._reading


def classify(message: str) -> FailureClass:
    """Tell the class of a complaint where its text is plain about it."""
    status = _STATUS.search(message)
    by_status = None if status is None else class_of_status(int(status[1]))
    if by_status is not None:
        return by_status
    for failure_class, words in _WORDS:
        if words.search(message):
            return failure_class
    return FailureClass.AGENT_FAILED


def class_of_status(status: object) -> FailureClass | None:
    """Tell the class of an HTTP status; None where the number alone says nothing."""
    if status in _DIGITS_OF_AUTH:
        return FailureClass.AUTH
    if status == _TOO_MANY:
        return FailureClass.QUOTA
    if type(status) is int and (status in _DIGITS_OF_PATIENCE or status in _SERVER_FAULTS):
        return FailureClass.NETWORK
    return None


def started(reading: Reading, thread_id: str) -> Reading:
    """Note the thread. The first one is the answer to what was asked for; a later one can't take that back."""
    known = reading.thread_id or not thread_id
    return reading if known else replace(reading, thread_id=thread_id[:THREAD_ID_CHARACTERS_MAX])


def ended(reading: Reading, terminal: Terminal) -> Reading:
    """Note the last word of a turn."""
    return replace(reading, terminal=terminal, activity=f"turn {terminal}")


def complain(reading: Reading, message: str, failure_class: FailureClass | None = None) -> Reading:
    """Keep a complaint, once where it is said twice in a row."""
    seen = message[:TEXT_CHARACTERS_SEEN]
    error = AgentError(one_line(seen, characters_max=ERROR_CHARACTERS_MAX), failure_class or classify(seen))
    if reading.errors and reading.errors[-1] == error:
        return reading
    return replace(reading, errors=(*reading.errors, error)[-ERRORS_MAX:])


def doing(reading: Reading, activity: str) -> Reading:
    """Say in one short line what it does."""
    line = one_line(activity[:TEXT_CHARACTERS_SEEN], characters_max=ACTIVITY_CHARACTERS_MAX)
    return replace(reading, activity=line) if line else reading


def text(value: JsonObject, key: str) -> str:
    """Return a text that can be kept: half of a surrogate pair is legal in JSON and in no file."""
    found = value.get(key)
    return found.encode("utf-8", "replace").decode() if isinstance(found, str) else ""


def count(value: JsonObject, key: str) -> int:
    """Return a number of tokens; 0 where it is none."""
    number = value.get(key)
    return number if type(number) is int and 0 <= number <= TOKENS_MAX else 0


def dollars(value: JsonObject, key: str) -> float:
    """Return a sum of money; 0 where it is none."""
    number = value.get(key)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return 0.0
    return float(number) if 0 <= number <= TOKENS_MAX else 0.0


def inner(value: JsonObject, key: str) -> JsonObject:
    """Return an object within an object; an empty one where it is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def parts(value: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects of a list within an object."""
    found = value.get(key)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _parse(line: bytes) -> JsonObject | None:
    if len(line) > LINE_BYTES_MAX:
        return None
    try:
        value: Any = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
