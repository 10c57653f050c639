"""The model on the wire, whatever is spoken: answered, failed, let go, refused."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from rehearsal.speaking import ANSWER_SECONDS_MAX, HEADERS, SHELL, ask, events, listening
from teamster.kit import ManualClock
from teamster.rehearsal.answering import LAST_CHUNK, REQUEST_BYTES_MAX
from teamster.rehearsal.journal import read_requests


def test_a_streamed_answer_is_a_row_of_events(tmp_path: Path) -> None:
    """Created, what was said, what is called, completed with its usage."""
    with listening(tmp_path, "[{say: hello}, {run: ls}]") as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go", "stream": True, "model": "m", "tools": [SHELL]})

    created, said, called, completed = events(text)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    assert created["type"] == "response.created"
    assert said["item"]["content"][0]["text"] == "hello"
    assert called["item"]["name"] == "exec_command"
    assert json.loads(called["item"]["arguments"])["cmd"] == "ls"
    assert completed["type"] == "response.completed"
    assert completed["response"]["id"] == created["response"]["id"]
    assert completed["response"]["usage"]["total_tokens"] > 0


def test_the_same_question_gets_the_same_answer_again(tmp_path: Path) -> None:
    """Nothing is remembered: a client that asks again, after whatever happened, is where it was."""
    with listening(tmp_path, "[{say: hello}, {run: ls}]") as listener:
        first, second = (
            ask(listener, "/v1/responses", {"input": "go", "stream": True, "tools": [SHELL]})[1] for _ in range(2)
        )

    assert first == second


def test_an_answer_can_be_had_in_one_piece(tmp_path: Path) -> None:
    """Not every client streams."""
    with listening(tmp_path) as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go"})

    assert answer.status == 200
    assert json.loads(text)["output"][0]["content"][0]["text"].startswith('{"schema_version"')


def test_a_quota_says_when_it_is_there_again(tmp_path: Path) -> None:
    """In the header that every client knows, and in the body that Codex reads."""
    with listening(tmp_path, "[{fail: {status: 429, message: slow down, retry_after_seconds: 30}}]") as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go", "stream": True})

    reset = int(ManualClock().now().wall.timestamp()) + 30
    assert (answer.status, answer.headers["retry-after"]) == (429, "30")
    assert json.loads(text)["error"] == {
        "message": "slow down",
        "type": "usage_limit_reached",
        "code": "usage_limit_reached",
        "resets_in_seconds": 30,
        "resets_at": reset,
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "invalid_api_key"), (429, "rate_limit_exceeded"), (500, "server_error"), (404, "invalid_request_error")],
)
def test_a_failure_has_the_kind_of_a_service(tmp_path: Path, status: int, kind: str) -> None:
    """Clients look at it before they look at the words."""
    with listening(tmp_path, f"[{{fail: {{status: {status}}}}}]") as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go"})

    assert (answer.status, json.loads(text)["error"]["type"]) == (status, kind)


@pytest.mark.parametrize(("kind", "tail"), [("stream_cut", b""), ("malformed_json", b'"item": {')])
def test_a_broken_stream_ends_without_its_last_word(tmp_path: Path, kind: str, tail: bytes) -> None:
    """What was said before it came through."""
    with listening(tmp_path, f"[{{say: well}}, {{fail: {kind}}}]") as listener:
        _, text = ask(listener, "/v1/responses", {"input": "go", "stream": True})

    assert b"well" in text
    assert b"response.completed" not in text
    assert text.rstrip().endswith(tail)


@pytest.mark.parametrize(("kind", "is_short"), [("stream_cut", True), ("malformed_json", False)])
def test_an_answer_in_one_piece_breaks_off_too(tmp_path: Path, kind: str, *, is_short: bool) -> None:
    """Claude Code asks unstreamed where a stream was cut: it gets no other answer than the script's."""
    with listening(tmp_path, f"[{{say: well}}, {{fail: {kind}}}]") as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go"})

    assert answer.status == 200
    assert (len(text) < int(answer.headers["content-length"])) == is_short
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(text)


@pytest.mark.parametrize("moves", ["[{fail: hang}]", "[{delay: 3600}]"])
def test_who_waits_is_let_go_when_the_model_ends(tmp_path: Path, moves: str) -> None:
    """An hour's delay must not keep a process for an hour."""
    with (
        listening(tmp_path, moves) as listener,
        socket.create_connection(("127.0.0.1", listener.server_port)) as client,
    ):
        client.settimeout(ANSWER_SECONDS_MAX)
        body = json.dumps({"input": "go", "stream": True})
        head = "".join(f"{name}: {value}\r\n" for name, value in {**HEADERS, "content-length": str(len(body))}.items())
        client.sendall(f"POST /v1/responses HTTP/1.1\r\nhost: x\r\n{head}\r\n{body}".encode())
        received = b""
        while b"response.created" not in received:
            received += client.recv(65_536)

        listener.stop()

        while chunk := client.recv(65_536):
            received += chunk

    assert b"response.completed" not in received


def test_a_cut_or_a_hang_with_nothing_said_is_no_end(tmp_path: Path) -> None:
    """A client that takes it for a whole answer would ask again at once, without an end."""
    body = json.dumps({"input": "go", "stream": True})
    for moves, is_closed in (("[{fail: stream_cut}]", True), ("[{fail: hang}]", False)):
        with (
            listening(tmp_path, moves) as listener,
            socket.create_connection(("127.0.0.1", listener.server_port)) as client,
        ):
            client.settimeout(ANSWER_SECONDS_MAX)
            head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
            head += f"content-length: {len(body)}\r\n"
            client.sendall(f"POST /v1/responses HTTP/1.1\r\nhost: x\r\n{head}\r\n{body}".encode())
            received = b""
            while b"response.created" not in received:
                received += client.recv(65_536)
            if not is_closed:
                listener.stop()
            while chunk := client.recv(65_536):
                received += chunk

        assert b"transfer-encoding: chunked" in received
        assert not received.endswith(LAST_CHUNK)


def test_a_client_that_goes_away_ends_its_own_wait(tmp_path: Path) -> None:
    """A killed agent's delay is over: the thread is free, and the model can become idle."""
    with listening(tmp_path, "[{delay: 3600}]") as listener:
        with socket.create_connection(("127.0.0.1", listener.server_port)) as client:
            client.settimeout(ANSWER_SECONDS_MAX)
            head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
            body = '{"input": "go", "stream": true}'
            client.sendall(
                f"POST /v1/responses HTTP/1.1\r\nhost: x\r\n{head}content-length: {len(body)}\r\n\r\n{body}".encode()
            )
            assert client.recv(1)
            threads = [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]
            assert threads

        for thread in threads:
            thread.join(ANSWER_SECONDS_MAX)

        assert not any(thread.is_alive() for thread in threads)


def test_every_request_is_in_the_journal_before_its_answer(tmp_path: Path) -> None:
    """With who asked, which conversation it was, and what came of it."""
    with listening(tmp_path, "[{fail: {status: 500}}]") as listener:
        ask(listener, "/v1/responses", {"input": "go", "prompt_cache_key": "thread-1"})
        ask(listener, "/v1/responses", {"input": "and?"}, headers={})

    first, second = read_requests(tmp_path)
    assert (first.job_id, first.step_id, first.thread, first.asked) == ("docs", "outline", "thread-1", "go")
    assert first.answered == "fail 500"
    assert (second.job_id, second.answered) == ("-", "report")


def test_a_report_that_cannot_be_made_is_a_plain_refusal(tmp_path: Path) -> None:
    """The author finds the reason in the agent's own error."""
    with listening(tmp_path, "[{report: {status: fine}}]") as listener:
        answer, text = ask(listener, "/v1/responses", {"input": "go"})

    assert answer.status == 400
    assert "does not fit the output schema: status" in json.loads(text)["error"]["message"]
    assert read_requests(tmp_path)[0].answered.startswith("refused: ")


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        pytest.param("/v1/embeddings", {}, {}, 404, id="another-protocol"),
        pytest.param("/v1/chat/completions", {}, {}, 400, id="no-messages"),
        pytest.param("/v1/messages", {"messages": "x"}, {}, 400, id="no-list-of-messages"),
        pytest.param("/v1/responses", b"{", {}, 400, id="no-json"),
        pytest.param("/v1/responses", b"[" * 200_000, {}, 400, id="too-deep"),
        pytest.param("/v1/responses", [], {}, 400, id="no-object"),
        pytest.param("/v1/responses", {}, {"content-encoding": "zstd"}, 415, id="packed"),
        pytest.param("/v1/responses", b"", {"content-length": str(REQUEST_BYTES_MAX + 1)}, 413, id="too-large"),
        pytest.param("/v1/responses", b"", {"content-length": "many"}, 411, id="no-length"),
        pytest.param("/rehearsal/stop", {}, {}, 403, id="stop-without-the-token"),
    ],
)
def test_what_it_does_not_speak_is_refused(
    tmp_path: Path, path: str, body: Any, headers: dict[str, str], status: int
) -> None:
    """And it goes on answering others."""
    with listening(tmp_path) as listener:
        answer, text = ask(listener, path, body, headers=headers)

        assert answer.status == status
        assert json.loads(text)["error"]["message"]
        assert ask(listener, "/v1/responses", {"input": "go"})[0].status == 200


def test_it_tells_what_it_is(tmp_path: Path) -> None:
    """To who finds its port in a record, and to clients that ask for models first; its token it tells nobody."""
    with listening(tmp_path) as listener:
        _, health = ask(listener, "/rehearsal/health", method="GET", body=b"")
        models, _ = ask(listener, "/v1/models?x=1", method="GET", body=b"")
        other, _ = ask(listener, "/index.html", method="GET", body=b"")
        there, nothing = ask(listener, "/", method="HEAD", body=b"")

    assert json.loads(health)["is_rehearsal"] is True
    assert b"secret" not in health
    assert (models.status, other.status) == (200, 404)
    assert (there.status, nothing) == (200, b"")
