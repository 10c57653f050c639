"""The outbox: promised files on the disk, and rows that go only when they are safe."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from artifacts.samples import FIRST, START, root_at, row
from teamster.artifacts import AttemptFile, Outbox, Root, attempt_file, attempt_folder, codex_home, draft
from teamster.artifacts.outbox import FILES_PER_FLUSH_MAX
from teamster.kit import flush
from teamster.model import FileClass, OutboxRow, RunId, WorldError

WAIT_SECONDS_MAX = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return root_at(tmp_path / "root")


def directory(run: str = "run_1") -> str:
    return attempt_folder(FIRST, RunId(run), START)


def promised(seq: int, name: AttemptFile, content: bytes, *, run: str = "run_1") -> OutboxRow:
    return row(seq, draft(attempt_file(directory(run), name), content))


class Disk:
    """A disk whose flushes wait for the test, or fail."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked: list[list[Path | str]] = []
        self.error: OSError | None = None

    def __call__(self, paths: Iterable[Path | str]) -> None:
        self.asked.append(list(paths))
        assert self.go.wait(WAIT_SECONDS_MAX)
        if self.error is not None:
            raise self.error
        flush(self.asked[-1])


def test_a_promised_file_is_there_before_write_returns_and_its_row_goes_once_it_is_flushed(root: Root) -> None:
    """A reader must not wait for the disk; the row must."""
    disk = Disk()
    with Outbox(root, flush_paths=disk) as outbox:
        outbox.write([promised(1, AttemptFile.META, b"{}")])

        assert root.at(attempt_file(directory(), AttemptFile.META)).read_bytes() == b"{}"
        assert outbox.flushed() == ()
        disk.go.set()
        assert outbox.settle() == (1,)
        assert outbox.flushed() == ()


def test_file_and_folder_are_flushed_and_the_new_parents_where_the_disk_needs_it(root: Root) -> None:
    """Without the folder's flush a power cut loses the name."""
    place = root.at(directory())
    disk = Disk()
    disk.go.set()
    with Outbox(root, parents_flushed=True, flush_paths=disk) as outbox:
        outbox.write([promised(1, AttemptFile.META, b"{}"), promised(2, AttemptFile.VERDICT, b"{}")])
    with Outbox(root, parents_flushed=False, flush_paths=disk) as outbox:
        outbox.write([promised(3, AttemptFile.META, b"{}")])

    first, second = ({Path(path) for path in asked} for asked in disk.asked)
    assert {place / "meta.json", place, place / ".teamster", place.parent, root.path / "runs"} <= first
    assert second == {place / "meta.json", place}


def test_only_the_newest_content_of_a_path_is_written_and_all_its_rows_go_with_it(root: Root) -> None:
    """An attempt that began and ended in one tick never shows a reader its old state after the new one."""
    rows = [promised(seq, AttemptFile.STATE, f"{seq}".encode()) for seq in (1, 4, 2)]
    with Outbox(root) as outbox:
        outbox.write(rows)

        assert root.at(rows[0].path).read_bytes() == b"4"
        assert outbox.settle() == (1, 2, 4)


def test_an_older_row_that_is_played_again_does_not_bring_an_old_state_back(root: Root) -> None:
    disk = Disk()
    with Outbox(root, flush_paths=disk) as outbox:
        outbox.write([promised(9, AttemptFile.STATE, b"new")])
        outbox.write([promised(5, AttemptFile.STATE, b"old")])
        disk.go.set()

        assert root.at(attempt_file(directory(), AttemptFile.STATE)).read_bytes() == b"new"
        assert outbox.settle() == (5, 9)


def test_files_appear_in_row_order(root: Root) -> None:
    """Whoever sees a terminal state finds all other files of the attempt: the first that fails stops the rest."""
    place = root.at(directory())
    (place / "final.json").mkdir(parents=True)  # nothing can be renamed to it
    rows = [
        promised(3, AttemptFile.STATE, b'{"status": "succeeded"}'),
        promised(1, AttemptFile.FINAL_TEXT, b"done"),
        promised(2, AttemptFile.FINAL, b"{}"),
    ]
    with Outbox(root) as outbox:
        with pytest.raises(WorldError, match=r"final\.json can't be written"):
            outbox.write(rows)

        assert (place / "final.txt").exists()
        assert not (place / "state.json").exists()
        assert outbox.settle() == (1,)
        assert [path.name for path in place.iterdir() if path.suffix == ".tmp"] == []


@pytest.mark.req("PH-8.2.2")
def test_while_its_row_exists_the_row_is_the_truth(root: Root) -> None:
    """A death between write and flush is mended by writing the rows again, whatever the disk kept of them."""
    rows = [promised(1, AttemptFile.META, b"whole"), promised(2, AttemptFile.STATE, b"{}")]
    for kept in (None, b"", b"who", b"other bytes"):
        place = root.at(rows[0].path)
        if kept is not None:
            place.unlink()
            place.write_bytes(kept)
        with Outbox(root) as outbox:
            outbox.write(rows)
            outbox.write(rows)

            assert place.read_bytes() == b"whole"
            assert outbox.settle() == (1, 2)


@pytest.mark.parametrize(
    ("name", "content", "mode"),
    [
        pytest.param(AttemptFile.META, b"{}", 0o444, id="write-once"),
        pytest.param(AttemptFile.STATE, b'{"status": "running"}', 0o600, id="snapshot"),
        pytest.param(AttemptFile.STATE, b'{"status": "failed"}', 0o444, id="last-snapshot"),
        pytest.param(AttemptFile.STATE, b"not json", 0o600, id="nonsense"),
    ],
)
def test_what_may_not_change_any_more_is_closed_as_it_lands(
    root: Root, name: AttemptFile, content: bytes, mode: int
) -> None:
    with Outbox(root) as outbox:
        outbox.write([promised(1, name, content)])

    assert stat.S_IMODE(root.at(attempt_file(directory(), name)).stat().st_mode) == mode


def test_a_flush_that_failed_is_told_by_the_next_call_and_its_rows_stay(root: Root) -> None:
    """After a failed flush the disk may hold anything: the file must be written again before its row may go."""
    disk = Disk()
    disk.error = OSError(28, "No space left on device")
    disk.go.set()
    rows = [promised(1, AttemptFile.META, b"{}")]
    with Outbox(root, flush_paths=disk) as outbox:
        outbox.write(rows)
        with pytest.raises(WorldError, match="No space left"):
            outbox.settle()
        assert outbox.flushed() == ()

        disk.error = None
        outbox.write(rows)
        assert outbox.settle() == (1,)


def test_a_failed_flush_is_not_swallowed_by_close(root: Root) -> None:
    disk = Disk()
    disk.error = OSError(5, "Input/output error")
    disk.go.set()
    outbox = Outbox(root, flush_paths=disk)
    outbox.write([promised(1, AttemptFile.META, b"{}")])

    with pytest.raises(WorldError, match="Input/output error"):
        outbox.close()


@pytest.mark.parametrize(
    "path",
    [
        "runs/b1/j1/steps/s1/attempts/20260114T173000Z_run_1/notes.txt",
        "runs/b1/j1/steps/s1/attempts/20260114T173000Z_run_1/codex.events.jsonl",
        "runs/../outside.json",
        "/etc/passwd",
    ],
)
def test_nothing_is_written_where_nothing_may_lie(root: Root, path: str) -> None:
    """Rows come out of a database that somebody may have written into."""
    bad = OutboxRow(seq=1, path=path, file_class=FileClass.SNAPSHOT, content=b"x", batch_id=None, job_id=None)
    with Outbox(root) as outbox, pytest.raises(WorldError, match="nothing may lie there"):
        outbox.write([bad])


def test_a_folder_that_became_a_link_is_not_followed(root: Root, tmp_path: Path) -> None:
    """What an agent may have put in the way must not lead our writes out of the root."""
    (tmp_path / "elsewhere").mkdir()
    place = root.at(directory())
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere")
    with Outbox(root) as outbox, pytest.raises(WorldError, match="passes a link"):
        outbox.write([promised(1, AttemptFile.META, b"{}")])

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_leftover_of_an_earlier_process_with_our_number_is_in_nobodys_way(root: Root) -> None:
    place = root.at(directory())
    place.mkdir(parents=True)
    leftover = place / f"meta.json.{os.getpid()}.tmp"
    leftover.write_bytes(b"half")
    leftover.chmod(0o444)
    with Outbox(root) as outbox:
        outbox.write([promised(1, AttemptFile.META, b"whole")])

    assert (place / "meta.json").read_bytes() == b"whole"
    assert not leftover.exists()


DYING = """
import sys
from pathlib import Path
from teamster.artifacts import Outbox, open_root
from teamster.kit import CountedNames, ManualClock
from teamster.model import FileClass, OutboxRow

directory = sys.argv[2]
root = open_root(Path(sys.argv[1]), names=CountedNames(), clock=ManualClock())
outbox = Outbox(root)
for seq in range(1, 1_000_000):
    content = b"%06d" % seq * 20_000
    what = {"path": directory + "/state.json", "file_class": FileClass.SNAPSHOT, "content": content}
    outbox.write([OutboxRow(seq=seq, **what, batch_id=None, job_id=None)])
    print(seq, flush=True)
"""


@pytest.mark.parametrize("writes", [1, 7, 20])
def test_a_reader_sees_whole_files_whenever_the_writer_is_killed(root: Root, writes: int) -> None:
    """And whoever plays the rows again sweeps what the dead one left."""
    command = [sys.executable, "-c", DYING, str(root.path), directory()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as dying:
        assert dying.stdout is not None
        for _ in range(writes):
            assert dying.stdout.readline()
        dying.kill()
    place = root.at(attempt_file(directory(), AttemptFile.STATE))

    assert len(set(zip(*[iter(place.read_bytes())] * 6, strict=True))) == 1
    with Outbox(root) as outbox:
        outbox.write([promised(1, AttemptFile.STATE, b"{}")], inherited=True)
        assert outbox.settle() == (1,)
    assert [path.name for path in place.parent.iterdir()] == ["state.json"]


def test_many_rows_are_flushed_in_bounded_groups(root: Root) -> None:
    """Each file costs a descriptor while it is flushed."""
    disk = Disk()
    disk.go.set()
    rows = [promised(seq, AttemptFile.META, b"{}", run=f"run_{seq}") for seq in range(1, 3 * FILES_PER_FLUSH_MAX)]
    with Outbox(root, parents_flushed=False, flush_paths=disk) as outbox:
        outbox.write(rows)

        assert outbox.settle() == tuple(found.seq for found in rows)
    assert max(len(paths) for paths in disk.asked) <= 2 * FILES_PER_FLUSH_MAX


def test_the_session_store_can_not_be_promised() -> None:
    """It is a folder that the agent writes."""
    with pytest.raises(ValueError, match="no such name"):
        draft(f"{codex_home(directory())}x", b"")
