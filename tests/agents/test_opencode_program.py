"""The real OpenCode on a scripted model: its flags, its work, its sessions, its words when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.programs import Bench, output_of, program_of
from agents.real_contract import SCENARIO, RealAgentContract
from rehearsal.conftest import StartModel
from teamster.agents import OpenCodeAgent


@pytest.fixture
def opencode() -> OpenCodeAgent:
    """Return the dialect of the real program."""
    return OpenCodeAgent(program_of("opencode"))


class TestOpenCodeProgram(RealAgentContract):
    """OpenCode keeps what all of them promise."""

    no_session = "ses_e09e621baffejToZHBuYsifsub"

    @pytest.fixture
    def bench(self, opencode: OpenCodeAgent, start: StartModel, tmp_path: Path) -> Bench:
        return Bench(agent=opencode, model=start(SCENARIO), folder=tmp_path)


def test_the_real_help_names_every_flag_that_we_need(opencode: OpenCodeAgent, tmp_path: Path) -> None:
    """And its version is one that this adapter was tested with."""
    assert opencode.check_help([output_of(argv, tmp_path) for argv in opencode.help_argvs]) == ()
    assert opencode.version_argv is not None
    assert opencode.parse_version(output_of(opencode.version_argv, tmp_path)) in opencode.tested_versions
