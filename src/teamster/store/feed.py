"""Where a reader of all events stands.

A number grows with each event, and events come into view in its order, but for one case: a batch that was submitted in
chunks brings its earlier ones into view at once, at the last of them. There the reader's place has two parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from teamster.model import UsageError

_CURSOR: Final = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """All events up to `event` are read; with `item`, those of the batch shown there up to it, but not that one."""

    event: int = 0
    item: int | None = None

    def __str__(self) -> str:
        """Write it as a cursor."""
        return str(self.event) if self.item is None else f"{self.event}-{self.item}"

    @classmethod
    def parse(cls, cursor: str) -> Position:
        """Read a cursor; an empty one stands before all events.

        Raises:
            UsageError: it is none.
        """
        if not cursor:
            return cls()
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise UsageError(f"cursor: {cursor!r} is no place among events", hint="use the one of the last event read")
        event, item = found.groups()
        return cls(event=int(event), item=None if item is None else int(item))
