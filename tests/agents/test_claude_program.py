"""The real Claude Code on a scripted model: its flags, its work, its sessions, its words when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.programs import Bench, output_of, program_of
from agents.real_contract import SCENARIO, RealAgentContract
from rehearsal.conftest import StartModel
from teamster.agents import ClaudeAgent


@pytest.fixture
def claude() -> ClaudeAgent:
    """Return the dialect of the real program."""
    return ClaudeAgent(program_of("claude"))


class TestClaudeProgram(RealAgentContract):
    """Claude Code keeps what all of them promise."""

    instructions = ("CLAUDE.md",)

    @pytest.fixture
    def bench(self, claude: ClaudeAgent, start: StartModel, tmp_path: Path) -> Bench:
        return Bench(agent=claude, model=start(SCENARIO), folder=tmp_path)


def test_the_real_help_names_every_flag_that_we_need(claude: ClaudeAgent, tmp_path: Path) -> None:
    """And its version is one that this adapter was tested with."""
    assert claude.check_help([output_of(argv, tmp_path) for argv in claude.help_argvs]) == ()
    assert claude.version_argv is not None
    assert claude.parse_version(output_of(claude.version_argv, tmp_path)) in claude.tested_versions
