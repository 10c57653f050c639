"""The instructions of a repository reach the model through the real Codex, whatever its home is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from agents.programs import Bench
from agents.real_contract import SCENARIO
from agents.relay import relayed
from rehearsal.conftest import StartModel
from teamster.agents import CodexAgent


@pytest.mark.req("PH-7.3b")
def test_the_instructions_of_the_repository_reach_the_model(start: StartModel, tmp_path: Path) -> None:
    """From the working directory and its parents up to the repository's top, though its home is the attempt's own."""
    with relayed(start(SCENARIO)) as (model, asked):
        bench = Bench(agent=CodexAgent(str(bundled_codex_path())), model=model, folder=tmp_path)
        bench.work.mkdir()
        subprocess.run(["git", "init", "--quiet", tmp_path], timeout=60, check=True)
        (bench.work / "AGENTS.md").write_text("Below the rule is velvet.\n", encoding="utf-8")
        (tmp_path / "AGENTS.md").write_text("Above the rule is granite.\n", encoding="utf-8")
        pointing = model.pointing("codex")
        assert pointing is not None

        bench.run("second", prompt="Which rule holds?", extra_arguments=pointing.arguments)

    assert asked.holds("Which rule holds?")
    assert asked.holds("Below the rule is velvet.")
    assert asked.holds("Above the rule is granite.")
