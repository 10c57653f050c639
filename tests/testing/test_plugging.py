"""An agent of somebody else: installed beside us, named in a table, run like our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import pytest

from teamster.agents import ENTRY_POINT_GROUP, CommandAgent, plugged_in

SECONDS_MAX: Final = 60
PLUGIN: Final = '''\
from dataclasses import replace

from teamster.agents import CommandAgent


class EchoAgent(CommandAgent):
    """Says the prompt again."""

    name = "echo"

    def plan(self, request):
        return super().plan(replace(request, command=("cat", "{prompt_file}")))
'''
ENTRY_POINTS: Final = f"[{ENTRY_POINT_GROUP}]\necho = teamster_echo:EchoAgent\nbroken = teamster_echo:Missing\n"
METADATA: Final = "Metadata-Version: 2.1\nName: teamster-echo\nVersion: 1.0\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Install a tiny package into a folder, as an installer would."""
    site = tmp_path / "site"
    facts = site / "teamster_echo-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "teamster_echo.py").write_text(PLUGIN, encoding="utf-8")
    (facts / "METADATA").write_text(METADATA, encoding="utf-8")
    (facts / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return site


def teamster(site: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program with the package on its path."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(site)}
    argv = [sys.executable, "-m", "teamster", *words]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)


def table(folder: Path, agent: str) -> None:
    """Write a table whose only step is done by an agent."""
    value: dict[str, Any] = {
        "batch_goal_summary": " ".join(
            ["This batch shows that an agent of somebody else is run like one of ours."] * 12
        ),
        "working_root": str(folder),
        "jobs": [{"job_id": "a", "steps": [{"step_id": "only", "agent": agent, "prompt": "hello from elsewhere"}]}],
    }
    (folder / "table.json").write_text(json.dumps(value), encoding="utf-8")


def test_an_agent_that_is_plugged_in_is_named_in_a_table_and_run(installed: Path, tmp_path: Path) -> None:
    """Nothing of ours is changed for it."""
    table(tmp_path, "echo")

    done = teamster(installed, tmp_path, "run", "table.json", "--root", "root", "--json")
    [said] = (tmp_path / "root").glob("runs/*/a/steps/only/attempts/*/final.txt")

    assert done.returncode == 0, done.stdout + done.stderr
    assert said.read_text(encoding="utf-8") == "hello from elsewhere"


def test_one_that_cannot_be_loaded_is_told_of_and_harms_no_other(installed: Path, tmp_path: Path) -> None:
    """Among five hundred packages one is broken; the night must go on."""
    views = json.loads(teamster(installed, tmp_path, "agents", "--json").stdout)["agents"]
    found = {view["name"]: view for view in views}

    assert list(found) == ["codex", "claude", "opencode", "command", "echo", "broken"]
    assert found["echo"]["problem"] is None
    assert "teamster_echo:Missing can't be loaded" in found["broken"]["problem"]


def test_a_name_that_nobody_knows_gets_a_hint(installed: Path, tmp_path: Path) -> None:
    """The nearest one, those that are plugged in among them."""
    table(tmp_path, "ecko")

    done = teamster(installed, tmp_path, "validate", "table.json")

    assert done.returncode == 2
    assert "none of codex, claude, opencode, command, echo" in done.stdout + done.stderr
    assert "did you mean `echo`" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("codex", "teamster.agents:CommandAgent", "there is one already"),
        ("Not A Name", "teamster.agents:CommandAgent", "can't be the name"),
        ("other", "teamster.agents:CommandAgent", "calls itself 'command'"),
        ("gone", "no_such_module:Agent", "can't be loaded"),
        ("odd", "teamster.agents:ENTRY_POINT_GROUP", "can't be loaded"),
    ],
    ids=["taken", "name", "other-name", "gone", "no-class"],
)
def test_what_can_t_be_an_agent_is_refused_with_its_reason(name: str, value: str, fact: str) -> None:
    agents, [broken] = plugged_in([EntryPoint(name=name, value=value, group=ENTRY_POINT_GROUP)])

    assert agents == ()
    assert fact in broken.fact


def test_the_command_agent_can_be_built_upon() -> None:
    """The example above rests on it."""
    assert CommandAgent().name == "command"
