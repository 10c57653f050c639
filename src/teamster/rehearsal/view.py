"""What a script may look at, at one place of a conversation: for its conditions and its placeholders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.draw import Draw
from teamster.rehearsal.moves import PLACEHOLDER
from teamster.rehearsal.scenario import Delay, Line
from teamster.rehearsal.talk import Talk


class View:
    """One place. What was said before it is put together only where somebody looks: a conversation may be long."""

    def __init__(self, talk: Talk, position: int, conversation: Conversation, draw: Draw) -> None:
        self._talk = talk
        self._position = position
        self._conversation = conversation
        self._draw = draw

    @cached_property
    def _seen(self) -> str:
        return self._talk.before(self._position)

    @cached_property
    def _remembered(self) -> str:
        return self._talk.remembered

    @cached_property
    def _this(self) -> Mapping[str, str]:
        return {
            "job": self._conversation.job_id,
            "step": self._conversation.step_id,
            "attempt": str(self._conversation.attempt_number),
            "call": str(self._talk.calls + 1),
            "random": self._draw.digits("random", self._conversation, self._position),
        }

    def seconds(self, delay: Delay) -> float:
        """Return how long to wait."""
        share = self._draw.share("delay", self._conversation, self._position)
        return delay.seconds + share * (delay.seconds_max - delay.seconds)

    def allows(self, line: Line) -> bool:
        """Tell whether a move is made here."""
        return not line.conditions or all(
            condition.holds(seen=self._seen, remembered=self._remembered) for condition in line.conditions
        )

    def filled(self, text: str) -> str:
        """Fill the placeholders of a text."""
        return PLACEHOLDER.sub(self._found, text)

    def filled_in(self, value: Any) -> Any:
        """Fill the placeholders of all texts in a value."""
        if isinstance(value, str):
            return self.filled(value)
        if isinstance(value, Mapping):
            return {name: self.filled_in(part) for name, part in value.items()}
        return [self.filled_in(part) for part in value] if isinstance(value, list) else value

    def _found(self, placeholder: re.Match[str]) -> str:
        if placeholder[1] == "this":
            return self._this.get(placeholder[2], placeholder[0])
        *_, last = (None, *re.finditer(placeholder[2], self._seen if placeholder[1] == "seen" else self._remembered))
        if last is None:
            return f"[nothing {placeholder[1]} of {placeholder[2]}]"
        return str(last[1] if last.re.groups else last[0])
