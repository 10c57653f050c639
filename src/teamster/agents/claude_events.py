"""Reads what `claude --print --output-format stream-json` prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

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
    parts,
    started,
    text,
)
from teamster.agents.protocol import Reading, Usage
from teamster.model import JsonObject
from teamster.policy import FailureClass

MESSAGES_MAX: Final = 10_000
"""Of so many messages it is known what each has used; a longer turn is counted from its last word alone."""

_CLASSES: Final[Mapping[str, FailureClass]] = MappingProxyType(
    {
        "rate_limit": FailureClass.QUOTA,
        "billing_error": FailureClass.QUOTA,
        "authentication_failed": FailureClass.AUTH,
        "oauth_org_not_allowed": FailureClass.AUTH,
        "overloaded": FailureClass.NETWORK,
        "server_error": FailureClass.NETWORK,
    }
)


class ClaudeDecoder(EventDecoder):
    """Reads Claude Code's events.

    Its last word states what was used since the one before. Of a run that is killed there is no last word: then each
    message counts as it was announced, the tokens that it was still to write excepted.
    """

    def __init__(self) -> None:
        super().__init__(_HANDLERS)
        self._announced: dict[str, Usage] = {}
        self._stated: Usage | None = None

    def took(self, event: JsonObject) -> None:
        """Count what an event says was used."""
        match event.get("type"):
            case "assistant" if len(self._announced) < MESSAGES_MAX:
                message = inner(event, "message")
                used = _usage(inner(message, "usage"))
                if used is not None and (message_id := text(message, "id")):
                    self._announced[message_id] = used
            case "result":
                used = _since_last_result(event)
                self._announced.clear()
                self._stated = used if self._stated is None else self._stated + used

    @property
    def reading(self) -> Reading:
        """What was learned so far."""
        usage = self._stated
        for used in self._announced.values():
            usage = used if usage is None else usage + used
        return replace(super().reading, usage=usage)


def _system(reading: Reading, event: JsonObject) -> Reading:
    match text(event, "subtype"):
        case "init":
            return replace(started(reading, text(event, "session_id")), terminal=None, activity="waits for the model")
        case "api_retry":
            return doing(reading, f"tries again: {text(event, 'error')}, {count(event, 'attempt')} times so far")
        case _:
            return reading


def _assistant(reading: Reading, event: JsonObject) -> Reading:
    message = inner(event, "message")
    if text(event, "error"):
        words = "\n".join(text(part, "text") for part in parts(message, "content"))
        return complain(reading, words or text(event, "error"), _class(event))
    for part in parts(message, "content"):
        describe = _DESCRIPTIONS.get(text(part, "type"))
        if describe is not None:
            reading = doing(reading, describe(part))
    return reading


def _passed_over(reading: Reading, event: JsonObject) -> Reading:
    del event
    return reading


def _result(reading: Reading, event: JsonObject) -> Reading:
    if text(event, "subtype") == "success" and event.get("is_error") is False:
        return ended(replace(reading, last_message=text(event, "result") or reading.last_message), "completed")
    errors = event.get("errors")
    told = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
    message = text(event, "result") or "\n".join(told) or text(event, "subtype").replace("_", " ")
    if not reading.errors:
        reading = complain(reading, message or "it failed, and nothing says why", _class(event))
    return ended(reading, "failed")


def _class(event: JsonObject) -> FailureClass | None:
    return class_of_status(event.get("api_error_status")) or _CLASSES.get(text(event, "error"))


def _usage(value: JsonObject) -> Usage | None:
    cached = count(value, "cache_read_input_tokens")
    read = count(value, "input_tokens") + cached + count(value, "cache_creation_input_tokens")
    if not read:
        return None
    return Usage(input=read, cached=cached, output=count(value, "output_tokens"), reasoning=0)


def _since_last_result(event: JsonObject) -> Usage:
    """Add up all models, those of its helpers too. The sums beside it would count a resumed session's base again."""
    total = Usage(input=0, cached=0, output=0, reasoning=0, cost_usd=0.0)
    models: dict[str, Any] = inner(event, "model_usage_since_last_result")
    for used in models.values():
        if isinstance(used, dict):
            cached = count(used, "cacheReadInputTokens")
            total += Usage(
                input=count(used, "inputTokens") + cached + count(used, "cacheCreationInputTokens"),
                cached=cached,
                output=count(used, "outputTokens"),
                reasoning=count(used, "thinkingTokens"),
                cost_usd=dollars(used, "costUSD"),
            )
    return total


def _tool(part: JsonObject) -> str:
    given = inner(part, "input")
    match text(part, "name"):
        case "Bash":
            return f"runs {text(given, 'command')}"
        case "Edit" | "Write" | "NotebookEdit":
            return f"edits {text(given, 'file_path') or text(given, 'notebook_path')}"
        case "Read":
            return f"reads {text(given, 'file_path')}"
        case "StructuredOutput":
            return "reports"
        case name:
            return f"calls {name}"


_HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
    {
        "system": _system,
        "assistant": _assistant,
        "user": _passed_over,
        "rate_limit_event": _passed_over,
        "stream_event": _passed_over,
        "result": _result,
    }
)
_DESCRIPTIONS: Final[Mapping[str, Callable[[JsonObject], str]]] = MappingProxyType(
    {
        "text": lambda part: f"says {text(part, 'text')}",
        "thinking": lambda _: "thinks",
        "tool_use": _tool,
    }
)
