"""The Responses protocol: a turn as the events that a client reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from teamster.model import JsonObject
from teamster.rehearsal.play import Answer, Call, Turn
from teamster.rehearsal.talk import Talk

CHARACTERS_PER_TOKEN: Final = 4
"""What a token is taken for; a scripted model has none."""

MALFORMED_EVENT: Final = b'event: response.output_item.done\ndata: {"type": "response.output_item.done", "item": {\n\n'


def items(turn: Turn, talk: Talk, identity: str) -> list[JsonObject]:
    """Return what the model says and does. The names are new in the conversation, and the same when asked again."""
    said = [*turn.said, *([turn.ending.text] if isinstance(turn.ending, Answer) else [])]
    made: list[JsonObject] = [
        {
            "type": "message",
            "id": f"msg_{identity}_{number}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        for number, text in enumerate(said, start=1)
    ]
    if isinstance(turn.ending, Call):
        made.append(
            {
                "type": "function_call",
                "id": f"fc_{identity}",
                "call_id": f"call_{talk.calls + 1}",
                "name": turn.ending.name,
                "arguments": json.dumps(turn.ending.arguments),
                "status": "completed",
            }
        )
    return made


def response(talk: Talk, identity: str, output: list[JsonObject], *, status: str) -> JsonObject:
    """Return the response object, with the usage that a bill would show."""
    spoken = sum(len(json.dumps(item)) for item in output)
    used_in, used_out = (-(-count // CHARACTERS_PER_TOKEN) for count in (talk.characters, spoken))
    return {
        "id": f"resp_{identity}",
        "object": "response",
        "model": talk.model,
        "status": status,
        "output": output,
        "usage": {
            "input_tokens": used_in,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": used_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used_in + used_out,
        },
    }


def events(talk: Talk, identity: str, output: list[JsonObject]) -> Iterator[JsonObject]:
    """Return the events of a whole streamed response."""
    yield {"type": "response.created", "response": {"id": f"resp_{identity}", "status": "in_progress"}}
    for index, item in enumerate(output):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {
        "type": "response.completed",
        "response": response(talk, identity, output, status="completed"),
    }


def event_bytes(event: JsonObject) -> bytes:
    """Write one server-sent event."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(message: str, kind: str, **more: Any) -> bytes:
    """Write an error as the protocol does."""
    return json.dumps({"error": {"message": message, "type": kind, "code": kind, **more}}).encode()
