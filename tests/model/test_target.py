"""Targets: what an item acts on must be named as far as the work needs it."""

from __future__ import annotations

from typing import Any

import pytest

from teamster.model import COMMANDS, TARGET, WORKFLOW_COMMANDS, Target


def told(value: dict[str, Any]) -> list[str]:
    """Return what is wrong with a target."""
    return [f"{fault.path}: {fault.fact}" for fault in TARGET.faults(value, "$")]


@pytest.mark.req("DC-target")
@pytest.mark.parametrize("command", WORKFLOW_COMMANDS)
def test_a_command_names_its_plan_and_an_attempt_its_iteration(command: str) -> None:
    """`plan` comes before there is a plan, `verify` belongs to no attempt; all others advance one."""
    needed = {"plan": [], "verify": ["plan_id"]}.get(command, ["plan_id", "plan_iteration"])

    assert told({"workflow_command": command}) == [f"$.{name}: it is missing" for name in needed]
    assert told({"workflow_command": command, "plan_id": "01-a", "plan_iteration": 0}) == []


@pytest.mark.req("DC-target")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ["$: it is empty"]),
        ({"plan_iteration": 1}, ["$.plan_id: it is missing"]),
        ({"workflow_command": "deploy"}, ["$.workflow_command: 'deploy' is none of its words"]),
        ({"plan_id": "../../etc"}, ["$.plan_id: '../../etc' is no id"]),
        ({"plan_id": "p", "plan_iteration": "1"}, ["$.plan_iteration: it is a text, not a whole number"]),
        ({"batch_id": "b", "job_id": "j"}, ["$.step_id: it is missing", "$.step_id: it is missing"]),
        ({"batch_id": "b", "job_id": "j", "step_id": "s"}, []),
        ({"inbox_path": "repo/main/x.prompt.md"}, []),
        ({"repo_id": "acme/shop", "epic_id": "02-pay", "workflow_command": "plan"}, []),
        ({"x-other": 1}, []),
    ],
)  # fmt: skip
def test_what_is_missing_in_a_target_is_told(value: dict[str, Any], expected: list[str]) -> None:
    """Plans, steps and prompts are three forms of one object."""
    assert told(value) == expected


def test_a_target_that_contradicts_itself_is_not_made() -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match=r"\$\.plan_id: it is missing"):
        Target(plan_iteration=1)


@pytest.mark.req("DC-target")
def test_the_commands_are_those_of_the_contract() -> None:
    """Plans of other runtimes name them."""
    assert tuple(COMMANDS) == ("plan", "code", "finish-code", "review", "fix", "done", "verify")
