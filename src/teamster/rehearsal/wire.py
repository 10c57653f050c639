"""What the three protocols have in common: a request is read, a turn is written, whole or as a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from teamster.model import JsonObject
from teamster.rehearsal.play import Answer, Call, Turn
from teamster.rehearsal.scenario import Fail
from teamster.rehearsal.talk import Talk, tokens_of


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A turn on its way out. `identity` is new in the conversation, and the same when the same is asked again."""

    turn: Turn
    talk: Talk
    identity: str

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is said, the last word included."""
        return (*self.turn.said, *((self.turn.ending.text,) if isinstance(self.turn.ending, Answer) else ()))

    @property
    def call(self) -> Call | None:
        """What the agent shall do then."""
        return self.turn.ending if isinstance(self.turn.ending, Call) else None

    @property
    def call_id(self) -> str:
        """The name of the call."""
        return f"call_{self.talk.calls + 1}"

    @cached_property
    def tokens_in(self) -> int:
        """What a bill would count of the conversation."""
        return self.talk.tokens

    @cached_property
    def tokens_out(self) -> int:
        """What a bill would count of the answer."""
        called = 0 if self.call is None else len(json.dumps(self.call.arguments))
        return tokens_of(sum(map(len, self.texts)) + called)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A streamed answer: how it begins, what is said, and the word that it is complete.

    `malformed` stands where the last part should, in an answer that can't be read. `thinking` says that the model is
    still there: programs give up a stream that is quiet for some minutes.
    """

    opening: bytes
    middle: bytes
    closing: bytes
    malformed: bytes
    thinking: bytes = b": thinking\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """When a quota that is used up is there again, in both ways that services say it."""

    seconds: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error: its body, and the headers that belong to it."""

    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


class Wire(Protocol):
    """One protocol."""

    def read(self, body: Any, headers: Mapping[str, str]) -> Talk:
        """Read a request; the names of its headers are in lower case.

        Raises:
            ValueError: it is no request of this protocol.
        """
        ...

    def whole(self, spoken: Spoken) -> JsonObject:
        """Write an answer in one piece."""
        ...

    def stream(self, spoken: Spoken) -> Stream:
        """Write an answer as server-sent events."""
        ...

    def refusal(self, failure: Fail, reset: Reset | None) -> Refusal:
        """Write an error."""
        ...


def event_bytes(data: JsonObject, *, name: str | None = None) -> bytes:
    """Write one server-sent event."""
    begin = "" if name is None else f"event: {name}\n"
    return f"{begin}data: {json.dumps(data)}\n\n".encode()
