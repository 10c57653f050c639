"""`teamster agents`: which are here, and what keeps one from being used; no key is ever shown."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from operations.place import Place
from teamster.model import AgentUnusable
from teamster.operations import AgentView, check_agents

KEY = "sk-mine-and-mine-alone"
FLAGS = "--print --output-format --verbose --permission-mode --setting-sources --settings --json-schema --tools"
MORE_FLAGS = "--allowedTools --disallowedTools --add-dir --mcp-config --model --effort --resume"


def pretender(folder: Path, *, help_text: str = f"{FLAGS} {MORE_FLAGS}") -> str:
    """Write a program that says what Claude Code says of itself."""
    path = folder / "pretender"
    said = f'#!/bin/sh\n[ "$1" = --version ] && echo "2.1.327 (Claude Code)" || echo "{help_text}"\n'
    path.write_text(said, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def place_with(folder: Path, **env: str) -> Place:
    """Return a place whose environment holds little else."""
    return Place(folder, env={"PATH": os.environ["PATH"], "HOME": str(folder), **env})


def views(place: Place) -> dict[str, AgentView]:
    """Look at every agent."""
    return {view.name: view for view in place.wiring.agents()}


def test_each_says_where_it_is_and_where_its_key_stands(tmp_path: Path) -> None:
    program = pretender(tmp_path)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{}", encoding="utf-8")
    found = views(place_with(tmp_path, TEAMSTER_CLAUDE=program, ANTHROPIC_API_KEY=KEY))
    claude = found["claude"]

    assert list(found) == ["codex", "claude", "opencode", "command"]
    assert (claude.program, claude.version, claude.problem) == (program, "2.1.327", None)
    assert (claude.needs_key, claude.key_variable) == (True, "ANTHROPIC_API_KEY")
    assert claude.own_files == (str(tmp_path / ".claude" / "settings.json"),)
    assert found["codex"].problem == "codex has no key and no login"
    assert found["command"].problem is None
    assert KEY not in json.dumps([view.to_json() for view in found.values()])


def test_own_files_are_left_out_where_that_is_said(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("mine", encoding="utf-8")

    assert views(place_with(tmp_path, TEAMSTER_OWN_CONFIGURATION="no"))["claude"].own_files == ()


def test_a_program_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    view = views(place_with(tmp_path, TEAMSTER_OPENCODE="/nowhere/opencode"))["opencode"]

    assert "can't be run" in str(view.problem)
    assert "npm install -g opencode-ai" in str(view.hint)
    assert "TEAMSTER_OPENCODE" in str(view.hint)


def test_a_renamed_flag_is_one_error_for_the_batch(tmp_path: Path) -> None:
    """And not five hundred attempts that fail within seconds."""
    renamed = pretender(tmp_path, help_text=f"{FLAGS} {MORE_FLAGS}".replace("--json-schema", "--form"))
    place = place_with(tmp_path, TEAMSTER_CLAUDE=renamed, ANTHROPIC_API_KEY=KEY)

    with pytest.raises(AgentUnusable, match="claude does not know claude --json-schema"):
        check_agents(place.harness, ["claude"])


def test_a_sandbox_that_can_t_be_kept_is_one_error_for_the_batch(tmp_path: Path) -> None:
    """Found out by each attempt alone, it would fail them all."""
    place = place_with(tmp_path, PATH="/nowhere", TEAMSTER_CLAUDE=pretender(tmp_path), ANTHROPIC_API_KEY=KEY)

    with pytest.raises(AgentUnusable, match="can't keep to the sandbox workspace-write: bwrap and socat"):
        check_agents(place.harness, ["claude"], sandboxes={"claude": frozenset({"workspace-write"})})
