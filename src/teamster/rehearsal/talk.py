"""What a request says, whichever protocol it is written in: the conversation so far, as values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any, Final

from teamster.model import JsonObject
from teamster.rehearsal.tools import CODEX_SHELL, REPORT_NAME, SHELL_NAMES, Tool, shell_among

OBJECTS_TRIED_MAX: Final = 100
CHARACTERS_PER_TOKEN: Final = 4
"""What a token is taken for; a scripted model has none."""

_STILL_RUNNING: Final = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_OBJECT_BEGINS: Final = re.compile(r"^[ \t]*\{", re.MULTILINE)
_INSERTED: Final = (
    "<environment_context>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "<skill>",
    "<subagent_notification>",
    "<system-reminder>",
    "# AGENTS.md instructions",
    "Your response above was cut off mid-stream",
    "[structured-output-enforce]",
    "[Request interrupted by user",
)
"""How messages begin that an agent program inserts in the user's name; nobody asked anything with them."""

_ERRANDS: Final = ("You are a title generator",)
"""How instructions begin where a program asks something for itself, beside the conversation."""


class Kind(Enum):
    """What an entry of a conversation is."""

    PROMPT = auto()
    ANSWER = auto()
    OUTPUT = auto()
    SHELL_CALL = auto()
    OTHER_CALL = auto()
    REPORTED = auto()  # the program has taken a report by its tool for reports


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was said or done. The text of a call is empty: only what came of it counts as seen."""

    kind: Kind
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation so far. `start` is the place after the prompt that waits for an answer.

    `shell` is the tool that runs commands and `reporter` the one that takes a report, where the request offers them;
    `offered` names all tools. An `errand` is a question of the program itself, which is no part of the script.
    """

    entries: tuple[Entry, ...]
    start: int
    schema: JsonObject | None
    model: str
    is_streamed: bool
    characters: int
    thread: str = ""
    shell: Tool | None = None
    reporter: Tool | None = None
    offered: tuple[str, ...] = ()
    is_errand: bool = False
    wants_usage: bool = True

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
    def tokens(self) -> int:
        """What a bill would count of it."""
        return tokens_of(self.characters)

    @property
    def has_reported(self) -> bool:
        """The report of this turn was given and taken; all that is left is the last word."""
        return any(entry.kind is Kind.REPORTED for entry in self.entries[self.start :])

    @property
    def running_session(self) -> int | None:
        """The command that gave control back before it ended, if that is the last thing that happened."""
        if self.shell is None or self.shell.name != CODEX_SHELL or not self.entries:
            return None
        match = _STILL_RUNNING.search(self.entries[-1].text) if self.entries[-1].kind is Kind.OUTPUT else None
        return int(match[1]) if match else None


def talk_of(
    entries: Iterable[Entry],
    body: Mapping[str, Any],
    *,
    tools: tuple[Tool, ...],
    schema: Any,
    thread: str,
    instructions: str = "",
    wants_usage: bool = True,
) -> Talk:
    """Make a conversation of what one protocol's reader found."""
    held = tuple(entries)
    prompts = [position for position, entry in enumerate(held) if entry.kind is Kind.PROMPT]
    start = prompts[-1] + 1 if prompts else 0
    reporter = next((tool for tool in tools if tool.name == REPORT_NAME), None)
    if reporter is not None:
        schema = reporter.schema
    elif not isinstance(schema, Mapping):
        schema = schema_in(held[start - 1].text) if start else None
    return Talk(
        entries=held,
        start=start,
        schema=None if schema is None else dict(schema),
        model=str(body.get("model", "")),
        is_streamed=bool(body.get("stream", False)),
        characters=sum(len(entry.text) for entry in held),
        thread=thread,
        shell=shell_among(tools),
        reporter=reporter,
        offered=tuple(tool.name for tool in tools),
        is_errand=not tools and instructions.lstrip().startswith(_ERRANDS),
        wants_usage=wants_usage,
    )


def tokens_of(characters: int) -> int:
    """Count the tokens of a text that is so long."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def object_of(body: Any) -> Mapping[str, Any]:
    """Return a request's body.

    Raises:
        ValueError: it is no JSON object.
    """
    if not isinstance(body, Mapping):
        raise ValueError("the request is no JSON object")  # noqa: TRY004 - the client is wrong, not our code
    return body


def call_of(name: Any) -> Entry:
    """Return the entry of a call."""
    return Entry(Kind.SHELL_CALL if name in SHELL_NAMES else Kind.OTHER_CALL)


def is_inserted(text: str) -> bool:
    """Tell whether a message in the user's name is the program's own."""
    return text.startswith(_INSERTED)


def text_of(content: Any) -> str:
    """Return the text of a message or an output, given as a text or as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)
    return ""


def schema_in(prompt: str) -> JsonObject | None:
    """Find the form of a report in a prompt: how it reaches a program that has no option for it. The last one counts.

    Some programs escape the quotes of their arguments; then they stand escaped here.
    """
    for text in (prompt, prompt.replace('\\"', '"')):
        found: JsonObject | None = None
        read_to = 0
        for match in islice(_OBJECT_BEGINS.finditer(text), OBJECTS_TRIED_MAX):
            if match.end() <= read_to:
                continue  # a part of the one before
            try:
                value, read_to = json.JSONDecoder().raw_decode(text, match.end() - 1)
            except (ValueError, RecursionError):
                continue
            if value.get("type") == "object" and isinstance(value.get("properties"), dict):
                found = value
        if found is not None:
            return found
    return None
