"""Many conversations at once: each by its own script, none lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from rehearsal.conftest import StartModel
from rehearsal.speaking import ANSWER_SECONDS_MAX, CHAT_SHELL, CLAUDE_SHELL, SHELL
from teamster.rehearsal import Model
from teamster.rehearsal.conversation import JOB_HEADER, STEP_HEADER

CONVERSATIONS = 200
TURNS = 3
BODIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/v1/responses", {"tools": [SHELL]}),
    ("/v1/chat/completions", {"tools": [CHAT_SHELL]}),
    ("/v1/messages", {"tools": [CLAUDE_SHELL]}),
)


def request_of(number: int, turn: int) -> bytes:
    """Return the request of a conversation after so many calls, in one protocol or the other."""
    path, body = BODIES[number % len(BODIES)]
    called: list[dict[str, Any]]
    match path:
        case "/v1/responses":
            called = [{"type": "function_call", "name": "exec_command"}, {"type": "function_call_output", "output": ""}]
        case "/v1/chat/completions":
            function = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            called = [{"role": "assistant", "tool_calls": [function]}, {"role": "tool", "content": ""}]
        case _:
            use = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "c", "content": ""}
            called = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    told = [{"role": "user", "content": "go"}, *called * turn]
    content = json.dumps({**body, "stream": True, "input" if path == "/v1/responses" else "messages": told}).encode()
    headers = f"host: x\r\n{JOB_HEADER}: job-{number}\r\n{STEP_HEADER}: only\r\ncontent-length: {len(content)}\r\n"
    return f"POST {path} HTTP/1.1\r\n{headers}\r\n".encode() + content


async def asked_at_once(model: Model, turn: int) -> list[bytes]:
    """Send all requests but for their last byte, then the rest of all: every one is held open with every other."""
    host, port = model.base_url.removeprefix("http://").removesuffix("/v1").split(":")
    opened = await asyncio.gather(*(asyncio.open_connection(host, int(port)) for _ in range(CONVERSATIONS)))
    requests = [request_of(number, turn) for number in range(CONVERSATIONS)]
    for (_, writer), request in zip(opened, requests, strict=True):
        writer.write(request[:-1])
    await asyncio.gather(*(writer.drain() for _, writer in opened))
    for (_, writer), request in zip(opened, requests, strict=True):
        writer.write(request[-1:])
    answers = await asyncio.gather(*(reader.read() for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    return answers


def test_two_hundred_conversations_at_once_each_follow_their_own_script(start: StartModel) -> None:
    """In all three protocols side by side, turn by turn, without an error."""
    rules = "\n".join(
        f"  - {{match: job-{number}.only, moves: [{{run: one-{number}-}}, {{run: two-{number}-}}, "
        f"{{invalid_report: 'end-{number}-'}}]}}"
        for number in range(CONVERSATIONS)
    )
    model = start(f"rules:\n{rules}")

    for turn, words in enumerate(("one-{}-", "two-{}-", "end-{}-")):
        answers = asyncio.run(asyncio.wait_for(asked_at_once(model, turn), ANSWER_SECONDS_MAX))
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
        for number, answer in enumerate(answers):
            assert words.format(number).encode() in answer
            assert b"response.completed" in answer or b"[DONE]" in answer or b"message_stop" in answer

    assert len(model.requests) == CONVERSATIONS * TURNS
    assert {request.job_id for request in model.requests} == {f"job-{number}" for number in range(CONVERSATIONS)}
