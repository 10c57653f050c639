"""What a request says, read from the shapes that the real Codex sends."""

from __future__ import annotations

from typing import Any

import pytest

from teamster.rehearsal.responses import Responses
from teamster.rehearsal.talk import Kind, Talk

SHELL = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {"cmd": {}}}}


def read_talk(body: Any) -> Talk:
    """Read a request's body."""
    return Responses().read(body, {})


def user(text: str) -> dict[str, Any]:
    """Return a message in the user's name."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def assistant(text: str) -> dict[str, Any]:
    """Return a message of the model."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


CALL = {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "call_1"}
POLL = {"type": "function_call", "name": "write_stdin", "arguments": "{}", "call_id": "call_2"}


def output(text: str) -> dict[str, Any]:
    """Return what came of a call."""
    return {"type": "function_call_output", "call_id": "call_1", "output": text}


def test_a_conversation_is_read_in_its_order() -> None:
    """What programs insert is not part of it."""
    talk = read_talk(
        {
            "model": "m",
            "stream": True,
            "input": [
                {"type": "message", "role": "developer", "content": "rules"},
                user("<environment_context>\n<cwd>/x</cwd>"),
                user("# AGENTS.md instructions for /x"),
                user("first question"),
                {"type": "reasoning", "summary": []},
                CALL,
                output("two files"),
                assistant("first answer"),
                user("second question"),
            ],
        }
    )

    assert [entry.kind for entry in talk.entries] == [
        Kind.PROMPT,
        Kind.SHELL_CALL,
        Kind.OUTPUT,
        Kind.ANSWER,
        Kind.PROMPT,
    ]
    assert (talk.prompts, talk.calls, talk.asked) == (2, 1, "second question")
    assert talk.remembered == "first question\ntwo files\nfirst answer"
    assert talk.start == len(talk.entries)
    assert talk.is_streamed


def test_a_plain_text_is_a_prompt() -> None:
    """The shortest request that the protocol knows."""
    talk = read_talk({"input": "hello"})

    assert (talk.asked, talk.remembered, talk.prompts, talk.is_streamed) == ("hello", "", 1, False)


def test_nothing_was_asked_where_there_is_no_prompt() -> None:
    """A warm-up request."""
    assert read_talk({"input": []}).asked == ""


def test_the_schema_is_found_where_codex_puts_it() -> None:
    """`--output-schema` reaches the model as a text format."""
    schema = {"type": "object"}

    assert read_talk({"input": "x", "text": {"format": {"type": "json_schema", "schema": schema}}}).schema == schema
    assert read_talk({"input": "x", "text": {"format": {"type": "text"}}}).schema is None


def test_a_command_that_goes_on_is_known_by_its_session() -> None:
    """Only as long as it is the last thing that happened."""
    running = output("Chunk ID: 1\nProcess running with session ID 7\nOutput:\n")

    assert read_talk({"input": [user("x"), CALL, running], "tools": [SHELL]}).running_session == 7
    assert read_talk({"input": [user("x"), CALL, running]}).running_session is None  # only Codex can be asked again
    assert read_talk({"input": [user("x"), CALL, running, POLL, output("done")]}).running_session is None
    assert read_talk({"input": [user("x")]}).running_session is None


@pytest.mark.parametrize("body", [[], None, {}, {"input": 3}])
def test_what_is_no_request_is_refused(body: Any) -> None:
    """The client hears it; the model goes on."""
    with pytest.raises(ValueError, match="the request"):
        read_talk(body)


def test_strange_parts_are_passed_over() -> None:
    """Programs change their words without notice."""
    talk = read_talk(
        {"input": [3, {"type": "new_thing"}, {"role": "user", "content": 5}, {"role": "user", "content": [1]}]}
    )

    assert {entry.text for entry in talk.entries} == {""}
