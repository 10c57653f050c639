"""Reads what `opencode run --format json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from teamster.agents.events import (
    EventDecoder,
    Handler,
    class_of_status,
    complain,
    count,
    doing,
    dollars,
    ended,
    inner,
    started,
    text,
)
from teamster.agents.protocol import Reading, Usage
from teamster.model import JsonObject
from teamster.policy import FailureClass

_GOES_ON: Final = "tool-calls"
_DONE: Final = "stop"


class OpenCodeDecoder(EventDecoder):
    """Reads OpenCode's events."""

    def __init__(self) -> None:
        super().__init__(_HANDLERS)


def _step_start(reading: Reading, event: JsonObject) -> Reading:
    return replace(started(reading, text(event, "sessionID")), terminal=None, activity="waits for the model")


def _text(reading: Reading, event: JsonObject) -> Reading:
    words = text(inner(event, "part"), "text")
    said = doing(started(reading, text(event, "sessionID")), f"says {words}")
    return replace(said, last_message=words) if words.strip() else said


def _tool_use(reading: Reading, event: JsonObject) -> Reading:
    part = inner(event, "part")
    state = inner(part, "state")
    given, tool = inner(state, "input"), text(part, "tool")
    match tool:
        case "bash":
            activity = f"runs {text(given, 'command')}"
        case "edit" | "write":
            activity = f"edits {text(given, 'filePath')}"
        case "read":
            activity = f"reads {text(given, 'filePath')}"
        case _:
            activity = f"calls {tool}"
    return doing(started(reading, text(event, "sessionID")), activity)


def _step_finish(reading: Reading, event: JsonObject) -> Reading:
    part = inner(event, "part")
    used = _usage(part)
    reading = replace(reading, usage=used if reading.usage is None else reading.usage + used)
    reason = text(part, "reason")
    if reason == _GOES_ON:
        return reading
    if reason == _DONE:
        return ended(reading, "completed")
    return ended(complain(reading, f"the model stopped: {reason or 'nothing says why'}"), "failed")


def _usage(part: JsonObject) -> Usage:
    tokens = inner(part, "tokens")
    cache, reasoning = inner(tokens, "cache"), count(tokens, "reasoning")
    cached = count(cache, "read")
    return Usage(
        input=count(tokens, "input") + cached + count(cache, "write"),
        cached=cached,
        output=count(tokens, "output") + reasoning,
        reasoning=reasoning,
        cost_usd=dollars(part, "cost") or None,  # it says 0 of a model whose price it doesn't know
    )


def _error(reading: Reading, event: JsonObject) -> Reading:
    error = inner(event, "error")
    data = inner(error, "data")
    message = text(data, "message") or text(error, "name") or "an error without words"
    reading = started(reading, text(event, "sessionID"))
    return ended(complain(reading, message, _class(error, data)), "failed")


def _class(error: JsonObject, data: JsonObject) -> FailureClass | None:
    if text(error, "name") == "ProviderAuthError":
        return FailureClass.AUTH
    return class_of_status(data.get("statusCode"))


def _thinks(reading: Reading, event: JsonObject) -> Reading:
    return doing(started(reading, text(event, "sessionID")), "thinks")


_HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        "step_start": _step_start,
        "text": _text,
        "reasoning": _thinks,
        "tool_use": _tool_use,
        "step_finish": _step_finish,
        "error": _error,
    }
)
