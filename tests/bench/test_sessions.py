"""What is measured is what a harness does."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.sessions import ROLLOUT, base_actions, by_turns, bytes_in, copy_plainly, grow, measure_bases, write_rollout

from teamster.agents import CodexAgent
from teamster.artifacts import seal


def test_a_made_session_is_one_of_codex_and_as_large_as_it_says(tmp_path: Path) -> None:
    write_rollout(tmp_path / "one", 100_000)
    write_rollout(tmp_path / "other", 100_000)
    grow(tmp_path / "one", 80_000)

    assert CodexAgent("codex").is_session_file(ROLLOUT)
    assert 100_000 <= (tmp_path / "one" / ROLLOUT).stat().st_size < 103_000
    assert (tmp_path / "one" / ROLLOUT).read_bytes() == (tmp_path / "other" / ROLLOUT).read_bytes()
    assert bytes_in(tmp_path / "one") == (tmp_path / "one" / ROLLOUT).stat().st_size + 80_000


def test_each_side_makes_the_same_copy(tmp_path: Path) -> None:
    """Who copies less is faster."""
    home = tmp_path / "home"
    write_rollout(home, 10_000)
    actions = base_actions(home, seal(home, [ROLLOUT]))
    content = (home / ROLLOUT).read_bytes()

    for name in ("plain", "again", "first"):
        actions[name][0](tmp_path / name)
        assert (tmp_path / name / ROLLOUT).read_bytes() == content
    copy_plainly(home, tmp_path / "once_more")
    assert set(by_turns(1, tmp_path, actions)) == {"plain", "again", "first", "seal"}
    assert not (tmp_path / "target").exists()


def test_every_size_has_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that is left out is one that was slow; shared blocks have a target of their own."""
    monkeypatch.setattr("bench.sessions.SIZES", {"small": 1000})
    monkeypatch.setattr("bench.sessions.ROUNDS", {"small": 1})

    found = list(measure_bases(tmp_path, shares_blocks=True))

    assert [figure.name for figure in found] == ["xfs_restore_small", "xfs_restore_first_small", "xfs_seal_small"]
    assert [figure.target for figure in found] == [10.0, None, None]
