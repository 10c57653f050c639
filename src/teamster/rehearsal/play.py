"""Decide what the model does next. Pure: it follows from the script and from what the request holds.

Nothing is remembered between two requests, so that a model that was started again goes on where the last one was.
The place in the script is found by playing it again from the last prompt on: each command that the agent ran
since then is one `run` or `write` of the script, with its conditions decided as they were decided at that time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from teamster.rehearsal.commands import patching, writing
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.draw import Draw
from teamster.rehearsal.filling import Unfillable
from teamster.rehearsal.reports import Unplayable, report_of
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
from teamster.rehearsal.view import View

ERRAND_ANSWER: Final = "Rehearsal"
"""What a program gets that asks something for itself: a title, as a rule."""

REPORTED_ANSWER: Final = "I have reported."
TOOLS_NAMED_MAX: Final = 20


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


def decide(lines: tuple[Line, ...], talk: Talk, conversation: Conversation, draw: Draw) -> Turn:
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
    view = View(talk, len(talk.entries), conversation, draw)
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
    return replace(turn, ending=_given(report_of({}, talk, conversation), talk))


def _ending(move: Action | Ending, view: View, talk: Talk, conversation: Conversation) -> Call | Answer | Fail | Break:
    match move:
        case Run(command) | Loop(command):
            return _shell(view.filled(command), talk, conversation)
        case Write(path, content):
            return _shell(writing(view.filled(path), view.filled(content)), talk, conversation)
        case Patch(diff):
            return _shell(patching(view.filled(diff)), talk, conversation)
        case Report(fields):
            return _given(report_of(view.filled_in(fields), talk, conversation), talk)
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
                view = View(talk, known, conversation, draw)
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


def _given(report: Mapping[str, Any], talk: Talk) -> Answer | Call:
    if talk.reporter is not None:
        return Call(name=talk.reporter.name, arguments=report)
    return Answer(text=json.dumps(report, ensure_ascii=False))
