"""Late evidence: what a writer found that was no longer the owner. Kept and shown, never counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from teamster.artifacts.layout import superseded_folder
from teamster.artifacts.root import Root
from teamster.kit import NameTaken, flush, make_folder, write_once
from teamster.model import BatchId, RunId, WorldError


def save_late(root: Root, batch_id: BatchId, run_id: RunId, fence: int, files: Mapping[str, bytes]) -> str:
    """Keep what a refused writer found, flushed, and return the folder. The same again is a repeat.

    Files lie there flat: `.teamster/verdict.json` of an attempt becomes `verdict.json`.

    Raises:
        ValueError: two files would have the same name.
        WorldError: the disk failed, or there are other bytes under such a name.
    """
    named = {PurePosixPath(name).name: content for name, content in files.items()}
    if len(named) != len(files) or "" in named:
        raise ValueError(f"late evidence of {run_id} needs a name for each file: {', '.join(sorted(files))}")
    folder = superseded_folder(batch_id, run_id, fence)
    place = root.at(folder)
    try:
        make_folder(place)
        for name, content in named.items():
            write_once(place / name, content)
        flush([*(place / name for name in named), place, place.parent])
    except (OSError, NameTaken) as error:
        raise WorldError(f"late evidence of {run_id} can't be kept: {error}") from error
    return folder
