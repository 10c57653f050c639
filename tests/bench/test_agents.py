"""What is compared with what."""

from __future__ import annotations

import pytest
from bench.agents import Account, Cost, figures, mean


def test_a_side_that_takes_longer_has_the_smaller_rate() -> None:
    """A quarter more time is four fifths of the rate, which misses the target."""
    bare, ours = Cost(wall_seconds=0.2, cpu_seconds=0.1), Cost(wall_seconds=0.25, cpu_seconds=0.11)
    by_name = {figure.name: figure for figure in figures("git", bare=bare, ours=ours)}

    assert by_name["git_wall"].ratio == pytest.approx(0.8)
    assert by_name["git_wall"].met is False
    assert by_name["git_cpu"].ratio == pytest.approx(1 / 1.1)
    assert by_name["git_cpu"].met is True


def test_processor_time_that_nobody_counted_has_no_figure() -> None:
    """Half of an account would flatter one side."""
    half = mean([Cost(wall_seconds=1.0, cpu_seconds=1.0), Cost(wall_seconds=3.0, cpu_seconds=None)])

    assert half == Cost(wall_seconds=2.0, cpu_seconds=None)
    assert [figure.name for figure in figures("git", bare=half, ours=half)] == ["git_wall"]


def test_a_program_without_an_account_is_run_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr("bench.agents.ACCOUNTS", tmp_path_factory.mktemp("none") / "missing")
    account = Account("test")

    assert account.enter(["echo", "a b"]) == ["sh", "-c", "exec echo 'a b'"]
    assert account.since(None, turns=1) is None
