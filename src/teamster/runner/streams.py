"""An agent's output, read once: from the raw spool to the decoder and to the event log that is kept."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Final

from teamster.agents import Decoder, Reading
from teamster.kit import append, redact

READ_BYTES_MAX: Final = 1 << 20
LINE_BYTES_MAX: Final = 4 << 20
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EACCES})


class Stream:
    """Follows one spool file.

    Whole lines go to the decoder and, redacted, to the event log: one kept line for each line read, so that whoever
    takes over knows where to go on. `lines_kept` lines are in the log already.
    """

    def __init__(
        self, *, source: Path, log: Path | None, decoder: Decoder, secrets: tuple[bytes, ...], lines_kept: int = 0
    ) -> None:
        self._source = source
        self._log = log
        self._decoder = decoder
        self._secrets = secrets
        self._lines_kept = lines_kept
        self._lines_read = 0
        self._offset = 0
        self._rest = b""
        self.last_line = b""

    def keep_secret(self, secrets: tuple[bytes, ...]) -> None:
        """Redact more; call it before anything is read."""
        self._secrets += secrets

    @property
    def reading(self) -> Reading:
        """What the decoder has learned so far."""
        return self._decoder.reading

    @property
    def has_log(self) -> bool:
        """Something of it is kept in the event log."""
        return self._log is not None and self._lines_read > 0

    def read(self, *, bytes_max: int = READ_BYTES_MAX) -> bool:
        """Take in what was written since the last call, at most `bytes_max`; tell whether there was anything."""
        descriptor = open_plain(self._source)
        if descriptor is None:
            return False
        try:
            content = os.pread(descriptor, bytes_max, self._offset)
        finally:
            os.close(descriptor)
        self._offset += len(content)
        *lines, self._rest = (self._rest + content).split(b"\n")
        self._take([piece for line in lines for piece in _pieces(line)])
        *pieces, self._rest = _pieces(self._rest)
        self._take(pieces)
        return bool(content)

    def finish(self, *, keeping: bool = True) -> None:
        """Read to the end; a last line without its newline counts too. Without `keeping` the log stays as it is."""
        if not keeping:
            self._log = None
        while self.read():
            pass
        if self._rest:
            self._take([self._rest])
            self._rest = b""

    def _take(self, lines: list[bytes]) -> None:
        kept: list[bytes] = []
        for line in lines:
            self._lines_read += 1
            self._decoder.feed(line)
            if line.strip():
                self.last_line = line
            if self._log is not None and self._lines_read > self._lines_kept:
                kept.append(as_event(redact(line, self._secrets)))
        if kept and self._log is not None:
            append(self._log, b"".join(kept))


def is_readable(path: Path) -> bool:
    """Tell whether there is a plain file to read."""
    descriptor = open_plain(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def open_plain(path: Path) -> int | None:
    """Open what a shim made; None where it is gone, or an agent put a link or a pipe in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _pieces(line: bytes) -> list[bytes]:
    """Cut a line that is too long for any decoder, at the same places however it was read: others count the pieces."""
    starts = range(0, len(line), LINE_BYTES_MAX) if len(line) > LINE_BYTES_MAX else [0]
    return [line[start : start + LINE_BYTES_MAX] for start in starts]


def as_event(line: bytes) -> bytes:
    """Return a line of JSON Lines: the line itself where it is a JSON object, else an object that quotes it."""
    text = line.decode("utf-8", "replace")
    try:
        whole = line.startswith(b"{") and isinstance(json.loads(line.decode()), dict)
    except (ValueError, RecursionError):
        whole = False
    if whole:
        return line + b"\n"
    return json.dumps({"type": "teamster.output", "text": text}, ensure_ascii=False).encode() + b"\n"
