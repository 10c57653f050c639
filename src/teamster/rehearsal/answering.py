"""One connection of the scripted model: a request comes in, a turn goes out, nothing is remembered."""

from __future__ import annotations

import json
import select
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, cast

from teamster.rehearsal.conversation import conversation_of
from teamster.rehearsal.play import Answer, BadReport, Call, Turn, decide
from teamster.rehearsal.responses import MALFORMED_EVENT, error_body, event_bytes, events, items, response
from teamster.rehearsal.scenario import Break, Fail
from teamster.rehearsal.talk import Talk, read_talk

if TYPE_CHECKING:
    from teamster.rehearsal.listening import Listener

REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024
QUIET_SECONDS_MAX: Final = 120.0
"""How long a connection may say nothing before it is closed."""

RESPONSES_PATHS: Final = {"/v1/responses", "/responses"}
MODELS_PATH: Final = "/v1/models"
HEALTH_PATH: Final = "/rehearsal/health"
STOP_PATH: Final = "/rehearsal/stop"
TOKEN_HEADER: Final = "x-teamster-rehearsal-token"  # noqa: S105 - the name of a header, not a secret

HANG_SECONDS_MAX: Final = 86_400.0
_KINDS: Final = {401: "invalid_api_key", 403: "permission_denied", 429: "rate_limit_exceeded"}


class Answering(BaseHTTPRequestHandler):
    """Reads one request and plays the scenario."""

    protocol_version = "HTTP/1.1"
    server_version = "teamster-rehearsal"
    timeout = QUIET_SECONDS_MAX

    @property
    def _listener(self) -> Listener:
        return cast("Listener", self.server)

    def do_GET(self) -> None:
        """Tell who we are; what models there are is for clients that ask first."""
        match self.path.partition("?")[0]:
            case path if path == HEALTH_PATH:
                self._send(HTTPStatus.OK, json.dumps({"is_rehearsal": True, "proof": self._listener.proof}))
            case path if path == MODELS_PATH:
                self._send(HTTPStatus.OK, json.dumps({"object": "list", "data": [], "models": []}))
            case _:
                self._refuse(HTTPStatus.NOT_FOUND, f"the scripted model knows no {self.path}")

    def do_POST(self) -> None:
        """Answer a request for a response, or end."""
        body = self._body()
        if body is None:
            return
        path = self.path.partition("?")[0]
        if path == STOP_PATH:
            self._stop()
        elif path in RESPONSES_PATHS:
            with self._listener.under_way():
                self._respond(body)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"the scripted model knows no {self.path}; it speaks Responses")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as above
        """Keep the standard library's line for each request out of the log; the journal names the attempt."""

    def _body(self) -> bytes | None:
        """Read the request whole, or refuse it."""
        length = self.headers.get("content-length", "")
        if not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the request names no length")
        elif int(length) > REQUEST_BYTES_MAX:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {REQUEST_BYTES_MAX} bytes")
        elif self.headers.get("content-encoding", "identity") != "identity":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the scripted model reads no packed requests")
        else:
            return self.rfile.read(int(length))
        return None

    def _respond(self, body: bytes) -> None:
        try:
            request = json.loads(body)
            talk = read_talk(request)
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"the request can't be read: {error}")
            return
        conversation = conversation_of({name.lower(): value for name, value in self.headers.items()})
        thread = str(request.get("prompt_cache_key", ""))
        try:
            turn = decide(self._listener.scenario.lines_for(conversation), talk, conversation)
        except BadReport as error:
            self._listener.journal.add(conversation, talk, thread=thread, answered=f"refused: {error}")
            self._refuse(HTTPStatus.BAD_REQUEST, f"rehearsal: {error}; `invalid_report` sends it on purpose")
            return
        # Before the answer, so that who has read the answer finds the line.
        self._listener.journal.add(conversation, talk, thread=thread, answered=_name(turn))
        self._play(turn, talk, identity=f"{conversation.job_id}_{conversation.step_id}_{len(talk.entries)}")

    def _play(self, turn: Turn, talk: Talk, *, identity: str) -> None:
        if isinstance(turn.ending, Fail):
            if self._waited(turn.delay_seconds):
                self._fail(turn.ending)
            return
        output = items(turn, talk, identity)
        if not talk.is_streamed and not isinstance(turn.ending, Break):
            if self._waited(turn.delay_seconds):
                self._send(HTTPStatus.OK, json.dumps(response(talk, identity, output, status="completed")))
            return
        first, *rest = (event_bytes(event) for event in events(talk, identity, output))
        self._begin_stream(first)
        if not self._waited(turn.delay_seconds):
            return
        if isinstance(turn.ending, Break):
            rest = rest[:-1]  # all but the word that it is complete
        if turn.ending is Break.MALFORMED_JSON:
            rest.append(MALFORMED_EVENT)
        self.wfile.write(b"".join(rest))
        if turn.ending is Break.HANG:
            self._waited(HANG_SECONDS_MAX)

    def _begin_stream(self, first: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store")
        self._close_after()
        self.end_headers()
        self.wfile.write(first)

    def _waited(self, seconds: float) -> bool:
        """Wait; end the connection early where its client is gone or the model is told to stop."""
        if seconds <= 0:
            return True
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP | select.POLLHUP)
        poll.register(self._listener.stop_reader, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return True
        self.close_connection = True
        return False

    def _fail(self, failure: Fail) -> None:
        kind = _KINDS.get(failure.status, "server_error" if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "")
        headers: dict[str, str] = {}
        facts: dict[str, int] = {}
        if failure.retry_after_seconds is not None:
            headers["retry-after"] = str(failure.retry_after_seconds)
            facts = self._listener.reset_facts(failure.retry_after_seconds)
            if failure.status == HTTPStatus.TOO_MANY_REQUESTS:
                kind = "usage_limit_reached"  # by which agents tell a quota with a reset from one request too many
        body = error_body(failure.message, kind or "invalid_request_error", **facts)
        self._send(failure.status, body.decode(), **headers)

    def _refuse(self, status: HTTPStatus, fact: str) -> None:
        self.close_connection = True
        self._send(status, error_body(fact, "invalid_request_error").decode())

    def _send(self, status: int, body: str, **headers: str) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self._close_after()
        self.end_headers()
        self.wfile.write(content)

    def _close_after(self) -> None:
        self.send_header("connection", "close")
        self.close_connection = True

    def _stop(self) -> None:
        if self.headers.get(TOKEN_HEADER) != self._listener.token:
            self._refuse(HTTPStatus.FORBIDDEN, "only who started the model may stop it")
            return
        self._send(HTTPStatus.OK, "{}")
        self._listener.stop()


def _name(turn: Turn) -> str:
    match turn.ending:
        case Call(name=name):
            return name
        case Answer():
            return "report"
        case Fail(status=status):
            return f"fail {status}"
        case Break() as kind:
            return kind.value
