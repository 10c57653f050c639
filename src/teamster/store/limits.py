"""Limits by key: what an item names, and how many items that name it may be owned at once.

A key is `kind:name`, such as `directory:/srv/shop`. A maximum is kept in the store for one key, for a whole kind
(`directory:*`: each directory for itself), or for everything (`*`). How many hold a key is counted from the items that
are owned now, in the transaction that claims: no counter can drift, and no slot can leak.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from teamster.model import UsageError

EVERYTHING: Final = "*"
LIMIT_KEY_CHARACTERS_MAX: Final = 512
_LIMIT_KEY: Final = re.compile(r"[a-z][a-z0-9_-]*:.+")
_RULE: Final = f"`kind:name`, the kind in lower case, {LIMIT_KEY_CHARACTERS_MAX} characters at most"


def is_limit_key(text: str) -> bool:
    """Tell whether an item may name this key."""
    return (
        len(text) <= LIMIT_KEY_CHARACTERS_MAX
        and text.isprintable()
        and _LIMIT_KEY.fullmatch(text) is not None
        and not text.endswith(":*")
    )


def kind_of(limit_key: str) -> str:
    """Return the key that stands for a whole kind."""
    return f"{limit_key.partition(':')[0]}:*"


def require_limit(limit_key: str, maximum: int | None) -> None:
    """Check a limit that somebody sets.

    Raises:
        UsageError: the key fits no item, or the maximum is negative.
    """
    of_one = f"{limit_key[:-1]}x" if limit_key.endswith(":*") else limit_key
    if limit_key != EVERYTHING and not is_limit_key(of_one):
        raise UsageError(f"limit_key: {limit_key!r} is no key of a limit", hint=f"`*`, or {_RULE}")
    if maximum is not None:
        require_count("maximum", maximum)


def require_count(field: str, number: int) -> None:
    """Check how many somebody asks for.

    Raises:
        UsageError: fewer than none.
    """
    if number < 0:
        raise UsageError(f"{field}: {number} is negative", hint="0 means none")


class Usage:
    """Who holds what while one claim goes on: what was owned before it, and what it has taken so far."""

    def __init__(
        self, *, held: Callable[[], Counter[str]], maximum_of: Callable[[str], int | None], owned: Counter[int]
    ) -> None:
        self._read_held = held
        self._read_maximum = maximum_of
        self._held: Counter[str] | None = None  # read when the first item names a key: most don't
        self._maxima: dict[str, int | None] = {}
        self.owned = owned  # by batch

    @property
    def room(self) -> int | None:
        """How many more may be owned in all, None without a limit."""
        maximum = self._maximum(EVERYTHING)
        return None if maximum is None else max(0, maximum - self.owned.total())

    def full_key(self, limit_keys: Iterable[str]) -> str | None:
        """Return the first of these keys that has no room, None if all have."""
        return next((limit_key for limit_key in limit_keys if self._is_full(limit_key)), None)

    def shown(self) -> dict[str, int]:
        """Return how many hold each key, and how many items are owned in all."""
        return {EVERYTHING: self.owned.total(), **self._holders()}

    def take(self, *, batch: int, limit_keys: Sequence[str]) -> None:
        """Count an item that was just taken."""
        self.owned[batch] += 1
        if limit_keys:
            self._holders().update(limit_keys)

    def _is_full(self, limit_key: str) -> bool:
        maximum = self._maximum(limit_key)
        if maximum is None:
            maximum = self._maximum(kind_of(limit_key))
        return maximum is not None and self._holders()[limit_key] >= maximum

    def _holders(self) -> Counter[str]:
        if self._held is None:
            self._held = self._read_held()
        return self._held

    def _maximum(self, limit_key: str) -> int | None:
        if limit_key not in self._maxima:
            self._maxima[limit_key] = self._read_maximum(limit_key)
        return self._maxima[limit_key]
