"""Late evidence: kept beside the batch, never in the attempt of the new owner."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from artifacts.samples import BATCH, root_at
from teamster.artifacts import kept, save_late
from teamster.model import RunId, WorldError

RUN = RunId("run_1")


def test_what_a_refused_writer_found_is_kept_once_and_for_all(tmp_path: Path) -> None:
    """It was paid for, and says why two runners disagreed."""
    root = root_at(tmp_path)
    files = {".teamster/verdict.json": b"{}", "final.txt": b"late"}
    folder = save_late(root, BATCH, RUN, 3, files)

    assert save_late(root, BATCH, RUN, 3, files) == folder == "runs/b1/.teamster/superseded/run_1-3"
    assert {path.name: path.read_bytes() for path in root.at(folder).iterdir()} == {
        "verdict.json": b"{}",
        "final.txt": b"late",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in root.at(folder).iterdir()} == {0o444}
    assert all(kept(f"{folder}/{path.name}") for path in root.at(folder).iterdir())


def test_evidence_is_not_replaced_by_other_evidence(tmp_path: Path) -> None:
    root = root_at(tmp_path)
    save_late(root, BATCH, RUN, 3, {"final.txt": b"first"})

    with pytest.raises(WorldError, match="other content"):
        save_late(root, BATCH, RUN, 3, {"final.txt": b"second"})
    save_late(root, BATCH, RUN, 4, {"final.txt": b"second"})
    assert (root.at("runs/b1/.teamster/superseded/run_1-3") / "final.txt").read_bytes() == b"first"


def test_two_files_with_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        save_late(root_at(tmp_path), BATCH, RUN, 3, {"a/final.txt": b"", "final.txt": b""})
