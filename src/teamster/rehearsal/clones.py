"""A rehearsal works on copies: each working directory of a table, with its git repository, copied once."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from teamster.kit import FileLock, document, make_folder, sha256, write_snapshot
from teamster.model import Job, JsonObject, Step, Table, UsageError, WorldError
from teamster.rehearsal.copying import FREE_BYTES_MIN, GIT_NAME, CloneLimits, Size, copy_tree, remove_tree, survey
from teamster.rehearsal.gitdirs import borrowed_repository, own_git_directory

LOCK_NAME: Final = "clones.lock"
UNFINISHED_SUFFIX: Final = ".tmp"
NAME_CHARACTERS_MAX: Final = 40
DROPPED_LISTED_MAX: Final = 1000

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A copy of `source`, and what had to stay behind, each with its reason (the first `DROPPED_LISTED_MAX`)."""

    source: Path
    folder: Path
    files: int
    bytes: int
    dropped: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """Write it."""
        return {
            "source": str(self.source),
            "folder": self.folder.name,
            "files": self.files,
            "bytes": self.bytes,
            "dropped": list(self.dropped),
        }


def clone_directories(
    table: Table, into: Path, *, leave_out: Iterable[Path] = (), limits: CloneLimits | None = None
) -> Table:
    """Return the table with each working directory and each folder of `add_dirs` replaced by its copy.

    Of a directory in a git repository the whole repository is copied. What was copied by an earlier call into the
    same folder is used as it is by now: a rehearsal that was killed goes on with what its agents did. `into` itself and
    the folders of `leave_out` are not copied. The batch keeps its id: a rehearsal has a root of its own.

    Raises:
        UsageError: a directory is missing, the copies would be too large, or another rehearsal copies just now.
        WorldError: the disk is full, or fails.
    """
    make_folder(into)
    into = into.resolve()
    tops = _outermost({_top(folder) for folder in _directories(table)})
    kept_out = frozenset({into, *(folder.resolve() for folder in leave_out)})
    try:
        with FileLock(into / LOCK_NAME):
            copies = _copied(tops, into, leave_out=kept_out, limits=limits or CloneLimits())
    except BlockingIOError:
        raise UsageError(f"another rehearsal copies into {into} just now", hint="wait for it") from None
    return replace(table, jobs=tuple(_moved_job(job, copies) for job in table.jobs))


def read_clones(into: Path) -> tuple[Clone, ...]:
    """Return the copies in a folder."""
    values = [json.loads(path.read_bytes()) for path in sorted(into.glob("*.json"))]
    return tuple(
        Clone(
            source=Path(value["source"]),
            folder=into / value["folder"],
            files=value["files"],
            bytes=value["bytes"],
            dropped=tuple(value["dropped"]),
        )
        for value in values
        if (into / value["folder"]).is_dir()
    )


def _copied(tops: tuple[Path, ...], into: Path, *, leave_out: frozenset[Path], limits: CloneLimits) -> dict[Path, Path]:
    """Copy what is not copied yet: all is counted first, so that a refusal costs nothing."""
    copies = {top: into / _name(top) for top in tops}
    sizes: dict[Path, Size] = {}
    total = Size()
    for top, folder in copies.items():
        if not folder.is_dir():
            before = total
            for tree in filter(None, (top, borrowed_repository(top))):
                total = survey(tree, leave_out=leave_out, limits=limits, before=total)
            sizes[top] = Size(files=total.files - before.files, bytes=total.bytes - before.bytes)
    free = shutil.disk_usage(into).free
    if total.bytes > free - FREE_BYTES_MIN:
        raise WorldError(f"a rehearsal needs {total.bytes} bytes for copies, and {into} has {free} free")
    for top, size in sizes.items():
        _copy(top, copies[top], size, leave_out=leave_out)
    return copies


def _copy(top: Path, folder: Path, size: Size, *, leave_out: frozenset[Path]) -> None:
    """Copy under another name first: a folder with its final name is whole."""
    unfinished = folder.with_name(folder.name + UNFINISHED_SUFFIX)
    try:
        remove_tree(unfinished)
        unfinished.mkdir(mode=0o700)
        dropped = copy_tree(top, unfinished, leave_out=leave_out)
        dropped += own_git_directory(top, unfinished)
    except OSError as error:
        raise WorldError(f"{top} can't be copied for a rehearsal: {error}") from error
    clone = Clone(source=top, folder=folder, files=size.files, bytes=size.bytes, dropped=dropped[:DROPPED_LISTED_MAX])
    write_snapshot(folder.with_name(folder.name + ".json"), document(clone.to_json()))
    unfinished.rename(folder)


def _directories(table: Table) -> Iterator[Path]:
    for job in table.jobs:
        yield Path(job.working_directory)
        for step in job.steps:
            yield Path(step.working_directory)
            yield from map(Path, step.policy.add_dirs)


def _top(folder: Path) -> Path:
    """Return the top of the repository that a directory lies in, else the directory."""
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise UsageError(f"{folder} is no directory", hint="a rehearsal copies the working directories of its table")
    return next((place for place in (real, *real.parents) if os.path.lexists(place / GIT_NAME)), real)


def _outermost(tops: set[Path]) -> tuple[Path, ...]:
    """Leave out what lies in another: two copies of one file would tell two stories."""
    return tuple(sorted(top for top in tops if not any(other in tops for other in top.parents)))


def _name(top: Path) -> str:
    return f"{_NO_NAME.sub('-', top.name)[:NAME_CHARACTERS_MAX] or 'top'}-{sha256(os.fsencode(top))[:12]}"


def _moved_job(job: Job, copies: dict[Path, Path]) -> Job:
    steps = tuple(_moved_step(step, copies) for step in job.steps)
    return replace(job, working_directory=_moved(job.working_directory, copies), steps=steps)


def _moved_step(step: Step, copies: dict[Path, Path]) -> Step:
    policy = replace(step.policy, add_dirs=tuple(_moved(folder, copies) for folder in step.policy.add_dirs))
    return replace(step, working_directory=_moved(step.working_directory, copies), policy=policy)


def _moved(folder: str, copies: dict[Path, Path]) -> str:
    real = Path(os.path.realpath(folder))
    return next(str(copy / real.relative_to(top)) for top, copy in copies.items() if real.is_relative_to(top))
