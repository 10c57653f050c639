"""Files brought to the disk: a function, and a program of standard library that does it beside us, run by its path.

Each file takes four calls, and each call makes the threads of a Python process take turns: a busy harness has them
made by another process. A request is a length and paths with a NUL between them; the answer is a line, empty where
all went well.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys

TYPE_CHECKING = False  # as `typing` has it, without its memory
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FLUSH_PROGRAM = __file__
HEADER = struct.Struct("!I")


def flush(paths: Iterable[Path | str | bytes]) -> None:
    """Bring files and folders to the disk. Names that are gone are passed over.

    Writeback of all is started before the first wait: that is what makes a batch of small files cheap.
    """
    descriptors: list[int] = []
    try:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                descriptors.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))
        for descriptor in descriptors:
            with contextlib.suppress(OSError):  # folders know no advice
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        for descriptor in descriptors:
            os.fsync(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def flush_request(paths: Iterable[Path | str | bytes]) -> bytes:
    """Write what the program is asked."""
    content = b"\0".join(map(os.fsencode, paths))
    return HEADER.pack(len(content)) + content


def serve() -> None:
    """Flush what standard input asks for, one request after the other, until it ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while len(header := source.read(HEADER.size)) == HEADER.size:
        content = source.read(*HEADER.unpack(header))
        try:
            flush(content.split(b"\0"))
        except OSError as error:
            sink.write(f"{error.errno or 0} {error}".replace("\n", " ").encode("utf-8", "backslashreplace"))
        sink.write(b"\n")
        sink.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve()
