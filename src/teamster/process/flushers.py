"""Processes that bring files to the disk for us, started when there is enough to do for one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final

from teamster.kit import FLUSH_PROGRAM, flush, flush_request

ALONE_MAX: Final = 16  # paths; so few are flushed at once, without another process
END_SECONDS_MAX: Final = 60.0  # a flush that a slow disk holds up


class Flushers:
    """Flushes for several threads at once, each by a process of its own. Call it with paths."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Flusher] = []
        self._is_closed = False

    def __call__(self, paths: Iterable[Path | str]) -> None:
        """Bring files and folders to the disk; names that are gone are passed over.

        Raises:
            OSError: the disk failed, or the process died: what was not flushed is not known.
        """
        wanted = list(paths)
        if len(wanted) <= ALONE_MAX:
            flush(wanted)
            return
        with self._lock:
            flusher = self._idle.pop() if self._idle else _Flusher()
        try:
            flusher.flush(wanted)
        except BaseException:
            flusher.end()
            raise
        with self._lock:
            if not self._is_closed:
                self._idle.append(flusher)
                return
        flusher.end()

    def close(self) -> None:
        """Let the processes go."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for flusher in idle:
            flusher.end()


class _Flusher:
    """One process, which leaves when its input ends: with us, whatever ends us."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", FLUSH_PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={},
            start_new_session=True,  # the signals of a terminal are for us
        )

    def flush(self, paths: Iterable[Path | str]) -> None:
        source, sink = self._pipes()
        sink.write(flush_request(paths))
        sink.flush()
        answer = source.readline()
        if answer == b"\n":
            return
        number, _, fact = answer.decode("utf-8", "replace").strip().partition(" ")
        raise OSError(int(number), fact) if fact else ConnectionResetError("the process that flushes files is gone")

    def end(self) -> None:
        source, sink = self._pipes()
        with contextlib.suppress(BrokenPipeError):
            sink.close()
        self._process.wait(END_SECONDS_MAX)
        source.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None, "it was asked for"
        assert self._process.stdout is not None, "it was asked for"
        return self._process.stdout, self._process.stdin
