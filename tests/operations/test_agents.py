"""Agents are checked before the first attempt: one clear error in place of a whole batch that fails in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from operations.place import Place, step
from teamster.model import AgentUnusable, UsageError
from teamster.operations import check_agents, check_programs


def program(place: Place, script: str) -> str:
    """Write a program that pretends to be an agent."""
    path = place.folder / "pretender"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def with_codex(place: Place, path: str) -> Place:
    """Give a place a key and another program."""
    return Place(place.folder, env={**place.env, "CODEX_API_KEY": "sk-of-nobody", "TEAMSTER_CODEX": path})


def test_a_command_needs_neither_key_nor_version(place: Place) -> None:
    assert check_agents(place.harness, ["command", "command"]) == {"command": None}
    assert check_agents(place.harness, []) == {}


def test_a_missing_key_is_a_mistake_of_the_caller_with_two_ways_out(place: Place) -> None:
    with pytest.raises(UsageError, match="codex has no key and no login") as caught:
        check_agents(place.harness, ["codex"])

    assert "CODEX_API_KEY" in caught.value.hint
    assert "teamster rehearse" in caught.value.hint


def test_a_missing_program_is_named_with_the_way_out(place: Place) -> None:
    with pytest.raises(AgentUnusable, match=r"codex can't be run: .*nowhere") as caught:
        check_agents(with_codex(place, str(Path("/nowhere/codex"))).harness, ["codex"])

    assert "TEAMSTER_CODEX" in caught.value.hint


def test_a_program_that_lacks_our_flags_is_refused_before_the_first_attempt(place: Place) -> None:
    """Programs rename their flags; found out later, every step fails."""
    with pytest.raises(AgentUnusable, match="codex does not know exec --json"):
        check_agents(with_codex(place, program(place, "echo usage")).harness, ["codex"])


def test_a_program_that_fails_when_it_is_asked_is_told(place: Place) -> None:
    with pytest.raises(AgentUnusable, match=r"pretender .* exits 7"):
        check_agents(with_codex(place, program(place, "exit 7")).harness, ["codex"])


def test_a_program_named_by_a_path_or_a_placeholder_is_known_when_its_step_begins(place: Place) -> None:
    """An earlier step may make it; what is looked for on the PATH must be there."""
    folder = place.folder / "programs"
    folder.mkdir()
    jobs = {
        "a": [
            {**step(name, ""), "command": [program]}
            for name, program in {"path": "./later", "place": "{job_id}", "path2": "pretender"}.items()
        ]
    }
    table = place.read(place.write("table.json", jobs))
    with pytest.raises(AgentUnusable, match=r"step a\.path2 wants the program pretender"):
        check_programs(table, {"PATH": f"relative:{folder}"})

    program(place, "true")
    (place.folder / "pretender").rename(folder / "pretender")
    check_programs(table, {"PATH": f"relative:{folder}"})
    check_programs(place.read(place.write("b.json", {"a": [step("only", "true")]})), {})  # without a PATH: /bin
