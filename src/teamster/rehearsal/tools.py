"""The tools that an agent program offers: which one is its shell, and how a command is put into it.

Nothing is taken from the name of a program: the request itself lists what can be called and with which arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from teamster.rehearsal.filling import fill

SHELL_NAMES: Final = ("exec_command", "Bash", "bash", "shell", "run_shell_command", "run_command", "execute_command")
"""What shells are called, the likeliest first."""

COMMAND_ARGUMENTS: Final = ("cmd", "command")
REPORT_NAME: Final = "StructuredOutput"
"""The tool by which Claude Code takes a report in a form."""

CODEX_SHELL: Final = "exec_command"
CODEX_POLL: Final = "write_stdin"
COMMAND_WAIT_MILLISECONDS: Final = 30_000
"""The longest that Codex waits for a command before it asks the model again."""

COMMAND_MILLISECONDS_MAX: Final = 600_000
"""The longest that Claude Code lets a command run; others take it too."""

TOOL_DEPTH_MAX: Final = 4
_USUAL: Final = {
    "description": "Run a rehearsed command",
    "timeout": COMMAND_MILLISECONDS_MAX,
    "yield_time_ms": COMMAND_WAIT_MILLISECONDS,
}
_IN_CODE: Final = re.compile(r"\btools\.(\w+)\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What can be called, and the form of its arguments; without one, whatever is given is taken."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The arguments that it knows."""
        known = self.schema.get("properties")
        return known if isinstance(known, Mapping) else {}

    def running(self, command: str) -> Mapping[str, Any]:
        """Return the arguments that make a shell run a command; what else it requires is filled in."""
        takes = next((name for name in COMMAND_ARGUMENTS if name in self.properties), COMMAND_ARGUMENTS[0])
        usual = {name: value for name, value in _USUAL.items() if name in self.properties}
        arguments: Mapping[str, Any] = fill(self.schema, {takes: command, **usual})
        return arguments


_CODEX_SHELL: Final = Tool(
    name=CODEX_SHELL, schema={"type": "object", "properties": {"cmd": {}, "yield_time_ms": {}}, "required": ["cmd"]}
)


def tools_of(offered: Any) -> tuple[Tool, ...]:
    """Read a request's list of tools, in the forms of all three protocols."""
    return tuple(_tools(offered, TOOL_DEPTH_MAX))


def shell_among(tools: Iterable[Tool]) -> Tool | None:
    """Choose the tool that runs a shell command."""
    shells = {tool.name: tool for tool in tools if set(COMMAND_ARGUMENTS) & set(tool.properties)}
    return next((shells[name] for name in SHELL_NAMES if name in shells), None)


def _tools(offered: Any, depth: int) -> Iterator[Tool]:
    if not isinstance(offered, list) or depth == 0:
        return
    for tool in offered:
        if not isinstance(tool, Mapping):
            continue
        function = tool.get("function")
        described = function if isinstance(function, Mapping) else tool
        schema = described.get("parameters", described.get("input_schema"))
        yield Tool(name=str(described.get("name", "")), schema=schema if isinstance(schema, Mapping) else {})
        yield from _tools(tool.get("tools"), depth - 1)
        if CODEX_SHELL in _IN_CODE.findall(str(tool.get("description", ""))):
            yield _CODEX_SHELL  # for some models Codex names it only inside a tool that runs code, and takes it bare
