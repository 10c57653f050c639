"""What an agent did to the places of its own attempt: told from a broken disk, and put right as far as it goes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Final

from teamster.artifacts.layout import EVIDENCE, AttemptFile, attempt_name
from teamster.artifacts.root import Root
from teamster.kit import document, make_folder, write_snapshot
from teamster.model import WorldError, exit_record_from_json, exit_record_to_json

OWN_MODE: Final = 0o700
READ_MODE: Final = 0o400
RECORD_BYTES_MAX: Final = 64 << 10
# What names and modes can do. Everything else is the disk, the memory or the machine, and no agent's doing.
_NAMES: Final = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENXIO,
        errno.EEXIST,
        errno.ENOTEMPTY,
        errno.EACCES,
        errno.EPERM,
    }
)


def blames_disk(error: BaseException) -> bool:
    """Tell whether the machine failed; False where names, links or modes were in the way."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno not in _NAMES:
            return True
        cause = cause.__cause__
    return False


def is_whole(root: Root, directory: str) -> bool:
    """Tell whether the folders of an attempt are folders, and the first file of all lies there still.

    A shim makes folders again for its record: they alone don't say that nothing was taken away.
    """
    place = root.at(directory)
    return _is_folder(place) and _is_folder(place / EVIDENCE) and (place / AttemptFile.META).is_file()


def make_whole(root: Root, directory: str) -> tuple[str, ...]:
    """Make an attempt's folders again and clear the names that are ours alone; return what was in the way.

    What an agent left under other names stays. Call it when its tree was seen empty.

    Raises:
        WorldError: it can't be done.
    """
    place, found = root.at(directory), []
    record = _record_behind(place / AttemptFile.EXIT.value, attempt_name(directory).run_id)
    try:
        for folder in (place, place / EVIDENCE):
            if not _is_folder(folder):
                found.append(f"{folder.name} was gone, or no folder any more")
                folder.unlink(missing_ok=True)
                make_folder(folder)
            elif folder.lstat().st_mode & OWN_MODE != OWN_MODE:
                folder.chmod(OWN_MODE)
        _open_up(place)
        found += [f"{name.value} was no file any more" for name in AttemptFile if _clear(place / name.value)]
        if record is not None and not (place / AttemptFile.EXIT.value).exists():
            write_snapshot(place / AttemptFile.EXIT.value, record)
    except OSError as error:
        raise WorldError(f"{directory} can't be made whole: {error}") from error
    return tuple(found)


def _record_behind(path: Path, run_id: str) -> bytes | None:
    """Read the record that a shim wrote through a link: without it the attempt would count as lost, and run again.

    Written anew from what it says: a link may lead to any file, and nothing else of that one is kept.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        record = exit_record_from_json(json.loads(os.pread(descriptor, RECORD_BYTES_MAX, 0)))
    except (ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)
    return document(exit_record_to_json(record)) if record.run_id == run_id else None


def _open_up(place: Path) -> None:
    """Let us read whatever an agent closed even to its owner: a manifest that left it out would be wrong."""
    waiting = [place]
    while waiting:
        for path in waiting.pop().iterdir():
            mode = path.lstat().st_mode
            wanted = OWN_MODE if stat.S_ISDIR(mode) else READ_MODE
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                continue
            if mode & wanted != wanted:
                path.chmod(stat.S_IMODE(mode) | wanted)
            if stat.S_ISDIR(mode):
                waiting.append(path)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _clear(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISREG(mode):
        return False
    if stat.S_ISDIR(mode):
        shutil.rmtree(path)
    else:
        path.unlink()
    return True
