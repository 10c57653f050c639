"""The three protocols, in the shapes that the real programs send and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rehearsal.speaking import CHAT_SHELL, CLAUDE_SHELL, ask, events, listening
from teamster.model import RUN_REPORT_SCHEMA
from teamster.rehearsal.journal import read_requests

FORM = {
    "type": "object",
    "properties": {"verdict": {"enum": ["good", "bad"]}, "score": {"type": "integer"}},
    "required": ["verdict", "score"],
}
CLAUDE_REPORTER = {"name": "StructuredOutput", "input_schema": FORM}
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages?beta=true"
SCRIPT = "[{say: hello}, {run: ls}, {report: }]"


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a request as OpenCode writes it."""
    system = {"role": "system", "content": "You are an agent."}
    return {"model": "m", "messages": [system, *messages], "tools": [CHAT_SHELL], **more}


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a request as Claude Code writes it."""
    return {
        "model": "claude-x",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "You are an agent."}],
        "messages": messages,
        "tools": [CLAUDE_SHELL],
        **more,
    }


def user(text: str) -> dict[str, Any]:
    """Return a prompt, which both protocols take as plain text."""
    return {"role": "user", "content": text}


def chunks(text: bytes) -> list[Any]:
    """Read the chunks of a completion; the last event says that it is done."""
    *blocks, done = [block for block in text.split(b"\n\n") if block]
    assert done == b"data: [DONE]"
    return [json.loads(block.removeprefix(b"data: ")) for block in blocks]


def test_a_completion_streams_what_is_said_and_called(tmp_path: Path) -> None:
    """The role first, then the words, the call, the reason, the usage."""
    with listening(tmp_path, SCRIPT) as listener:
        body = chat(user("go"), stream=True, stream_options={"include_usage": True})
        answer, text = ask(listener, CHAT, body)

    begun, said, called, ended, counted = chunks(text)
    assert answer.headers["content-type"] == "text/event-stream"
    assert begun["choices"][0]["delta"]["role"] == "assistant"
    assert said["choices"][0]["delta"]["content"] == "hello"
    (call,) = called["choices"][0]["delta"]["tool_calls"]
    assert (call["index"], call["type"], call["function"]["name"]) == (0, "function", "bash")
    assert json.loads(call["function"]["arguments"])["command"] == "ls"
    assert ended["choices"][0]["finish_reason"] == "tool_calls"
    assert counted["choices"] == []
    assert counted["usage"]["total_tokens"] == counted["usage"]["prompt_tokens"] + counted["usage"]["completion_tokens"]
    assert len({chunk["id"] for chunk in (begun, said, called, ended, counted)}) == 1


@pytest.mark.parametrize(("path", "write"), [(CHAT, chat), (MESSAGES, claude)], ids=["completions", "messages"])
@pytest.mark.parametrize("is_streamed", [True, False])
def test_the_same_question_gets_the_same_answer_again(
    tmp_path: Path, path: str, write: Any, *, is_streamed: bool
) -> None:
    """Names and times too: what is drawn comes from the seed, and from nowhere else."""
    with listening(tmp_path, "[{say: '{this:random}'}, {run: 'echo {this:random}'}]") as listener:
        first, second = (ask(listener, path, write(user("go"), stream=is_streamed))[1] for _ in range(2))

    assert first == second


def test_a_completion_counts_only_for_who_asks(tmp_path: Path) -> None:
    """Clients that didn't ask for usage may trip over a chunk without a choice."""
    with listening(tmp_path) as listener:
        _, text = ask(listener, CHAT, chat(user("go"), stream=True))

    assert all(chunk["choices"] for chunk in chunks(text))


def test_a_completion_goes_on_after_a_call(tmp_path: Path) -> None:
    """In one piece, with the report of the form that the request names."""
    form = {"type": "json_schema", "json_schema": {"name": "report", "schema": FORM}}
    with listening(tmp_path, SCRIPT) as listener:
        _, first = ask(listener, CHAT, chat(user("go")))
        called = json.loads(first)["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "a b"}
        _, second = ask(listener, CHAT, chat(user("go"), called, result, response_format=form))

    (choice,) = json.loads(second)["choices"]
    assert (called["content"], choice["finish_reason"]) == ("hello", "stop")
    assert json.loads(choice["message"]["content"]) == {"verdict": "good", "score": 0}
    assert json.loads(second)["usage"]["completion_tokens"] > 0


@pytest.mark.parametrize("prompt", ["{0}", '"{0}"'], ids=["plain", "with-escaped-quotes"])
def test_a_form_that_stands_in_the_prompt_is_the_form_of_the_report(tmp_path: Path, prompt: str) -> None:
    """OpenCode has no option for it; it even escapes the quotes of what it was called with."""
    text = f"Do it. Answer in this form:\n{json.dumps(FORM, indent=2)}\nNothing else."
    asked = prompt.format(text if prompt == "{0}" else text.replace('"', '\\"'))
    with listening(tmp_path) as listener:
        _, answer = ask(listener, CHAT, chat(user(asked)))

    assert json.loads(json.loads(answer)["choices"][0]["message"]["content"]) == {"verdict": "good", "score": 0}


def test_a_question_of_the_program_itself_is_no_part_of_the_script(tmp_path: Path) -> None:
    """OpenCode asks for a title beside the conversation: it must not get the failure that was meant for the step."""
    title = [{"role": "system", "content": "You are a title generator. You output"}, user("Generate:"), user("go")]
    with listening(tmp_path, "[{fail: {status: 500}}]") as listener:
        answer, _ = ask(listener, CHAT, {"model": "m", "messages": title})

    assert answer.status == 200
    assert read_requests(tmp_path)[0].answered == "errand"


def test_a_message_streams_what_is_said_and_called(tmp_path: Path) -> None:
    """Each block begins, goes on and ends; the reason and the usage come last."""
    with listening(tmp_path, SCRIPT) as listener:
        _, text = ask(listener, MESSAGES, claude(user("go"), stream=True))

    told = events(text)
    assert [event["type"] for event in told] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_stop") * 2,
        "message_delta",
        "message_stop",
    ]
    assert told[2]["delta"] == {"type": "text_delta", "text": "hello"}
    assert (told[4]["content_block"]["type"], told[4]["content_block"]["name"]) == ("tool_use", "Bash")
    assert json.loads(told[5]["delta"]["partial_json"])["command"] == "ls"
    assert told[7]["delta"]["stop_reason"] == "tool_use"
    assert told[0]["message"]["usage"]["input_tokens"] > 0
    assert told[7]["usage"]["output_tokens"] > 0


def test_a_message_reports_through_the_tool_for_reports(tmp_path: Path) -> None:
    """Claude Code offers one where a step has a form; once it was taken, a word is enough."""
    tools = [CLAUDE_SHELL, CLAUDE_REPORTER]
    with listening(tmp_path, "[{report: {verdict: bad}}]") as listener:
        _, first = ask(listener, MESSAGES, claude(user("go"), tools=tools))
        reported = json.loads(first)["content"]
        taken = {"type": "tool_result", "tool_use_id": reported[0]["id"], "content": "provided successfully"}
        result: dict[str, Any] = {"role": "user", "content": [taken]}
        said: dict[str, Any] = {"role": "assistant", "content": reported}
        told = [user("go"), said, result]
        _, second = ask(listener, MESSAGES, claude(*told, tools=tools))
        taken |= {"is_error": True}
        _, third = ask(listener, MESSAGES, claude(*told, tools=tools))

    assert (reported[0]["name"], reported[0]["input"]) == ("StructuredOutput", {"verdict": "bad", "score": 0})
    assert (json.loads(second)["content"][0]["type"], json.loads(second)["stop_reason"]) == ("text", "end_turn")
    assert json.loads(third)["content"][0]["name"] == "StructuredOutput"
    assert [request.answered for request in read_requests(tmp_path)] == ["report", "report", "report"]


def test_a_message_reports_in_its_text_where_no_tool_takes_it(tmp_path: Path) -> None:
    """With the form of the harness, where the request has none."""
    with listening(tmp_path) as listener:
        _, text = ask(listener, MESSAGES, claude(user("go")))

    jsonschema.validate(json.loads(json.loads(text)["content"][0]["text"]), RUN_REPORT_SCHEMA)


def test_a_resumed_conversation_is_known_by_what_was_said_before(tmp_path: Path) -> None:
    """What the program inserted in the user's name is no prompt, nor is what stands beside the result of a call."""
    inserted = {"type": "text", "text": "<system-reminder>\nword two\n</system-reminder>"}
    first = {"role": "user", "content": [inserted, {"type": "text", "text": "word one"}]}
    called = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "word three"}]}
    beside = {"type": "text", "text": "word four"}
    with listening(tmp_path, r"[{report: {summary: '{remembered:word \w+}'}}]") as listener:
        told: list[dict[str, Any]] = [first, called, {"role": "user", "content": [result, beside]}, user("and?")]
        _, text = ask(listener, MESSAGES, claude(*told))

    assert json.loads(json.loads(text)["content"][0]["text"])["summary"] == "word three"
    assert (read_requests(tmp_path)[0].prompts, read_requests(tmp_path)[0].calls) == (2, 1)


def test_tokens_can_be_counted_without_an_answer(tmp_path: Path) -> None:
    """Claude Code asks for it where a conversation grows."""
    with listening(tmp_path, "[{fail: {status: 500}}]") as listener:
        _, text = ask(listener, "/v1/messages/count_tokens", claude(user("12345678")))

    assert json.loads(text) == {"input_tokens": 2}


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "authentication_error"), (503, "api_error"), (529, "overloaded_error")]
)
def test_a_message_fails_in_its_own_form(tmp_path: Path, status: int, kind: str) -> None:
    """Clients look at the type before they look at the words."""
    with listening(tmp_path, f"[{{fail: {{status: {status}, message: no}}}}]") as listener:
        answer, text = ask(listener, MESSAGES, claude(user("go"), stream=True))

    assert (answer.status, json.loads(text)) == (status, {"type": "error", "error": {"type": kind, "message": "no"}})


@pytest.mark.parametrize(("path", "write"), [(CHAT, chat), (MESSAGES, claude)], ids=["completions", "messages"])
def test_a_quota_names_its_reset_in_every_protocol(tmp_path: Path, path: str, write: Any) -> None:
    """The header is the one word that all clients know."""
    with listening(tmp_path, "[{fail: {status: 429, retry_after_seconds: 30}}]") as listener:
        answer, _ = ask(listener, path, write(user("go"), stream=True))

    assert (answer.status, answer.headers["retry-after"]) == (429, "30")


@pytest.mark.parametrize(("path", "write", "last"), [(CHAT, chat, b"[DONE]"), (MESSAGES, claude, b"message_stop")])
@pytest.mark.parametrize(("kind", "tail"), [("stream_cut", b""), ("malformed_json", b"{")])
def test_a_broken_stream_never_says_that_it_is_complete(
    tmp_path: Path, path: str, write: Any, last: bytes, kind: str, tail: bytes
) -> None:
    """What was said before came through."""
    with listening(tmp_path, f"[{{say: well}}, {{fail: {kind}}}]") as listener:
        _, text = ask(listener, path, write(user("go"), stream=True))

    assert b"well" in text
    assert last not in text
    assert text.rstrip().endswith(tail)


def test_a_model_that_thinks_says_that_it_is_there(tmp_path: Path) -> None:
    """Claude Code and OpenCode give up a stream that is quiet for five minutes, and ask again."""
    with listening(tmp_path, "[{delay: 0.1}, {invalid_report: done}]", keep_alive_seconds=0.01) as listener:
        _, message = ask(listener, MESSAGES, claude(user("go"), stream=True))
        _, completion = ask(listener, CHAT, chat(user("go"), stream=True))

    assert [event["type"] for event in events(message)][1:3] == ["ping", "ping"]
    assert completion.count(b": thinking\n\n") > 1
    assert b"done" in message
    assert b"done" in completion


def test_a_command_needs_a_shell_and_the_refusal_says_so(tmp_path: Path) -> None:
    """The author finds the reason in the agent's own error."""
    with listening(tmp_path, "[{run: ls}]") as listener:
        answer, text = ask(listener, MESSAGES, claude(user("go"), tools=[CLAUDE_REPORTER]))

    assert answer.status == 400
    assert "docs.outline, attempt 1 shall run a command" in json.loads(text)["error"]["message"]
    assert "its tools are StructuredOutput" in json.loads(text)["error"]["message"]


def test_a_key_can_say_who_asks(tmp_path: Path) -> None:
    """For programs that can be given a key and nothing else."""
    with listening(tmp_path, "[{invalid_report: '{this:job}.{this:step}.{this:attempt}'}]") as listener:
        _, one = ask(listener, CHAT, chat(user("go")), headers={"authorization": "Bearer rehearsal.docs.outline.3"})
        _, other = ask(listener, MESSAGES, claude(user("go")), headers={"x-api-key": "rehearsal.docs.outline"})

    assert json.loads(one)["choices"][0]["message"]["content"] == "docs.outline.3"
    assert json.loads(other)["content"][0]["text"] == "docs.outline.1"
