"""Reads what `codex exec --json` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from teamster.agents.events import (
    LINE_BYTES_MAX,
    EventDecoder,
    Handler,
    complain,
    count,
    doing,
    ended,
    inner,
    parts,
    started,
    text,
)
from teamster.agents.protocol import Reading, Usage
from teamster.model import JsonObject

_TOKEN_RECORD: Final = b"token_usage_record"
_RECONNECTING: Final = re.compile(r"reconnecting\.\.\.", re.IGNORECASE)


class CodexDecoder(EventDecoder):
    """Reads Codex's own events."""

    def __init__(self) -> None:
        super().__init__(_HANDLERS)


def usage_of(value: Any) -> Usage | None:
    """Read a count of tokens as Codex writes it, in its events and in its rollouts."""
    if not isinstance(value, dict):
        return None
    return Usage(
        input=count(value, "input_tokens"),
        cached=count(value, "cached_input_tokens"),
        output=count(value, "output_tokens"),
        reasoning=count(value, "reasoning_output_tokens"),
    )


def rollout_usage(lines: Iterable[bytes]) -> Usage | None:
    """Read the newest count of tokens from a rollout's lines, a torn last one passed over."""
    newest = None
    for line in lines:
        if _TOKEN_RECORD not in line or len(line) > LINE_BYTES_MAX:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        newest = _recorded(record) or newest
    return newest


def _recorded(record: Any) -> Usage | None:
    match record:
        case {"type": "token_usage_record", "payload": {"thread_token_usage": used}}:
            return usage_of(used)
        case _:
            return None


def _thread_started(reading: Reading, event: JsonObject) -> Reading:
    return started(reading, text(event, "thread_id"))


def _turn_started(reading: Reading, event: JsonObject) -> Reading:
    del event
    return replace(reading, terminal=None, activity="waits for the model")


def _turn_completed(reading: Reading, event: JsonObject) -> Reading:
    # The newest replaces what was there: Codex states the sum of its thread, not of the turn.
    return ended(replace(reading, usage=usage_of(event.get("usage")) or reading.usage), "completed")


def _turn_failed(reading: Reading, event: JsonObject) -> Reading:
    message = text(inner(event, "error"), "message")
    return ended(complain(reading, message or "the turn failed, and nothing says why"), "failed")


def _error(reading: Reading, event: JsonObject) -> Reading:
    message = text(event, "message")
    if _RECONNECTING.match(message):
        return doing(reading, message)
    return complain(reading, message or "an error without words")


def _item(reading: Reading, event: JsonObject) -> Reading:
    item = event.get("item")
    if not isinstance(item, dict):
        return reading
    kind = text(item, "type")
    if kind == "agent_message" and text(event, "type") == "item.completed":
        reading = replace(reading, last_message=text(item, "text"))
    describe = _DESCRIPTIONS.get(kind)
    return doing(reading, describe(item) if describe is not None else kind.replace("_", " "))


def _changed_paths(item: JsonObject) -> str:
    paths = [text(change, "path") for change in parts(item, "changes")]
    return f"edits {', '.join(paths[:3])}" if paths else "edits files"


_HANDLERS: Final[Mapping[str, Handler]] = MappingProxyType(
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
        "agent_message": lambda item: f"says {text(item, 'text')}",
        "command_execution": lambda item: f"runs {text(item, 'command')}",
        "error": lambda item: f"warns {text(item, 'message')}",
        "file_change": _changed_paths,
        "mcp_tool_call": lambda item: f"calls {text(item, 'server')}.{text(item, 'tool')}",
        "reasoning": lambda _: "thinks",
        "todo_list": lambda _: "plans",
        "web_search": lambda item: f"searches {text(item, 'query')}",
    }
)
