"""OpenAI's Responses protocol, which Codex speaks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from teamster.model import JsonObject
from teamster.rehearsal.scenario import Fail
from teamster.rehearsal.talk import Entry, Kind, Talk, call_of, is_inserted, object_of, talk_of, text_of
from teamster.rehearsal.tools import tools_of
from teamster.rehearsal.wire import Refusal, Reset, Spoken, Stream, event_bytes

THREAD_HEADER: Final = "thread-id"
MALFORMED_EVENT: Final = b'event: response.output_item.done\ndata: {"type": "response.output_item.done", "item": {\n\n'
_KINDS: Final = {401: "invalid_api_key", 403: "permission_denied", 429: "rate_limit_exceeded"}


class Responses:
    """Reads and writes Responses."""

    def read(self, body: Any, headers: Mapping[str, str]) -> Talk:
        """Read a request.

        Raises:
            ValueError: it is no request of this protocol.
        """
        body = object_of(body)
        items = body.get("input")
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        if not isinstance(items, list):
            raise ValueError("the request has no `input`")  # noqa: TRY004 - the client is wrong, not our code
        known = [item for item in items if isinstance(item, Mapping)]
        # Codex hands some models their tools as a part of the input.
        offered = [body.get("tools"), *(item.get("tools") for item in known if item.get("type") == "additional_tools")]
        return talk_of(
            (entry for item in known for entry in _entries(item)),
            body,
            tools=tuple(tool for listed in offered for tool in tools_of(listed)),
            schema=_schema(body),
            thread=str(body.get("prompt_cache_key") or headers.get(THREAD_HEADER, "")),
        )

    def whole(self, spoken: Spoken) -> JsonObject:
        """Write the response object, with the usage that a bill would show."""
        return {
            "id": f"resp_{spoken.identity}",
            "object": "response",
            "model": spoken.talk.model,
            "status": "completed",
            "output": _items(spoken),
            "usage": {
                "input_tokens": spoken.tokens_in,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": spoken.tokens_out,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": spoken.tokens_in + spoken.tokens_out,
            },
        }

    def stream(self, spoken: Spoken) -> Stream:
        """Write the events of a response."""
        created = {"id": f"resp_{spoken.identity}", "status": "in_progress"}
        return Stream(
            opening=_event("response.created", response=created),
            middle=b"".join(
                _event("response.output_item.done", output_index=index, item=item)
                for index, item in enumerate(_items(spoken))
            ),
            closing=_event("response.completed", response=self.whole(spoken)),
            malformed=MALFORMED_EVENT,
        )

    def refusal(self, failure: Fail, reset: Reset | None) -> Refusal:
        """Write an error."""
        return openai_refusal(failure, reset)


def openai_refusal(failure: Fail, reset: Reset | None) -> Refusal:
    """Write an error as both of OpenAI's protocols do."""
    other = "server_error" if failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    kind = _KINDS.get(failure.status, other)
    if reset is None:
        return Refusal(body={"error": {"message": failure.message, "type": kind, "code": kind}})
    if failure.status == HTTPStatus.TOO_MANY_REQUESTS:
        kind = "usage_limit_reached"  # by which agents tell a quota with a reset from one request too many
    facts = {"resets_in_seconds": reset.seconds, "resets_at": reset.at}
    return Refusal(
        body={"error": {"message": failure.message, "type": kind, "code": kind, **facts}},
        headers={"retry-after": str(reset.seconds)},
    )


def _items(spoken: Spoken) -> list[JsonObject]:
    made: list[JsonObject] = [
        {
            "type": "message",
            "id": f"msg_{spoken.identity}_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        for number, text in enumerate(spoken.texts, start=1)
    ]
    if spoken.call is not None:
        made.append(
            {
                "type": "function_call",
                "id": f"fc_{spoken.identity}",
                "call_id": spoken.call_id,
                "name": spoken.call.name,
                "arguments": json.dumps(spoken.call.arguments),
                "status": "completed",
            }
        )
    return made


def _event(kind: str, **facts: Any) -> bytes:
    return event_bytes({"type": kind, **facts}, name=kind)


def _entries(item: Mapping[str, Any]) -> Sequence[Entry]:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return _message(item)
    if kind.endswith("_output"):
        return [Entry(Kind.OUTPUT, text_of(item.get("output")))]
    return [call_of(item.get("name"))] if kind.endswith("_call") else []


def _message(item: Mapping[str, Any]) -> Sequence[Entry]:
    text = text_of(item.get("content"))
    match item.get("role"):
        case "user" if not is_inserted(text):
            return [Entry(Kind.PROMPT, text)]
        case "assistant":
            return [Entry(Kind.ANSWER, text)]
        case _:
            return []  # instructions of the program, not part of what was talked about


def _schema(body: Mapping[str, Any]) -> Any:
    match body.get("text"):
        case {"format": {"type": "json_schema", "schema": schema}}:
            return schema
        case _:
            return None
