"""What an open file holds, read again only where it may have been written since it was last read.

A write, a cut, a replacement or a change of modes moves an inode's change time, which no program can set. So while
device, inode, size and both times are what they were around a reading, its digest still holds, and five branches of one
base need not read it five times. What was read is known to this process alone: another one reads for itself.
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from typing import Final

KNOWN_MAX: Final = 4096

_Look = tuple[int, int, int, int, int]
_known: Final[OrderedDict[_Look, str]] = OrderedDict()


def digest_of(descriptor: int) -> tuple[str, int]:
    """Return the SHA-256 and the size of an open regular file.

    Raises:
        OSError: the disk failed.
    """
    before = look_at(descriptor)
    known = _known.get(before)
    if known is not None:
        _known.move_to_end(before)
        return known, before[2]
    with os.fdopen(os.dup(descriptor), "rb", buffering=0) as file:
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    if look_at(descriptor) == before:
        _known[before] = found
        while len(_known) > KNOWN_MAX:
            _known.popitem(last=False)
    return found, size


def look_at(descriptor: int) -> _Look:
    """Return what changes whenever a file is written: two equal looks mean that nobody wrote in between."""
    found = os.fstat(descriptor)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def forget() -> None:
    """Forget what was read, as a new process would begin."""
    _known.clear()
