"""A spool is used again where nothing of its last attempt can be left in it, and nothing else goes with one."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from teamster.runner.spools import Spools, sweep

FILES = (("prompt.md", b"Do this."),)
NAMES = frozenset(name for name, _ in FILES)


@pytest.fixture
def spools() -> Iterator[Spools]:
    """Return spools that are let go after the test."""
    spools = Spools()
    yield spools
    spools.close()


def used(spools: Spools, place: Path) -> Path:
    """Lay a spool out and leave it as an attempt does."""
    spools.lay_out(place, files=FILES)
    for name in ("lock", "control", "stdout", "stderr", "baseline.json"):
        descriptor = os.open(place / name, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, b"of the last attempt")
        os.close(descriptor)
    return place


def test_the_next_attempt_finds_an_empty_spool(spools: Spools, tmp_path: Path) -> None:
    """Its files are the same ones, and hold nothing of the last attempt's."""
    first, second = used(spools, tmp_path / "run_1"), tmp_path / "run_2"
    number = (first / "stdout").stat().st_ino

    spools.take_back(first, files=NAMES)
    spools.lay_out(second, files=(("prompt.md", b"Do that."),))

    assert not first.exists()
    assert (second / "stdout").stat().st_ino == number
    assert {path.name: path.read_bytes() for path in second.iterdir() if path.is_file()} == dict.fromkeys(
        ("control", "stdout", "stderr"), b""
    )
    assert (second / "scratch" / "prompt.md").read_bytes() == b"Do that."


def test_a_spool_that_is_used_again_has_no_lock(spools: Spools, tmp_path: Path) -> None:
    """Who finds a lock takes the attempt for one that has begun, and its agent for lost."""
    first = used(spools, tmp_path / "run_1")

    spools.take_back(first, files=NAMES)
    spools.lay_out(tmp_path / "run_2", files=FILES)

    assert not (tmp_path / "run_2" / "lock").exists()


def leave_a_file(place: Path) -> None:
    (place / "scratch" / "cache").write_bytes(b"a secret of the last attempt")


def leave_a_folder(place: Path) -> None:
    (place / "scratch" / "tmp").mkdir()


def leave_something_beside(place: Path) -> None:
    (place / "core").touch()


def take_the_output_away(place: Path) -> None:
    (place / "stdout").unlink()


def put_a_link(place: Path) -> None:
    (place / "scratch" / "prompt.md").unlink()
    (place / "scratch" / "prompt.md").symlink_to("/etc/passwd")


def put_a_pipe(place: Path) -> None:
    (place / "stderr").unlink()
    os.mkfifo(place / "stderr", 0o600)


def keep_another_name(place: Path) -> None:
    os.link(place / "stdout", place.parent / "kept")


def open_it_to_others(place: Path) -> None:
    (place / "stdout").chmod(0o666)


def move_scratch_away(place: Path) -> None:
    (place / "scratch").rename(place.parent / "own")
    (place / "scratch").symlink_to(place.parent / "own")


@pytest.mark.parametrize(
    "spoil",
    [
        leave_a_file,
        leave_a_folder,
        leave_something_beside,
        take_the_output_away,
        put_a_link,
        put_a_pipe,
        keep_another_name,
        open_it_to_others,
        move_scratch_away,
    ],
)
def test_what_is_not_as_we_laid_it_out_is_removed(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    """An agent could read what another one left, or write into what another one is about to leave."""
    spools = Spools()
    first = used(spools, tmp_path / "run_1")
    spoil(first)

    spools.take_back(first, files=NAMES)
    spools.lay_out(tmp_path / "run_2", files=FILES)

    assert first.exists()
    assert not (tmp_path / "run_2" / "stdout").exists()
    spools.close()
    assert not first.exists()


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDONLY, os.O_RDWR])
def test_an_output_that_somebody_still_holds_is_not_used_again(tmp_path: Path, flags: int) -> None:
    """A terminal's server that was handed it would write into the next attempt's output."""
    spools = Spools()
    first = used(spools, tmp_path / "run_1")
    holder = os.open(first / "stdout", flags)

    spools.take_back(first, files=NAMES)
    spools.lay_out(tmp_path / "run_2", files=FILES)

    assert first.exists()
    assert not (tmp_path / "run_2" / "stdout").exists()
    os.close(holder)
    spools.close()


def test_the_signal_of_a_broken_lease_ends_nobody() -> None:
    """Somebody may look at a spool in the moment in which it is taken back."""
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL
    os.kill(os.getpid(), signal.SIGURG)


def test_a_spool_that_was_swept_meanwhile_is_made_anew(spools: Spools, tmp_path: Path) -> None:
    """Another harness sweeps what belongs to no living attempt."""
    first = used(spools, tmp_path / "run_1")
    spools.take_back(first, files=NAMES)
    shutil.rmtree(first)

    spools.lay_out(tmp_path / "run_2", folders=("tmp",), files=FILES)

    assert (tmp_path / "run_2" / "scratch" / "tmp").is_dir()


def test_a_spool_that_another_harness_sweeps_is_used_whole_or_not_at_all(
    spools: Spools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is renamed while it is emptied loses what its next attempt has just put there."""
    first, second = used(spools, tmp_path / "run_1"), tmp_path / "run_2"
    spools.take_back(first, files=NAMES)
    remove = shutil.rmtree

    def meanwhile(path: Path, *, ignore_errors: bool) -> None:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        spools.lay_out(second, files=FILES)
        for name in ("control", "stdout", "stderr", "scratch/prompt.md"):
            os.unlink(name, dir_fd=folder)
        os.close(folder)
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", meanwhile)
    sweep(first)
    monkeypatch.undo()

    assert (second / "scratch" / "prompt.md").read_bytes() == b"Do this."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run_2"]


def test_what_a_sweep_that_died_left_goes_with_the_next_one(spools: Spools, tmp_path: Path) -> None:
    """Under its other name; a folder that is gone is no error."""
    left = used(spools, tmp_path / "run_1.swept")

    sweep(left)
    sweep(tmp_path / "run_2")

    assert list(tmp_path.iterdir()) == []


def test_a_spool_stays_until_somebody_has_time(tmp_path: Path) -> None:
    """Removing while attempts start makes each of them dearer."""
    spools = Spools()
    place = used(spools, tmp_path / "run_1")
    leave_a_file(place)

    spools.take_back(place, files=NAMES)
    assert place.exists()
    spools.tidy()
    spools.close()

    assert not place.exists()


def test_nothing_is_left_at_the_end(tmp_path: Path) -> None:
    """Those that waited for an attempt go too."""
    spools = Spools()
    for number in range(3):
        used(spools, tmp_path / f"run_{number}")
    for number in range(3):
        spools.take_back(tmp_path / f"run_{number}", files=NAMES)

    spools.close()

    assert list(tmp_path.iterdir()) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    """An agent may put one where its scratch folder, or its whole spool, was: what it leads to is not ours."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("ten years", encoding="utf-8")
    spools = Spools()
    inner, whole = used(spools, tmp_path / "run_1"), tmp_path / "run_2"
    shutil.rmtree(inner / "scratch")
    (inner / "scratch").symlink_to(own)
    whole.symlink_to(own)

    spools.take_back(inner, files=frozenset({"thesis.txt"}))
    spools.take_back(whole, files=frozenset({"thesis.txt"}))
    spools.close()

    assert not inner.exists()
    assert (own / "thesis.txt").read_text(encoding="utf-8") == "ten years"
