"""OpenAI's Chat Completions protocol, which OpenCode and most other programs speak."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from teamster.model import JsonObject
from teamster.rehearsal.responses import openai_refusal
from teamster.rehearsal.scenario import Fail
from teamster.rehearsal.talk import Entry, Kind, Talk, call_of, is_inserted, object_of, talk_of, text_of
from teamster.rehearsal.tools import tools_of
from teamster.rehearsal.wire import Refusal, Reset, Spoken, Stream, event_bytes

MALFORMED_EVENT: Final = b'data: {"object": "chat.completion.chunk", "choices": [{\n\n'
DONE: Final = b"data: [DONE]\n\n"
THREAD_HEADER: Final = "x-session-id"
CREATED_AT: Final = 0
"""The protocol wants a time; the same question gets the same answer, so none is told."""


class ChatCompletions:
    """Reads and writes Chat Completions."""

    def read(self, body: Any, headers: Mapping[str, str]) -> Talk:
        """Read a request.

        Raises:
            ValueError: it is no request of this protocol.
        """
        body = object_of(body)
        messages = body.get("messages")
        if not isinstance(messages, list):
            raise ValueError("the request has no `messages`")  # noqa: TRY004 - the client is wrong, not our code
        known = [message for message in messages if isinstance(message, Mapping)]
        options = body.get("stream_options")
        return talk_of(
            (entry for message in known for entry in _entries(message)),
            body,
            tools=tools_of(body.get("tools")),
            schema=_schema(body),
            thread=headers.get(THREAD_HEADER, ""),
            instructions=next((text_of(one.get("content")) for one in known if one.get("role") == "system"), ""),
            wants_usage=isinstance(options, Mapping) and bool(options.get("include_usage")),
        )

    def whole(self, spoken: Spoken) -> JsonObject:
        """Write the completion object, with the usage that a bill would show."""
        message: JsonObject = {"role": "assistant", "content": "\n\n".join(spoken.texts) or None}
        if spoken.call is not None:
            message["tool_calls"] = [_call(spoken)]
        choice = {"index": 0, "message": message, "finish_reason": _reason(spoken)}
        return {**_head(spoken, "chat.completion"), "choices": [choice], "usage": _usage(spoken)}

    def stream(self, spoken: Spoken) -> Stream:
        """Write the chunks of a completion."""
        closing = _chunk(spoken, {}, finish_reason=_reason(spoken))
        if spoken.talk.wants_usage:
            usage = {**_head(spoken, "chat.completion.chunk"), "choices": [], "usage": _usage(spoken)}
            closing += event_bytes(usage)
        return Stream(
            opening=_chunk(spoken, {"role": "assistant", "content": ""}),
            middle=b"".join(_chunk(spoken, delta) for delta in _deltas(spoken)),
            closing=closing + DONE,
            malformed=MALFORMED_EVENT,
        )

    def refusal(self, failure: Fail, reset: Reset | None) -> Refusal:
        """Write an error."""
        return openai_refusal(failure, reset)


def _deltas(spoken: Spoken) -> Iterator[JsonObject]:
    for index, text in enumerate(spoken.texts):
        yield {"content": f"\n\n{text}" if index else text}
    if spoken.call is not None:
        yield {"tool_calls": [{"index": 0, **_call(spoken)}]}


def _call(spoken: Spoken) -> JsonObject:
    assert spoken.call is not None
    function = {"name": spoken.call.name, "arguments": json.dumps(spoken.call.arguments)}
    return {"id": spoken.call_id, "type": "function", "function": function}


def _reason(spoken: Spoken) -> str:
    return "stop" if spoken.call is None else "tool_calls"


def _head(spoken: Spoken, kind: str) -> JsonObject:
    return {
        "id": f"chatcmpl_{spoken.identity}",
        "object": kind,
        "created": CREATED_AT,
        "model": spoken.talk.model,
    }


def _chunk(spoken: Spoken, delta: JsonObject, *, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return event_bytes({**_head(spoken, "chat.completion.chunk"), "choices": [choice]})


def _usage(spoken: Spoken) -> JsonObject:
    return {
        "prompt_tokens": spoken.tokens_in,
        "completion_tokens": spoken.tokens_out,
        "total_tokens": spoken.tokens_in + spoken.tokens_out,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _entries(message: Mapping[str, Any]) -> Sequence[Entry]:
    text = text_of(message.get("content"))
    match message.get("role"):
        case "user" if not is_inserted(text):
            return [Entry(Kind.PROMPT, text)]
        case "tool":
            return [Entry(Kind.OUTPUT, text)]
        case "assistant":
            said = [Entry(Kind.ANSWER, text)] if text else []
            return [*said, *(call_of(name) for name in _called(message.get("tool_calls")))]
        case _:
            return []  # instructions of the program, not part of what was talked about


def _called(calls: Any) -> Iterator[Any]:
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": name}}:
                yield name
            case _:
                yield None


def _schema(body: Mapping[str, Any]) -> Any:
    match body.get("response_format"):
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return schema
        case _:
            return None
