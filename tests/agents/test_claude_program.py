"""The real Claude Code on a scripted model: its flags, its work, its sessions, its words when something is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agents.programs import Bench, output_of, program_of
from agents.real_contract import SCENARIO, RealAgentContract
from rehearsal.conftest import StartModel
from teamster.agents import ClaudeAgent
from teamster.agents.claude import TEMPORARY_BYTES_MAX


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


CONFINED = """
rules:
  - match: docs.inside
    moves:
      - run: "echo in > inside.txt; echo out > ../outside.txt; env > seen.txt; cat '{key}' >> seen.txt"
      - report: {{summary: 'tried'}}
"""


def test_workspace_write_is_kept_by_its_own_sandbox(claude: ClaudeAgent, start: StartModel, tmp_path: Path) -> None:
    """Its shell writes in the working directory and nowhere else, and finds no key."""
    if shutil.which("bwrap") is None or shutil.which("socat") is None:
        pytest.skip("bwrap and socat are not here: the sandbox of claude can't be tried")
    key = tmp_path / "inside" / "scratch" / "key"
    bench = Bench(agent=claude, model=start(CONFINED.format(key=key)), folder=tmp_path, path=os.environ["PATH"])

    ended = bench.run("inside", sandbox="workspace-write")

    assert len(str(tmp_path)) > TEMPORARY_BYTES_MAX - len("/inside/scratch/tmp"), "a root that is deep enough"
    pointing = bench.model.pointing("claude")
    assert pointing is not None
    assert ended.code == 0, ended.stderr
    assert (bench.work / "inside.txt").read_text(encoding="utf-8") == "in\n"
    assert not (tmp_path / "outside.txt").exists()
    assert pointing.key not in (bench.work / "seen.txt").read_text(encoding="utf-8")


def test_without_its_sandbox_it_does_not_start(claude: ClaudeAgent, start: StartModel, tmp_path: Path) -> None:
    """The trap: asked for a sandbox and nothing more, it warns and goes on without one."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "bash", "cat", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    bench = Bench(agent=claude, model=start(SCENARIO), folder=tmp_path, path=str(programs))

    ended = bench.run("reader", sandbox="workspace-write")

    assert ended.code == 1
    assert not (bench.work / "written.txt").exists()
    assert "sandbox" in ended.stderr
