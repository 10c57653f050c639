"""Looks whether the artifacts are there that a step was expected to leave."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from teamster.kit import open_folder_beneath
from teamster.model import ExpectedArtifact

NOT_THERE: Final = "is not there"


def missing_artifacts(folder: Path, expected: Sequence[ExpectedArtifact]) -> tuple[str, ...]:
    """Say which artifacts are not there, or are something else. No link is followed: none is an artifact."""
    found = ((artifact.path, _fault(folder, artifact)) for artifact in expected)
    return tuple(f"{path} {fault}" for path, fault in found if fault)


def _fault(folder: Path, artifact: ExpectedArtifact) -> str:
    mode = _mode(folder, PurePosixPath(artifact.path))
    if mode is None:
        return NOT_THERE
    if stat.S_ISLNK(mode):
        return "is a link"
    if artifact.kind == "other":
        return ""
    if artifact.kind == "directory":
        return "" if stat.S_ISDIR(mode) else "is no folder"
    return "" if stat.S_ISREG(mode) else "is no regular file"


def _mode(folder: Path, path: PurePosixPath) -> int | None:
    with suppress(OSError):
        parent = open_folder_beneath(folder, path.parent.as_posix())
        try:
            return os.stat(path.name, dir_fd=parent, follow_symlinks=False).st_mode
        finally:
            os.close(parent)
    return None
