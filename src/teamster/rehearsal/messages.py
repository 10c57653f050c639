"""Anthropic's Messages protocol, which Claude Code speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from teamster.model import JsonObject
from teamster.rehearsal.scenario import Fail
from teamster.rehearsal.talk import Entry, Kind, Talk, call_of, is_inserted, object_of, talk_of, text_of
from teamster.rehearsal.tools import REPORT_NAME, tools_of
from teamster.rehearsal.wire import Refusal, Reset, Spoken, Stream, event_bytes

MALFORMED_EVENT: Final = b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {\n\n'
THREAD_HEADER: Final = "x-claude-code-session-id"
_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    411: "invalid_request_error",
    413: "request_too_large",
    415: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """Reads and writes Messages."""

    def read(self, body: Any, headers: Mapping[str, str]) -> Talk:
        """Read a request.

        Raises:
            ValueError: it is no request of this protocol.
        """
        body = object_of(body)
        messages = body.get("messages")
        if not isinstance(messages, list):
            raise ValueError("the request has no `messages`")  # noqa: TRY004 - the client is wrong, not our code
        return talk_of(
            _entries(messages),
            body,
            tools=tools_of(body.get("tools")),
            schema=_schema(body),
            thread=headers.get(THREAD_HEADER, ""),
            instructions=text_of(body.get("system")),
        )

    def whole(self, spoken: Spoken) -> JsonObject:
        """Write the message object, with the usage that a bill would show."""
        return _message(spoken, content=_blocks(spoken), reason=_reason(spoken), tokens_out=spoken.tokens_out)

    def stream(self, spoken: Spoken) -> Stream:
        """Write the events of a message."""
        delta = {"stop_reason": _reason(spoken), "stop_sequence": None}
        begun = _message(spoken, content=[], reason=None, tokens_out=1)
        return Stream(
            opening=_event("message_start", message=begun),
            middle=b"".join(_block_events(spoken)),
            closing=_event("message_delta", delta=delta, usage={"output_tokens": spoken.tokens_out})
            + _event("message_stop"),
            malformed=MALFORMED_EVENT,
            thinking=_event("ping"),
        )

    def refusal(self, failure: Fail, reset: Reset | None) -> Refusal:
        """Write an error."""
        kind = _KINDS.get(failure.status, "api_error")
        headers = {} if reset is None else {"retry-after": str(reset.seconds)}
        if reset is not None and failure.status == HTTPStatus.TOO_MANY_REQUESTS:
            headers["anthropic-ratelimit-unified-reset"] = str(reset.at)
        return Refusal(body={"type": "error", "error": {"type": kind, "message": failure.message}}, headers=headers)


def _message(spoken: Spoken, *, content: list[JsonObject], reason: str | None, tokens_out: int) -> JsonObject:
    return {
        "id": f"msg_{spoken.identity}",
        "type": "message",
        "role": "assistant",
        "model": spoken.talk.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": spoken.tokens_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": tokens_out,
        },
    }


def _blocks(spoken: Spoken) -> list[JsonObject]:
    blocks: list[JsonObject] = [{"type": "text", "text": text} for text in spoken.texts]
    if spoken.call is not None:
        called = {"id": f"toolu_{spoken.call_id}", "name": spoken.call.name, "input": dict(spoken.call.arguments)}
        blocks.append({"type": "tool_use", **called})
    return blocks


def _block_events(spoken: Spoken) -> Iterator[bytes]:
    for index, block in enumerate(_blocks(spoken)):
        if block["type"] == "text":
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=begun)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)


def _event(kind: str, **facts: Any) -> bytes:
    return event_bytes({"type": kind, **facts}, name=kind)


def _reason(spoken: Spoken) -> str:
    return "end_turn" if spoken.call is None else "tool_use"


def _entries(messages: list[Any]) -> Iterator[Entry]:
    reports: set[str] = set()  # the calls by which a report was given
    for message in messages:
        match message:
            case {"role": "user", "content": content}:
                yield from _from_user(_parts(content), reports)
            case {"role": "assistant", "content": content}:
                for part in _parts(content):
                    if part.get("type") == "tool_use":
                        if part.get("name") == REPORT_NAME:
                            reports.add(str(part.get("id")))
                        yield call_of(part.get("name"))
                    elif part.get("text"):
                        yield Entry(Kind.ANSWER, str(part["text"]))
            case _:
                pass


def _from_user(parts: list[Mapping[str, Any]], reports: set[str]) -> Iterator[Entry]:
    """Read what the user said, or what came of calls: what stands beside results is the program's own."""
    results = [part for part in parts if part.get("type") == "tool_result"]
    for part in results:
        is_taken = part.get("tool_use_id") in reports and not part.get("is_error")
        yield Entry(Kind.REPORTED if is_taken else Kind.OUTPUT, text_of(part.get("content")))
    said = [text for part in parts if (text := str(part.get("text", ""))) and not is_inserted(text)]
    if said and not results:
        yield Entry(Kind.PROMPT, "\n".join(said))


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []


def _schema(body: Mapping[str, Any]) -> Any:
    match body:
        case {"output_config": {"format": {"type": "json_schema", "schema": schema}}}:
            return schema
        case {"output_format": {"type": "json_schema", "schema": schema}}:
            return schema
        case _:
            return None
