"""Fresh names: the one source of randomness."""

from __future__ import annotations

import secrets
from typing import Protocol

NAME_BYTES = 8
TOKEN_BYTES = 16


class Names(Protocol):
    """Makes names that nobody has used before."""

    def fresh(self, prefix: str) -> str:
        """Return a new name, such as `run_6f0c2a…`, that fits the grammar of ids."""
        ...

    def token(self) -> str:
        """Return a name that nobody can guess."""
        ...


class RandomNames:
    """Names from the machine's own randomness."""

    def fresh(self, prefix: str) -> str:
        """Return a new name that fits the grammar of ids."""
        return f"{prefix}_{secrets.token_hex(NAME_BYTES)}"

    def token(self) -> str:
        """Return a name that nobody can guess."""
        return secrets.token_hex(TOKEN_BYTES)


class CountedNames:
    """Names in a row, for tests: the same calls give the same names."""

    def __init__(self, start: int = 0) -> None:
        self._last = start

    def fresh(self, prefix: str) -> str:
        """Return the next name with this prefix."""
        self._last += 1
        return f"{prefix}_{self._last:08d}"

    def token(self) -> str:
        """Return the next token."""
        return self.fresh("token")
