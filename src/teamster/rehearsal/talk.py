"""What a request of the Responses protocol says: the conversation so far, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from teamster.model import JsonObject

SHELL_TOOL: Final = "exec_command"
POLL_TOOL: Final = "write_stdin"

_STILL_RUNNING: Final = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_INSERTED: Final = (
    "<environment_context>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "<skill>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
"""How messages begin that an agent inserts in the user's name; nobody asked anything with them."""


class Kind(Enum):
    """What an entry of a conversation is."""

    PROMPT = auto()
    ANSWER = auto()
    OUTPUT = auto()
    SHELL_CALL = auto()
    OTHER_CALL = auto()


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was said or done. The text of a call is empty: only what came of it counts as seen."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation so far. `start` is the place after the prompt that waits for an answer."""

    entries: tuple[Entry, ...]
    start: int
    schema: JsonObject | None
    model: str
    is_streamed: bool
    characters: int

    def before(self, position: int) -> str:
        """Return all that was said before a place."""
        return "\n".join(entry.text for entry in self.entries[:position] if entry.text)

    @property
    def remembered(self) -> str:
        """All that was said before the last prompt: what only a resumed conversation can know."""
        return self.before(max(self.start - 1, 0))

    @property
    def prompts(self) -> int:
        """How many turns it has, the one that waits for an answer included."""
        return sum(entry.kind is Kind.PROMPT for entry in self.entries)

    @property
    def asked(self) -> str:
        """The last prompt."""
        return self.entries[self.start - 1].text if self.start else ""

    @property
    def calls(self) -> int:
        """How many tools were ever called in it."""
        return sum(entry.kind in {Kind.SHELL_CALL, Kind.OTHER_CALL} for entry in self.entries)

    @property
    def running_session(self) -> int | None:
        """The command that gave control back before it ended, if that is the last thing that happened."""
        if not self.entries or self.entries[-1].kind is not Kind.OUTPUT:
            return None
        match = _STILL_RUNNING.search(self.entries[-1].text)
        return int(match[1]) if match else None


def read_talk(body: Any) -> Talk:
    """Read a request.

    Raises:
        ValueError: it is no request of this protocol.
    """
    if not isinstance(body, Mapping):
        raise ValueError("the request is no JSON object")  # noqa: TRY004 - the client is wrong, not our code
    items = body.get("input")
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    if not isinstance(items, list):
        raise ValueError("the request has no `input`")  # noqa: TRY004 - as above
    entries = tuple(entry for item in items if isinstance(item, Mapping) for entry in _entries(item))
    prompts = [position for position, entry in enumerate(entries) if entry.kind is Kind.PROMPT]
    return Talk(
        entries=entries,
        start=prompts[-1] + 1 if prompts else 0,
        schema=_schema(body),
        model=str(body.get("model", "")),
        is_streamed=bool(body.get("stream", False)),
        characters=sum(len(entry.text) for entry in entries),
    )


def _entries(item: Mapping[str, Any]) -> Sequence[Entry]:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return _message(item)
    if kind.endswith("_output"):
        return [Entry(Kind.OUTPUT, _text(item.get("output")))]
    if kind.endswith("_call"):
        return [Entry(Kind.SHELL_CALL if item.get("name") == SHELL_TOOL else Kind.OTHER_CALL)]
    return []


def _message(item: Mapping[str, Any]) -> Sequence[Entry]:
    text = _text(item.get("content"))
    match item.get("role"):
        case "user" if not text.startswith(_INSERTED):
            return [Entry(Kind.PROMPT, text)]
        case "assistant":
            return [Entry(Kind.ANSWER, text)]
        case _:
            return []  # instructions of the program, not part of what was talked about


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return ""


def _schema(body: Mapping[str, Any]) -> JsonObject | None:
    match body.get("text"):
        case {"format": {"type": "json_schema", "schema": dict(schema)}}:
            return schema
        case _:
            return None
