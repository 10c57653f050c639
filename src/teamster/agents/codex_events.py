"""Reads what `codex exec --json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from teamster.agents.protocol import Reading, Usage
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

_STATUS: Final = re.compile(r"status:? (\d{3})\b")
_RECONNECTING: Final = re.compile(r"reconnecting\.\.\.", re.IGNORECASE)
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
            r"connection error|high demand|overloaded|timed? ?out|dns error|service unavailable|bad gateway",
            re.IGNORECASE,
        ),
    ),
)
_DIGITS_OF_AUTH: Final = ("401", "403")


def classify(message: str) -> FailureClass:
    """Tell the class of a complaint where its text is plain about it."""
    status = _STATUS.search(message)
    if status is not None:
        code = status[1]
        if code in _DIGITS_OF_AUTH:
            return FailureClass.AUTH
        if code == "429":
            return FailureClass.QUOTA
        if code.startswith("5") or code == "408":
            return FailureClass.NETWORK
    for failure_class, words in _WORDS:
        if words.search(message):
            return failure_class
    return FailureClass.AGENT_FAILED


class CodexDecoder:
    """Turns event lines into a reading; lines that are no event, or of a kind unknown here, are counted."""

    def __init__(self) -> None:
        self._reading = Reading()

    def feed(self, line: bytes) -> None:
        """Take one line, whatever it is."""
        if not line.strip():
            return
        event = _parse(line)
        handler = None if event is None else _HANDLERS.get(_text(event, "type"))
        if event is None or handler is None:
            self._reading = replace(self._reading, unknown_events=self._reading.unknown_events + 1)
            return
        self._reading = replace(handler(self._reading, event), events=self._reading.events + 1)

    @property
    def reading(self) -> Reading:
        """What was learned so far."""
        return self._reading


def _parse(line: bytes) -> JsonObject | None:
    if len(line) > LINE_BYTES_MAX:
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _thread_started(reading: Reading, event: JsonObject) -> Reading:
    thread_id = _text(event, "thread_id")[:THREAD_ID_CHARACTERS_MAX]
    # The first one is the answer to what was asked for; a later one can't take that back.
    return reading if reading.thread_id or not thread_id else replace(reading, thread_id=thread_id)


def _turn_started(reading: Reading, event: JsonObject) -> Reading:
    del event
    return replace(reading, terminal=None, activity="waits for the model")


def _turn_completed(reading: Reading, event: JsonObject) -> Reading:
    # The newest replaces what was there: Codex states the sum of its thread, not of the turn.
    return _ended(replace(reading, usage=_usage(event.get("usage")) or reading.usage), "completed")


def _turn_failed(reading: Reading, event: JsonObject) -> Reading:
    error = event.get("error")
    message = _text(error, "message") if isinstance(error, dict) else ""
    return _ended(_complain(reading, message or "the turn failed, and nothing says why"), "failed")


def _error(reading: Reading, event: JsonObject) -> Reading:
    message = _text(event, "message")
    if _RECONNECTING.match(message):
        return replace(reading, activity=_activity(message))
    return _complain(reading, message or "an error without words")


def _item(reading: Reading, event: JsonObject) -> Reading:
    item = event.get("item")
    if not isinstance(item, dict):
        return reading
    kind = _text(item, "type")
    if kind == "agent_message" and _text(event, "type") == "item.completed":
        reading = replace(reading, last_message=_text(item, "text"))
    describe = _DESCRIPTIONS.get(kind)
    activity = describe(item) if describe is not None else kind.replace("_", " ")
    return replace(reading, activity=_activity(activity)) if activity else reading


def _ended(reading: Reading, terminal: Terminal) -> Reading:
    return replace(reading, terminal=terminal, activity=f"turn {terminal}")


def _complain(reading: Reading, message: str) -> Reading:
    seen = message[:TEXT_CHARACTERS_SEEN]
    error = AgentError(one_line(seen, characters_max=ERROR_CHARACTERS_MAX), classify(seen))
    if reading.errors and reading.errors[-1] == error:
        return reading  # `turn.failed` says again what `error` said
    return replace(reading, errors=(*reading.errors, error)[-ERRORS_MAX:])


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    return Usage(
        input=_count(value, "input_tokens"),
        cached=_count(value, "cached_input_tokens"),
        output=_count(value, "output_tokens"),
        reasoning=_count(value, "reasoning_output_tokens"),
    )


def _changed_paths(item: JsonObject) -> str:
    changes = item.get("changes")
    paths = (
        [_text(change, "path") for change in changes if isinstance(change, dict)] if isinstance(changes, list) else []
    )
    return f"edits {', '.join(paths[:3])}" if paths else "edits files"


def _count(value: JsonObject, key: str) -> int:
    number = value.get(key)
    return number if type(number) is int and 0 <= number <= TOKENS_MAX else 0


def _text(value: JsonObject, key: str) -> str:
    """Return a text that can be kept: half of a surrogate pair is legal in JSON and in no file."""
    text = value.get(key)
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def _activity(text: str) -> str:
    return one_line(text[:TEXT_CHARACTERS_SEEN], characters_max=ACTIVITY_CHARACTERS_MAX)


_HANDLERS: Final[Mapping[str, Callable[[Reading, JsonObject], Reading]]] = MappingProxyType(
    {
        "thread.started": _thread_started,
        "turn.started": _turn_started,
        "turn.completed": _turn_completed,
        "turn.failed": _turn_failed,
        "error": _error,
        "item.started": _item,
        "item.updated": _item,
        "item.completed": _item,
    }
)
_DESCRIPTIONS: Final[Mapping[str, Callable[[JsonObject], str]]] = MappingProxyType(
    {
        "agent_message": lambda item: f"says {_text(item, 'text')}",
        "command_execution": lambda item: f"runs {_text(item, 'command')}",
        "error": lambda item: f"warns {_text(item, 'message')}",
        "file_change": _changed_paths,
        "mcp_tool_call": lambda item: f"calls {_text(item, 'server')}.{_text(item, 'tool')}",
        "reasoning": lambda _: "thinks",
        "todo_list": lambda _: "plans",
        "web_search": lambda item: f"searches {_text(item, 'query')}",
    }
)
