"""Spools go in quiet moments, and nothing else goes with them."""

from __future__ import annotations

from pathlib import Path

from teamster.runner.broom import Broom


def spool(folder: Path, name: str) -> Path:
    """Make a spool as an attempt leaves it."""
    place = folder / name
    (place / "scratch").mkdir(parents=True)
    for file in ("stdout", "stderr", "scratch/prompt.md"):
        (place / file).touch()
    return place


def test_a_spool_stays_until_somebody_has_time(tmp_path: Path) -> None:
    """Removing while attempts start makes each of them dearer."""
    place, broom = spool(tmp_path, "run_1"), Broom()

    broom.remove(place)
    assert place.exists()
    broom.tidy()
    broom.close()

    assert not place.exists()


def test_no_link_is_followed(tmp_path: Path) -> None:
    """An agent may put one where its scratch folder, or its whole spool, was: what it leads to is not ours."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("ten years", encoding="utf-8")
    inner, whole = spool(tmp_path, "run_1"), tmp_path / "run_2"
    (inner / "scratch" / "prompt.md").unlink()
    (inner / "scratch").rmdir()
    (inner / "scratch").symlink_to(own)
    whole.symlink_to(own)

    broom = Broom()
    broom.remove(inner)
    broom.remove(whole)
    broom.close()

    assert not inner.exists()
    assert (own / "thesis.txt").read_text(encoding="utf-8") == "ten years"
