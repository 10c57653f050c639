"""How a working harness is told to slow down: from a signal handler, another thread, or a test."""

from __future__ import annotations

from collections.abc import Callable


class Control:
    """Three wishes, each stronger than the last: drain, stop, leave.

    Plain flags on purpose: a signal may come while the handler of an earlier one runs, and a lock would never be freed.
    """

    def __init__(self) -> None:
        self._draining = False
        self._stopping = False
        self._leaving = False
        self._wake: Callable[[], None] = _nothing

    @property
    def draining(self) -> bool:
        """Nothing new is claimed; what runs is finished."""
        return self._draining

    @property
    def stopping(self) -> bool:
        """Agents are ended, and their steps may run again."""
        return self._stopping

    @property
    def leaving(self) -> bool:
        """The harness goes at once and leaves its agents to whoever adopts them."""
        return self._leaving

    def interrupt(self) -> None:
        """Drain; asked again, stop."""
        if self._draining:
            self._stopping = True
        self._draining = True
        self._wake()

    def leave(self) -> None:
        """Go and let the agents live: for an upgrade, or a shutdown that will start us again."""
        self._draining = True
        self._leaving = True
        self._wake()

    def wakes(self, wake: Callable[[], None]) -> None:
        """Name what ends the wait of whoever works."""
        self._wake = wake


def _nothing() -> None:
    """Wake nobody: nobody works yet."""
