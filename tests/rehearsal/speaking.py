"""A scripted model in this process, and a plain HTTP client that asks it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from teamster.kit import ManualClock
from teamster.rehearsal.conversation import ATTEMPT_HEADER, JOB_HEADER, STEP_HEADER
from teamster.rehearsal.journal import REQUESTS_NAME, Journal
from teamster.rehearsal.listening import Listener
from teamster.rehearsal.reading import load_scenario

SHELL = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {"cmd": {}}}}
BASH = {"command": {"type": "string"}, "description": {"type": "string"}, "timeout": {"type": "number"}}
CHAT_SHELL = {
    "type": "function",
    "function": {"name": "bash", "parameters": {"type": "object", "properties": BASH, "required": ["command"]}},
}
CLAUDE_SHELL = {"name": "Bash", "input_schema": {"type": "object", "properties": BASH, "required": ["command"]}}
ANSWER_SECONDS_MAX = 20.0
HEADERS = {JOB_HEADER: "docs", STEP_HEADER: "outline", ATTEMPT_HEADER: "1"}


@contextmanager
def listening(folder: Path, moves: str = "[]", *, keep_alive_seconds: float = 15.0) -> Iterator[Listener]:
    """Serve a script from a thread, as long as the block lasts."""
    clock = ManualClock()
    listener = Listener(
        load_scenario(f"rules: [{{match: docs.outline, moves: {moves}}}]", "s.yaml"),
        port=0,
        token="secret",  # noqa: S106 - it keeps nothing
        clock=clock,
        journal=Journal(folder / REQUESTS_NAME, clock=clock),
        keep_alive_seconds=keep_alive_seconds,
    )
    thread = threading.Thread(target=listener.serve, kwargs={"idle_seconds_max": 3600.0})
    thread.start()
    try:
        yield listener
    finally:
        listener.stop()
        thread.join(ANSWER_SECONDS_MAX)
        assert not thread.is_alive()


def ask(
    listener: Listener, path: str, body: Any = None, *, method: str = "POST", headers: Mapping[str, str] = HEADERS
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send one request and read the whole answer, or all that came of it."""
    connection = http.client.HTTPConnection("127.0.0.1", listener.server_port, timeout=ANSWER_SECONDS_MAX)
    try:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, body=content, headers=dict(headers))
        answer = connection.getresponse()
        try:
            return answer, answer.read()
        except http.client.IncompleteRead as cut:
            return answer, cut.partial
    finally:
        connection.close()


def events(text: bytes) -> list[Any]:
    """Read server-sent events."""
    return [json.loads(block.split(b"data: ", 1)[1]) for block in text.split(b"\n\n") if block]
