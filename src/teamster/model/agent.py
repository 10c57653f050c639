"""Which program does a step, and what it is allowed to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from teamster.model.record import JsonObject

AgentName = str
Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
ApprovalPolicy = Literal["on-failure", "on-request", "never"]

AGENT_NAMES: Final[tuple[AgentName, ...]] = ("codex", "claude", "opencode", "command")
"""Those that come with this package; others are plugged in, and wiring knows them."""

AGENT_NAME_PATTERN: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
SANDBOXES: Final[tuple[Sandbox, ...]] = ("read-only", "workspace-write", "danger-full-access")
# Codex once had `untrusted` too; 0.163.0 refuses to start with it.
APPROVAL_POLICIES: Final[tuple[ApprovalPolicy, ...]] = ("on-failure", "on-request", "never")
PLACEHOLDERS: Final = (
    "prompt_file",
    "report_file",
    "working_directory",
    "run_id",
    "job_id",
    "step_id",
    "attempt",
)
# `{{name}}` is the way to write `{name}` for a program that has braces of its own.
_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChoice:
    """The agent of a step. `command` is any program: its argv, with placeholders."""

    agent: AgentName = "codex"
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not AGENT_NAME_PATTERN.fullmatch(self.agent):
            raise ValueError(f"{self.agent!r:.60} can't be the name of an agent")
        if bool(self.command) != (self.agent == "command"):
            raise ValueError(f"agent {self.agent}: an argv goes with `command` and with no other")
        for name in unknown_placeholders(self.command):
            raise ValueError(f"`{{{name}}}` is not a placeholder: {', '.join(PLACEHOLDERS)}")

    def argv(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Return the argv with each placeholder replaced; `values` must hold all that occur."""
        return tuple(
            _PLACEHOLDER.sub(lambda match: f"{{{match[1]}}}" if match[1] else values[match[2]], argument)
            for argument in self.command
        )

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        return {"agent": self.agent, "command": list(self.command)} if self.command else {"agent": self.agent}

    @classmethod
    def from_json(cls, value: JsonObject) -> AgentChoice:
        """Read what `to_json` wrote, alone or within a step."""
        return cls(agent=value["agent"], command=tuple(value.get("command", ())))


def unknown_placeholders(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in braces that nobody will fill in."""
    names = (match[2] for argument in command for match in _PLACEHOLDER.finditer(argument))
    return tuple(name for name in names if name and name not in PLACEHOLDERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPolicy:
    """What an agent may do, and what is kept of it. `add_dirs` are absolute."""

    sandbox: Sandbox = "workspace-write"
    approval_policy: ApprovalPolicy = "never"
    web_search_enabled: bool = False
    model: str | None = None
    model_reasoning_effort: str | None = None
    skip_git_repo_check: bool = False
    add_dirs: tuple[str, ...] = ()
    capture_events_jsonl: bool = True

    def __post_init__(self) -> None:
        if self.sandbox not in SANDBOXES:
            raise ValueError(f"{self.sandbox!r} is not a sandbox: {', '.join(SANDBOXES)}")
        if self.approval_policy not in APPROVAL_POLICIES:
            raise ValueError(f"{self.approval_policy!r} is not an approval policy: {', '.join(APPROVAL_POLICIES)}")

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        return {
            "sandbox": self.sandbox,
            "approval_policy": self.approval_policy,
            "web_search_enabled": self.web_search_enabled,
            "model": self.model,
            "model_reasoning_effort": self.model_reasoning_effort,
            "skip_git_repo_check": self.skip_git_repo_check,
            "add_dirs": list(self.add_dirs),
            "capture_events_jsonl": self.capture_events_jsonl,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ExecutionPolicy:
        """Read what `to_json` wrote."""
        return cls(**{**value, "add_dirs": tuple(value["add_dirs"])})
