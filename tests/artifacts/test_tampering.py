"""What an agent did to its own places is put right, and nothing that it points at is taken along."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from teamster.artifacts import AttemptFile, Root, make_whole
from teamster.kit import document
from teamster.model import Exited, ExitRecord, RootId, exit_record_to_json

MOMENT = datetime(2026, 1, 14, tzinfo=UTC)
DIRECTORY = "runs/b/j/steps/s/attempts/20260114T000000Z_run_1"
RECORD = document(
    exit_record_to_json(ExitRecord(run_id="run_1", outcome=Exited(0), started_at=MOMENT, ended_at=MOMENT))
)


def linked_away(tmp_path: Path) -> tuple[Root, Path]:
    """Put a link where an attempt was, and return where its record lies now."""
    root = Root(path=tmp_path / "root", root_id=RootId("root_1"))
    place = root.at(DIRECTORY)
    place.parent.mkdir(parents=True)
    record = tmp_path / "elsewhere" / AttemptFile.EXIT.value
    record.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere")
    return root, record


def test_a_record_that_was_written_through_a_link_is_kept(tmp_path: Path) -> None:
    """Without it the attempt would count as lost, and its agent would run a second time."""
    root, record = linked_away(tmp_path)
    record.write_bytes(RECORD)

    make_whole(root, DIRECTORY)

    assert not root.at(DIRECTORY).is_symlink()
    assert root.at(f"{DIRECTORY}/{AttemptFile.EXIT.value}").read_bytes() == RECORD
    assert record.read_bytes() == RECORD


@pytest.mark.parametrize(
    "content",
    [b"my private notes", RECORD.replace(b"run_1", b"run_2"), b'{"run_id": "run_1"}', b"[" * 70_000],
    ids=["no record", "another run's", "half a record", "deep"],
)
def test_nothing_else_behind_a_link_is_kept(tmp_path: Path, content: bytes) -> None:
    """A link may lead to any file that we can read, and what is kept is shown to others."""
    root, record = linked_away(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(content)
    record.symlink_to(secret)

    make_whole(root, DIRECTORY)

    assert not root.at(f"{DIRECTORY}/{AttemptFile.EXIT.value}").exists()
    assert secret.read_bytes() == content
