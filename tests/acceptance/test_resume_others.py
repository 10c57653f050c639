"""Bases of the real Claude Code and OpenCode: branched side by side, gone on with elsewhere, never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agents.programs import Bench, program_of
from teamster.agents import Agent, ClaudeAgent, OpenCodeAgent
from teamster.artifacts import Sealed, is_unchanged, restore, seal, session_files
from teamster.model import AttemptStatus
from teamster.process import spawn_daemon
from teamster.rehearsal import start_model, stop_model

SCENARIO = r"""
rules:
  - match: docs.base
    moves:
      - say: The word of the day is lantern.
      - run: "true"
      - report: {summary: 'base begins'}
  - match: docs.way*
    moves:
      - report: {summary: '{this:step} was told {remembered:word of the day is (\w+)}.'}
"""
WAYS = {"claude": 5, "opencode": 2}  # one of OpenCode takes 650 MB
AGENTS: Mapping[str, Callable[[str], Agent]] = {"claude": ClaudeAgent, "opencode": OpenCodeAgent}


@pytest.fixture(params=sorted(AGENTS))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Return a place where one of the real programs works."""
    agent = AGENTS[request.param](program_of(request.param))
    (tmp_path / "scenario.yaml").write_text(SCENARIO, encoding="utf-8")
    model = start_model(folder=tmp_path / "model", scenario=tmp_path / "scenario.yaml", spawn=spawn_daemon)
    yield Bench(agent=agent, model=model, folder=tmp_path)
    stop_model(tmp_path / "model")


def sealed_base(bench: Bench) -> tuple[str, Sealed]:
    """Take a first turn, and seal what it left as a runner does."""
    first = bench.run("base")
    thread = str(first.reading.thread_id)
    home = bench.home("base")
    return thread, seal(home, bench.agent.closure(session_files(home), thread))


def words_in(home: Path, names: tuple[str, ...]) -> bytes:
    """Return all that a session says."""
    return b"".join((home / name).read_bytes() for name in names)


@pytest.mark.req("PH-10.1", "PH-10.2")
def test_branches_in_parallel_have_exactly_their_own_turns(bench: Bench) -> None:
    """From one base, at the same time, and the base keeps every byte."""
    thread, sealed = sealed_base(bench)
    ways = [f"way{number}" for number in range(WAYS[bench.agent.name])]
    for way in ways:
        restore(bench.home("base"), sealed, bench.home(way))
    with ThreadPoolExecutor(len(ways)) as side_by_side:
        runs = dict(zip(ways, side_by_side.map(lambda way: bench.run(way, session=thread), ways), strict=True))

    for way, run in runs.items():
        assert run.verdict.status is AttemptStatus.SUCCEEDED, (run.verdict, run.stderr)
        assert run.reading.thread_id == thread
        assert f"{way} was told lantern." in str(run.report_text)
        home = bench.home(way)
        words = words_in(home, bench.agent.closure(session_files(home), thread))
        assert [other for other in ways if f"{other} was told".encode() in words] == [way]
        assert b"base begins" in words
    assert is_unchanged(bench.home("base"), sealed)
