"""Decide what the model does next. Pure: it follows from the script and from what the request holds.

Nothing is remembered between two requests, so that a model that was started again goes on where the last one was.
The place in the script is found by playing it again from the last prompt on: each command that the agent ran
since then is one `run` or `write` of the script, with its conditions decided as they were decided at that time.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

from teamster.model import RUN_REPORT_SCHEMA
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.diffs import recounted
from teamster.rehearsal.draw import Draw
from teamster.rehearsal.filling import Unfillable, fill
from teamster.rehearsal.moves import PLACEHOLDER
from teamster.rehearsal.scenario import (
    Action,
    Break,
    Delay,
    Ending,
    Fail,
    InvalidReport,
    Line,
    Loop,
    Patch,
    Report,
    Run,
    Say,
    Write,
)
from teamster.rehearsal.talk import Kind, Talk
from teamster.rehearsal.tools import CODEX_POLL, COMMAND_WAIT_MILLISECONDS, SHELL_NAMES

ERRAND_ANSWER: Final = "Rehearsal"
"""What a program gets that asks something for itself: a title, as a rule."""

REPORTED_ANSWER: Final = "I have reported."
TOOLS_NAMED_MAX: Final = 20
NO_SEED: Final = Draw()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The agent shall use a tool."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The last word of a turn."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One response: wait, say, then end with a call, an answer or a failure."""

    ending: Call | Answer | Fail | Break
    said: tuple[str, ...] = ()
    delay_seconds: float = 0.0


class Unplayable(Exception):
    """The script can't be played in this conversation: no shell is offered, or its report fits no schema."""


def decide(lines: tuple[Line, ...], talk: Talk, conversation: Conversation, draw: Draw = NO_SEED) -> Turn:
    """Return the next response.

    Raises:
        Unplayable: the script's report can't be made valid, or its command can't be run.
    """
    if talk.is_errand or talk.has_reported:
        return Turn(ending=Answer(text=ERRAND_ANSWER if talk.is_errand else REPORTED_ANSWER))
    session = talk.running_session
    if session is not None:
        wait = {"session_id": session, "chars": "", "yield_time_ms": COMMAND_WAIT_MILLISECONDS}
        return Turn(ending=Call(name=CODEX_POLL, arguments=wait))
    turn = Turn(ending=Break.STREAM_CUT)
    view = _View(talk, len(talk.entries), conversation, draw)
    for line in lines[_reached(lines, talk, conversation, draw) :]:
        if not view.allows(line):
            continue
        match line.move:
            case Say(text):
                turn = replace(turn, said=(*turn.said, view.filled(text)))
            case Delay() as delay:
                turn = replace(turn, delay_seconds=turn.delay_seconds + view.seconds(delay))
            case move:
                return replace(turn, ending=_ending(move, view, talk, conversation))
    return replace(turn, ending=_report({}, talk, conversation))


def _ending(move: Action | Ending, view: _View, talk: Talk, conversation: Conversation) -> Call | Answer | Fail | Break:
    match move:
        case Run(command) | Loop(command):
            return _shell(view.filled(command), talk, conversation)
        case Write(path, content):
            return _shell(_writing(view.filled(path), view.filled(content)), talk, conversation)
        case Patch(diff):
            return _shell(_patching(view.filled(diff)), talk, conversation)
        case Report(fields):
            return _report(view.filled_in(fields), talk, conversation)
        case InvalidReport(str() as text):
            return Answer(text=view.filled(text))
        case InvalidReport(fields):
            return _given(view.filled_in(fields), talk)
        case Fail() | Break():
            return move


def _reached(lines: tuple[Line, ...], talk: Talk, conversation: Conversation, draw: Draw) -> int:
    """Play the commands since the last prompt again and return the place of the next move."""
    place, known = 0, talk.start
    for position in range(talk.start, len(talk.entries)):
        match talk.entries[position].kind:
            case Kind.OUTPUT:
                known = position + 1
            case Kind.SHELL_CALL:
                view = _View(talk, known, conversation, draw)
                place = next(
                    (
                        at if isinstance(line.move, Loop) else at + 1
                        for at, line in enumerate(lines[place:], start=place)
                        if isinstance(line.move, Action) and view.allows(line)
                    ),
                    len(lines),
                )
            case _:
                pass
    return place


class _View:
    """What a script may look at, at one place of a conversation."""

    def __init__(self, talk: Talk, position: int, conversation: Conversation, draw: Draw) -> None:
        self._talk = talk
        self._position = position
        self._conversation = conversation
        self._draw = draw

    @cached_property
    def _seen(self) -> str:
        return self._talk.before(self._position)

    @cached_property
    def _remembered(self) -> str:
        return self._talk.remembered

    @cached_property
    def _this(self) -> Mapping[str, str]:
        return {
            "job": self._conversation.job_id,
            "step": self._conversation.step_id,
            "attempt": str(self._conversation.attempt_number),
            "call": str(self._talk.calls + 1),
            "random": self._draw.digits("random", self._conversation, self._position),
        }

    def seconds(self, delay: Delay) -> float:
        """Return how long to wait."""
        share = self._draw.share("delay", self._conversation, self._position)
        return delay.seconds + share * (delay.seconds_max - delay.seconds)

    def allows(self, line: Line) -> bool:
        return not line.conditions or all(
            condition.holds(seen=self._seen, remembered=self._remembered) for condition in line.conditions
        )

    def filled(self, text: str) -> str:
        return PLACEHOLDER.sub(self._found, text)

    def filled_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.filled(value)
        if isinstance(value, Mapping):
            return {name: self.filled_in(part) for name, part in value.items()}
        return [self.filled_in(part) for part in value] if isinstance(value, list) else value

    def _found(self, placeholder: re.Match[str]) -> str:
        if placeholder[1] == "this":
            return self._this.get(placeholder[2], placeholder[0])
        *_, last = (None, *re.finditer(placeholder[2], self._seen if placeholder[1] == "seen" else self._remembered))
        if last is None:
            return f"[nothing {placeholder[1]} of {placeholder[2]}]"
        return str(last[1] if last.re.groups else last[0])


def _shell(command: str, talk: Talk, conversation: Conversation) -> Call:
    if talk.shell is None:
        offered = ", ".join(talk.offered[:TOOLS_NAMED_MAX]) or "none at all"
        raise Unplayable(
            f"{conversation} shall run a command, and the request offers no shell; its tools are {offered}. "
            f"A shell is called {', '.join(SHELL_NAMES)}, and takes `cmd` or `command`"
        )
    try:
        return Call(name=talk.shell.name, arguments=talk.shell.running(command))
    except Unfillable as error:
        raise Unplayable(f"{conversation} can't call {talk.shell.name}: {error}") from error


def _writing(path: str, content: str) -> str:
    """Write the command that makes a file: plain to read in the agent's log, and exact."""
    folder = str(PurePosixPath(path).parent)
    begin = "" if folder == "." else f"mkdir -p -- {shlex.quote(folder)} && "
    return f"{begin}printf %s {shlex.quote(content)} > {shlex.quote(f'./{path}')}"


def _patching(diff: str) -> str:
    """Write the command that applies a diff. A repository further up must not make its paths mean something else."""
    apply = 'GIT_CEILING_DIRECTORIES="$(dirname "$PWD")" git apply --whitespace=nowarn -'
    return f"printf %s {shlex.quote(recounted(diff))} | {apply}"


def _given(report: Mapping[str, Any], talk: Talk) -> Answer | Call:
    if talk.reporter is not None:
        return Call(name=talk.reporter.name, arguments=report)
    return Answer(text=json.dumps(report, ensure_ascii=False))


def _report(fields: Mapping[str, Any], talk: Talk, conversation: Conversation) -> Answer | Call:
    schema = RUN_REPORT_SCHEMA if talk.schema is None else talk.schema
    try:
        report = fill(schema, fields, summary=f"Rehearsal of {conversation}.")
    except Unfillable as error:
        raise Unplayable(f"no report can be made for {conversation}: {error}") from error
    _check(report, schema, conversation)
    return _given(report, talk)


def _check(report: Any, schema: Any, conversation: Conversation) -> None:
    from jsonschema import SchemaError  # noqa: PLC0415 - 0.1 s that only a program that answers should pay
    from jsonschema.validators import validator_for  # noqa: PLC0415 - as above

    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise Unplayable(f"the output schema of {conversation} is no JSON schema: {error.message}") from error
    misfit = next(kind(schema).iter_errors(report), None)
    if misfit is not None:
        place = ".".join(str(part) for part in misfit.absolute_path) or "the report"
        raise Unplayable(
            f"the report of {conversation} does not fit the output schema: {place}: {misfit.message}; "
            "`invalid_report` sends it on purpose"
        )
