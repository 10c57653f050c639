"""Agent dialects: how each CLI program is called, read, and what makes up its session.

May touch nothing: builds commands, reads lines. Must not start a program or open a file.
"""

from collections.abc import Mapping

from teamster.agents.codex import KEY_VARIABLE as CODEX_KEY_VARIABLE
from teamster.agents.codex import CodexAgent
from teamster.agents.command import CommandAgent
from teamster.agents.login import LOGIN_FILE, CodexLogin, Login
from teamster.agents.protocol import Agent, Decoder, Plan, Reading, Request, Usage
from teamster.policy import AgentError

__all__ = [
    "CODEX_KEY_VARIABLE",
    "LOGIN_FILE",
    "Agent",
    "AgentError",
    "CodexAgent",
    "CodexLogin",
    "CommandAgent",
    "Decoder",
    "Login",
    "Plan",
    "Reading",
    "Request",
    "Usage",
    "agents_by_name",
]


def agents_by_name(*, codex_program: str) -> Mapping[str, Agent]:
    """Return every agent by the name that a table calls it."""
    agents: tuple[Agent, ...] = (CodexAgent(codex_program), CommandAgent())
    return {agent.name: agent for agent in agents}
