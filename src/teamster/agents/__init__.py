"""Agent dialects: how each CLI program is called, read, and what makes up its session.

May touch nothing: builds commands, reads lines. Must not start a program or open a file.
"""

from teamster.agents.claude import ClaudeAgent
from teamster.agents.codex import KEY_VARIABLE as CODEX_KEY_VARIABLE
from teamster.agents.codex import CodexAgent
from teamster.agents.command import CommandAgent
from teamster.agents.events import classify
from teamster.agents.known import ENTRY_POINT_GROUP, PROGRAMS, BrokenAgent, Program, agents_by_name, plugged_in
from teamster.agents.login import LOGIN_FILE, CodexLogin, Login
from teamster.agents.opencode import OpenCodeAgent
from teamster.agents.protocol import Agent, Decoder, Plan, Reading, Request, Usage
from teamster.policy import AgentError

__all__ = [
    "CODEX_KEY_VARIABLE",
    "ENTRY_POINT_GROUP",
    "LOGIN_FILE",
    "PROGRAMS",
    "Agent",
    "AgentError",
    "BrokenAgent",
    "ClaudeAgent",
    "CodexAgent",
    "CodexLogin",
    "CommandAgent",
    "Decoder",
    "Login",
    "OpenCodeAgent",
    "Plan",
    "Program",
    "Reading",
    "Request",
    "Usage",
    "agents_by_name",
    "classify",
    "plugged_in",
]
