"""Chance that is the same each time: what is drawn follows from the scenario's seed and from what it is drawn for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from teamster.kit import sha256

DIGITS: Final = 8
SEED_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws for one purpose, which the names say. Nothing is remembered: who asks again gets the same."""

    seed: int = 0

    def digits(self, *names: object) -> str:
        """Draw hexadecimal digits."""
        return sha256("\n".join(map(str, (self.seed, *names))).encode())[:DIGITS]

    def share(self, *names: object) -> float:
        """Draw a number from 0 up to, but not including, 1."""
        return int(self.digits(*names), 16) / 16**DIGITS
