"""The exit record as its readers find it."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Final

from teamster.model import ExitRecord, RunId, exit_record_from_json

RECORD_BYTES_MAX: Final = 1 << 20
_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})  # an agent may have been at it


def parse_exit_record(content: bytes, *, run_id: RunId) -> ExitRecord | None:
    """Read what a shim wrote about this attempt; None where it is torn, or about another one."""
    try:
        record = exit_record_from_json(json.loads(content))
    except (ValueError, RecursionError):
        return None
    return record if record.run_id == run_id else None


def read_exit_record(path: Path, *, run_id: RunId) -> ExitRecord | None:
    """Read an exit record from its file; None where there is none that counts."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise  # a record that can't be read now is not one that is missing
    try:
        content = os.pread(descriptor, RECORD_BYTES_MAX, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
    return parse_exit_record(content, run_id=run_id)
