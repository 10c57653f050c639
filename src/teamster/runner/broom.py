"""Removes what finished attempts left in the spool, in quiet moments and beside the ticks."""

from __future__ import annotations

import shutil
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

KEPT_MAX: Final = 10_000  # folders of attempts that have ended; beyond it the oldest goes at once
PENDING_MAX: Final = 256  # folders; beyond it who asks for more waits


class Broom:
    """One thread that removes folders, when it is told that nothing else is to do.

    A file system does not use a name's place again soon after it was removed (ext4 waits for minutes, and looks at
    each such place for every new file): removing while new attempts start makes each of them dearer than the last.
    What it did not get to before a death, the next start sweeps. No link is followed: an agent may have put one there.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="broom")
        self._kept: deque[Path] = deque()
        self._pending: deque[Future[None]] = deque()

    def remove(self, folder: Path) -> None:
        """Remove a folder in the next quiet moment."""
        self._kept.append(folder)
        if len(self._kept) > KEPT_MAX:
            self._start()

    def tidy(self) -> None:
        """Use a quiet moment, as far as it goes without waiting."""
        while self._pending and self._pending[0].done():
            self._pending.popleft().result()
        while self._kept and len(self._pending) < PENDING_MAX:
            self._start()

    def close(self) -> None:
        """Remove all that is left, and wait for it."""
        while self._kept:
            self._start()
        self._thread.shutdown()

    def _start(self) -> None:
        if len(self._pending) >= PENDING_MAX:
            self._pending.popleft().result()
        folder = self._kept.popleft()
        self._pending.append(self._thread.submit(shutil.rmtree, folder, ignore_errors=True))
