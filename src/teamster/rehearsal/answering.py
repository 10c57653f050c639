"""One connection of the scripted model: a request comes in, a turn goes out, nothing is remembered."""

from __future__ import annotations

import json
import select
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, cast

from teamster.rehearsal.completions import ChatCompletions
from teamster.rehearsal.conversation import Conversation, conversation_of
from teamster.rehearsal.messages import Messages
from teamster.rehearsal.play import Answer, Call, Turn, decide
from teamster.rehearsal.reports import Unplayable
from teamster.rehearsal.responses import Responses
from teamster.rehearsal.scenario import Break, Fail
from teamster.rehearsal.talk import Talk
from teamster.rehearsal.tools import REPORT_NAME
from teamster.rehearsal.wire import Spoken, Stream, Wire

if TYPE_CHECKING:
    from teamster.rehearsal.listening import Listener

REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024
QUIET_SECONDS_MAX: Final = 120.0
"""How long a connection may say nothing before it is closed."""

WIRES: Final[Mapping[str, Wire]] = {
    "/v1/responses": Responses(),
    "/v1/chat/completions": ChatCompletions(),
    "/v1/messages": Messages(),
}
"""Each protocol, and where it is spoken."""

COUNT_PATH: Final = "/v1/messages/count_tokens"
MODELS_PATH: Final = "/v1/models"
HEALTH_PATH: Final = "/rehearsal/health"
STOP_PATH: Final = "/rehearsal/stop"
TOKEN_HEADER: Final = "x-teamster-rehearsal-token"  # noqa: S105 - the name of a header, not a secret

LAST_CHUNK: Final = b"0\r\n\r\n"
"""By which a client tells a whole answer from a cut one."""

HANG_SECONDS_MAX: Final = 86_400.0


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
        """Answer a request for a model's turn, or end."""
        body = self._body()
        if body is None:
            return
        path = self._path()
        if path == STOP_PATH:
            self._stop()
        elif path in WIRES or path == COUNT_PATH:
            with self._listener.under_way():
                self._respond(path, body)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, f"the scripted model knows no {path}; it speaks {', '.join(WIRES)}")

    def do_HEAD(self) -> None:
        """Tell who only asks whether somebody is there."""
        self._send(HTTPStatus.OK, "")

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

    def _path(self) -> str:
        path = self.path.partition("?")[0]
        return path if path.startswith(("/v1/", "/rehearsal/")) else f"/v1{path}"

    def _respond(self, path: str, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        wire = WIRES[path.removesuffix("/count_tokens")]
        try:
            talk = wire.read(json.loads(body), headers)
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"the request can't be read: {error}")
            return
        if path == COUNT_PATH:
            self._send(HTTPStatus.OK, json.dumps({"input_tokens": talk.tokens}))
            return
        conversation, scenario = conversation_of(headers), self._listener.scenario
        try:
            turn = decide(scenario.lines_for(conversation), talk, conversation, scenario.draw)
        except Unplayable as error:
            self._listener.journal.add(conversation, talk, answered=f"refused: {error}")
            self._refuse(HTTPStatus.BAD_REQUEST, f"rehearsal: {error}")
            return
        # Before the answer, so that who has read the answer finds the line.
        self._listener.journal.add(conversation, talk, answered="errand" if talk.is_errand else _name(turn))
        self._play(wire, Spoken(turn=turn, talk=talk, identity=_identity(conversation, talk)))

    def _play(self, wire: Wire, spoken: Spoken) -> None:
        turn = spoken.turn
        if spoken.talk.is_streamed and not isinstance(turn.ending, Fail):
            self._play_stream(turn, wire.stream(spoken))
        elif self._waited(turn.delay_seconds):
            match turn.ending:
                case Fail() as failure:
                    self._fail(failure, wire)
                case Break() as kind:
                    self._break_off(kind, json.dumps(wire.whole(spoken)))
                case _:
                    self._send(HTTPStatus.OK, json.dumps(wire.whole(spoken)))

    def _break_off(self, kind: Break, whole: str) -> None:
        """Send the half of an answer in one piece, or nothing at all."""
        self.close_connection = True
        half = whole[: len(whole) // 2]
        if kind is Break.HANG:
            self._waited(HANG_SECONDS_MAX)
        else:
            self._send(HTTPStatus.OK, half, length=len(whole if kind is Break.STREAM_CUT else half))

    def _play_stream(self, turn: Turn, stream: Stream) -> None:
        self._begin_stream(stream.opening)
        if not self._thought(turn.delay_seconds, stream.thinking):
            return
        # What breaks off says all but the word that it is complete.
        last = {Break.MALFORMED_JSON: stream.malformed, Break.STREAM_CUT: b"", Break.HANG: b""}
        self._write_part(stream.middle + (last[turn.ending] if isinstance(turn.ending, Break) else stream.closing))
        if turn.ending is Break.HANG:
            self._waited(HANG_SECONDS_MAX)
        elif turn.ending is not Break.STREAM_CUT:
            self.wfile.write(LAST_CHUNK)

    def _begin_stream(self, first: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store")
        self.send_header("transfer-encoding", "chunked")
        self._close_after()
        self.end_headers()
        self._write_part(first)

    def _write_part(self, part: bytes) -> None:
        if part:  # an empty chunk would be the last
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))

    def _thought(self, seconds: float, thinking: bytes) -> bool:
        """Wait, and say now and then that somebody is there."""
        while seconds > (pause := self._listener.keep_alive_seconds):
            if not self._waited(pause):
                return False
            self._write_part(thinking)
            seconds -= pause
        return self._waited(seconds)

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

    def _fail(self, failure: Fail, wire: Wire) -> None:
        seconds = failure.retry_after_seconds
        refusal = wire.refusal(failure, None if seconds is None else self._listener.reset(seconds))
        self._send(failure.status, json.dumps(refusal.body), refusal.headers)

    def _refuse(self, status: HTTPStatus, fact: str) -> None:
        self.close_connection = True
        wire = WIRES.get(self._path().removesuffix("/count_tokens"), WIRES["/v1/responses"])
        self._send(status, json.dumps(wire.refusal(Fail(status, fact), None).body))

    def _send(
        self, status: int, body: str, headers: Mapping[str, str] | None = None, *, length: int | None = None
    ) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content) if length is None else length))
        for name, value in (headers or {}).items():
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


def _identity(conversation: Conversation, talk: Talk) -> str:
    return f"{conversation.job_id}_{conversation.step_id}_{len(talk.entries)}"


def _name(turn: Turn) -> str:
    match turn.ending:
        case Call(name=name) if name == REPORT_NAME:
            return "report"
        case Call(name=name):
            return name
        case Answer():
            return "report"
        case Fail(status=status):
            return f"fail {status}"
        case Break() as kind:
            return kind.value
