"""Deaths in the middle of an act, within one process."""

from __future__ import annotations


class Crash(Exception):
    """The process dies here. What it wrote before is in the hands of the database."""


class Breaker:
    """Dies at the n-th step from now on, or at the first one after a commit, once."""

    def __init__(self) -> None:
        self._left: int | None = None
        self._after_commit = False

    def arm(self, steps: int | None) -> None:
        """Let that many steps pass, None: those to the next commit; and die at the one after them."""
        self._left, self._after_commit = steps, steps is None

    def disarm(self) -> None:
        """Let everything pass."""
        self._left, self._after_commit = None, False

    def committed(self) -> None:
        """Hear of a commit."""
        if self._after_commit:
            self._left = 0

    def step(self) -> None:
        """Pass, or die."""
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            self.disarm()
            raise Crash
