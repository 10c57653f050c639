"""The root: the one folder below which a harness keeps everything."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.artifacts.layout import ROOT_FOLDERS, ROOT_RECORD
from teamster.kit import (
    Clock,
    Names,
    NameTaken,
    OutsideRoot,
    document,
    flush,
    iso,
    make_folder,
    read_beneath,
    write_once,
)
from teamster.model import RootId, UsageError, WorldError, is_id

ROOT_VERSION: Final = 1
ROOT_RECORD_BYTES_MAX: Final = 4096
_TEMPORARY: Final = re.compile(r".+\.(?P<pid>[0-9]+)\.tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A runs store with what belongs to it. Kept paths are relative, so that it can be moved."""

    path: Path
    root_id: RootId

    def at(self, relative: str) -> Path:
        """Return the place of a kept path.

        Raises:
            ValueError: the path is absolute or climbs.
        """
        if relative in {"", "."} or relative.startswith("/") or ".." in relative.split("/"):
            raise ValueError(f"{relative!r} is not a path beneath the root")
        return self.path / relative


def open_root(path: Path, *, names: Names, clock: Clock) -> Root:
    """Open a root, or make it: folders readable by their owner alone, and an id that it keeps when it is moved.

    Raises:
        UsageError: there is something else, or a root of another version.
        WorldError: it can't be made.
    """
    try:
        make_folder(path)
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder", hint="name another root with --root or TEAMSTER_ROOT")
        sweep_leftovers(path)
        for name in ROOT_FOLDERS:
            make_folder(path / name)
        if not (path / ROOT_RECORD).exists():
            _make_record(path, root_id=names.fresh("root"), made_at=iso(clock.now().wall))
        return Root(path=path, root_id=_root_id(path))
    except OSError as error:
        raise WorldError(f"the root {path} can't be opened: {error.strerror}") from error


def is_temporary(name: str) -> bool:
    """Tell whether a name is one of ours between write and rename."""
    return _TEMPORARY.fullmatch(name) is not None


def is_being_written(name: str) -> bool:
    """Tell whether the process that a temporary name names is there.

    A number that was given to another process keeps its leftover until that one is gone too: it may be writing.
    """
    found = _TEMPORARY.fullmatch(name)
    return found is not None and Path("/proc", found["pid"]).exists()


def leftovers(folder: Path) -> Iterator[Path]:
    """Yield what a death between write and rename left: temporary names whose process is gone."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in folder.iterdir():
            if is_temporary(entry.name) and not is_being_written(entry.name):
                yield entry


def sweep_leftovers(folder: Path) -> int:
    """Remove the leftovers of one folder and return how many there were."""
    found = list(leftovers(folder))
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def sweep_open_folder(descriptor: int) -> None:
    """Remove the leftovers of a folder that is open."""
    for name in os.listdir(descriptor):
        if is_temporary(name) and not is_being_written(name):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)


def _make_record(path: Path, *, root_id: str, made_at: str) -> None:
    record = document({"root_id": root_id, "made_at": made_at, "version": ROOT_VERSION})
    with contextlib.suppress(NameTaken):  # another harness was quicker: its id holds
        write_once(path / ROOT_RECORD, record)
    flush([path / ROOT_RECORD, *(path / name for name in ROOT_FOLDERS), path, path.parent])


def _root_id(path: Path) -> RootId:
    try:
        record = json.loads(read_beneath(path, ROOT_RECORD, bytes_max=ROOT_RECORD_BYTES_MAX))
        root_id, version = record["root_id"], record["version"]
    except (OutsideRoot, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path / ROOT_RECORD} is not the record of a root: {error}") from error
    if version != ROOT_VERSION:
        raise UsageError(
            f"{path} is a root of version {version}, this program knows {ROOT_VERSION}",
            hint="use the version of teamster that made it",
        )
    if not is_id(root_id):
        raise UsageError(f"{path / ROOT_RECORD} names {root_id!r}, which is not an id")
    return RootId(root_id)
