"""Copy a tree so that nothing in the copy leads back to where it came from."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.model import UsageError

CLONE_BYTES_MAX: Final = 20 * 1024**3
CLONE_FILES_MAX: Final = 1_000_000
FREE_BYTES_MIN: Final = 256 * 1024**2
"""What a copy leaves free on the disk."""

FICLONE: Final = 0x40049409
GIT_NAME: Final = ".git"
WORKTREES_NAME: Final = "worktrees"
_CHUNK_BYTES: Final = 16 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneLimits:
    """What may be copied for one rehearsal, all its directories together."""

    bytes_max: int = CLONE_BYTES_MAX
    files_max: int = CLONE_FILES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something in a tree; `relative` is its path from the top."""

    relative: str
    facts: os.stat_result


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much a tree holds."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(files=self.files + other.files, bytes=self.bytes + other.bytes)


def survey(top: Path, *, leave_out: frozenset[Path], limits: CloneLimits, before: Size) -> Size:
    """Count a tree before it is copied; `before` is what others took of the limits.

    Raises:
        UsageError: it is too large.
    """
    size = before
    for entry in walk(top, leave_out=leave_out):
        size += Size(files=1, bytes=entry.facts.st_size if stat.S_ISREG(entry.facts.st_mode) else 0)
        if size.files > limits.files_max or size.bytes > limits.bytes_max:
            raise UsageError(
                f"{top} is too large to be copied for a rehearsal: more than {limits.files_max} files "
                f"or {limits.bytes_max} bytes, with what was copied before it",
                hint="rehearse on a smaller `working_directory`, or on a clone without what agents don't need",
            )
    return size


def walk(top: Path, *, leave_out: frozenset[Path]) -> Iterator[Entry]:
    """Yield all that is to be copied of a tree, folders before what is in them. No link is followed."""
    folders = [""]
    while folders:
        folder = folders.pop()
        for name in _names(top / folder):
            relative = f"{folder}/{name}" if folder else name
            if top / relative in leave_out or _is_of_the_moment(folder, name):
                continue
            try:
                facts = (top / relative).lstat()
            except FileNotFoundError:
                continue  # somebody works there, and has just removed it
            yield Entry(relative=relative, facts=facts)
            if stat.S_ISDIR(facts.st_mode):
                folders.append(relative)


def copy_tree(source: Path, target: Path, *, leave_out: frozenset[Path]) -> tuple[str, ...]:
    """Copy a tree into a folder that is there, and return what had to stay behind, each with its reason."""
    dropped: list[str] = []
    folders: list[tuple[Path, int]] = []
    for entry in walk(source, leave_out=leave_out):
        if stat.S_ISDIR(entry.facts.st_mode):
            folders.append((target / entry.relative, stat.S_IMODE(entry.facts.st_mode)))
        try:
            _copy_entry(source, target, entry)
        except PermissionError:
            dropped.append(f"{entry.relative}: can't be read")
        except FileNotFoundError:
            dropped.append(f"{entry.relative}: was removed meanwhile")
        except _StaysBehind as error:
            dropped.append(f"{entry.relative}: {error}")
    for folder, mode in reversed(folders):  # only now: nothing could be put into one that is read-only
        folder.chmod(mode & 0o777)
    return tuple(dropped)


class _StaysBehind(Exception):
    """Something that can't be in a copy: a link that leads out of the tree, a pipe."""


def _copy_entry(source: Path, target: Path, entry: Entry) -> None:
    path, copy = source / entry.relative, target / entry.relative
    match stat.S_IFMT(entry.facts.st_mode):
        case stat.S_IFDIR:
            copy.mkdir(mode=0o700)
            os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))  # or it can't be read
        case stat.S_IFREG if entry.relative == GIT_NAME:
            pass  # a pointer to a git directory elsewhere: `own_git_directory` makes one
        case stat.S_IFREG:
            if path.name == GIT_NAME:
                _check_pointer(path, top=source)
            _copy_file(path, copy, entry.facts)
        case stat.S_IFLNK:
            _copy_link(source, entry.relative, copy)
        case _:
            raise _StaysBehind("neither file, folder nor link")


def _names(folder: Path) -> list[str]:
    """Return what is in a folder; one that can't be read, or is gone, is reported by who copies it."""
    try:
        return sorted(child.name for child in folder.iterdir())
    except (PermissionError, FileNotFoundError):
        return []


def _is_of_the_moment(folder: str, name: str) -> bool:
    """Tell what of a git directory holds for the original alone: its locks, and its other working trees."""
    return Path(folder).name == GIT_NAME and (name == WORKTREES_NAME or name.endswith(".lock"))


def _copy_file(source: Path, target: Path, facts: os.stat_result) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        writing = os.open(target, flags, 0o600)
        try:
            _copy_bytes(reading, writing)
            os.fchmod(writing, facts.st_mode & 0o777)
            os.utime(writing, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_bytes(reading: int, writing: int) -> None:
    """Share the blocks where the file system can, else copy them."""
    try:
        fcntl.ioctl(writing, FICLONE, reading)
    except OSError as error:
        if error.errno not in {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EBADF}:
            raise
    else:
        return
    while os.sendfile(writing, reading, None, _CHUNK_BYTES):
        pass


def _copy_link(top: Path, relative: str, copy: Path) -> None:
    """Keep a link that stays inside, rewritten where its text would lead back to the original."""
    link = top / relative
    text = link.readlink()
    real = Path(os.path.realpath(link))
    if not real.is_relative_to(top):
        raise _StaysBehind(f"leads to {text}, outside")
    climbs = Path(os.path.normpath(text)).parts.count("..")  # after this they all stand in front
    if text.is_absolute() or climbs > relative.count("/"):
        text = Path(os.path.relpath(real, start=os.path.realpath(link.parent)))
    copy.symlink_to(text)


def _check_pointer(pointer: Path, *, top: Path) -> None:
    """Refuse the `.git` file of a submodule or working tree whose git directory is not copied with it.

    An absolute one leads to the original even where that lies inside.
    """
    text = Path(pointer.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip())
    inside = Path(os.path.normpath(pointer.parent / text)).is_relative_to(top)
    if text.is_absolute() or not inside or text.parent.name == WORKTREES_NAME:
        raise _StaysBehind(f"its git directory is {text}")


def remove_tree(folder: Path) -> None:
    """Remove what an interrupted copy left."""
    if folder.exists():
        shutil.rmtree(folder)
