"""Every agent that comes with the package passes the contract that its own door ships."""

from __future__ import annotations

from typing import Any

import pytest

from teamster.agents import Agent, ClaudeAgent, CodexAgent, CommandAgent, OpenCodeAgent
from teamster.testing import AgentContract
from testing.words import CLAUDE, CODEX, OPENCODE


class TestCodex(AgentContract):
    events = CODEX

    @pytest.fixture
    def agent(self) -> Agent:
        return CodexAgent("/programs/codex")


class TestClaude(AgentContract):
    events = CLAUDE

    @pytest.fixture
    def agent(self) -> Agent:
        return ClaudeAgent("/programs/claude")


class TestOpenCode(AgentContract):
    events = OPENCODE

    @pytest.fixture
    def agent(self) -> Agent:
        return OpenCodeAgent("/programs/opencode")


class TestCommand(AgentContract):
    changes: dict[str, Any] = {"command": ("my-agent", "{prompt_file}")}  # noqa: RUF012 # as in the contract

    @pytest.fixture
    def agent(self) -> Agent:
        return CommandAgent()
