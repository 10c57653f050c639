"""Which of the tools that are offered runs a command, and how."""

from __future__ import annotations

from typing import Any

import pytest

from teamster.rehearsal.tools import COMMAND_MILLISECONDS_MAX, shell_among, tools_of


def function(name: str, **properties: Any) -> dict[str, Any]:
    """Return a tool as the Responses protocol lists it."""
    return {"type": "function", "name": name, "parameters": {"type": "object", "properties": properties}}


def test_each_programs_shell_is_found_by_what_it_offers() -> None:
    """Not by which program asks: versions rename their arguments."""
    shells = [
        function("exec_command", cmd={"type": "string"}, yield_time_ms={}),
        {"name": "Bash", "input_schema": {"properties": {"command": {}, "timeout": {}, "description": {}}}},
        {"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}},
    ]

    found = [shell_among(tools_of([function("read", path={}), shell])) for shell in shells]

    assert [tool.name for tool in found if tool] == ["exec_command", "Bash", "bash"]
    assert [dict(tool.running("ls")) for tool in found if tool] == [
        {"cmd": "ls", "yield_time_ms": 30_000},
        {"command": "ls", "timeout": COMMAND_MILLISECONDS_MAX, "description": "Run a rehearsed command"},
        {"command": "ls"},
    ]


def test_what_a_shell_requires_beside_its_command_is_filled_in() -> None:
    """A new argument of a new version is no reason to fail."""
    tool = shell_among(
        tools_of([{"name": "Bash", "input_schema": {"properties": {"command": {}, "why": {}}, "required": ["why"]}}])
    )

    assert tool is not None
    assert dict(tool.running("ls")) == {"why": "rehearsed", "command": "ls"}


def test_codex_names_its_shell_inside_a_tool_that_runs_code() -> None:
    """For some models nothing else is offered, and the bare name is taken all the same."""
    code = {"type": "custom", "name": "exec", "description": "Run it, e.g. `await tools.exec_command({cmd})`."}
    listed = [{"type": "namespace", "name": "functions", "tools": [code]}]

    tool = shell_among(tools_of(listed))

    assert tool is not None
    assert tool.running("ls")["cmd"] == "ls"


@pytest.mark.parametrize(
    "offered",
    [None, [], [3], [function("read", path={})], [function("Bash", text={})], [{"name": "Bash"}]],
    ids=["nothing", "none", "no-tool", "no-shell", "no-command", "no-form"],
)
def test_a_tool_that_takes_no_command_is_no_shell(offered: Any) -> None:
    """Better a plain refusal than a call that the program can't read."""
    assert shell_among(tools_of(offered)) is None
