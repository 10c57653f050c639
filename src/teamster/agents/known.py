"""Which agents there are: our own, and those that other packages plug in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Final

from teamster.agents.claude import ClaudeAgent
from teamster.agents.codex import CodexAgent
from teamster.agents.command import CommandAgent
from teamster.agents.opencode import OpenCodeAgent
from teamster.agents.protocol import Agent
from teamster.model import AGENT_NAME_PATTERN, AGENT_NAMES

ENTRY_POINT_GROUP: Final = "teamster.agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How the program of an agent of ours is found: by a variable that names it, else by its name on the PATH."""

    name: str
    variable: str
    install: str
    dialect: Callable[[str], Agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAgent:
    """An agent that somebody plugged in and that can't be used."""

    name: str
    fact: str


PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {
        "codex": Program(
            name="codex", variable="TEAMSTER_CODEX", install="pip install 'teamster[codex]'", dialect=CodexAgent
        ),
        "claude": Program(
            name="claude",
            variable="TEAMSTER_CLAUDE",
            install="npm install -g @anthropic-ai/claude-code@2.1.327",
            dialect=ClaudeAgent,
        ),
        "opencode": Program(
            name="opencode",
            variable="TEAMSTER_OPENCODE",
            install="npm install -g opencode-ai@1.18.33",
            dialect=OpenCodeAgent,
        ),
    }
)


def agents_by_name(
    *, codex_program: str, programs: Mapping[str, str] | None = None, plugged: Sequence[Agent] = ()
) -> Mapping[str, Agent]:
    """Return every agent by the name that a table calls it; `programs` are those of our own beside Codex."""
    found = {"codex": codex_program, **(programs or {})}
    ours = (program.dialect(found.get(name, name)) for name, program in PROGRAMS.items())
    return {agent.name: agent for agent in (*ours, CommandAgent(), *plugged)}


def plugged_in(entry_points: Iterable[EntryPoint]) -> tuple[tuple[Agent, ...], tuple[BrokenAgent, ...]]:
    """Make the agents of other packages. One that can't be made is told of, and harms none of the others.

    An entry point names something that is called without arguments and returns an agent; its name is the agent's.
    """
    agents: list[Agent] = []
    broken: list[BrokenAgent] = []
    taken = set(AGENT_NAMES)
    for point in sorted(entry_points, key=lambda point: (point.name, point.value)):
        made = _made(point, taken)
        if isinstance(made, BrokenAgent):
            broken.append(made)
        else:
            agents.append(made)
            taken.add(made.name)
    return tuple(agents), tuple(broken)


def _made(point: EntryPoint, taken: set[str]) -> Agent | BrokenAgent:
    if not AGENT_NAME_PATTERN.fullmatch(point.name):
        return BrokenAgent(name=point.name, fact=f"{point.name!r:.60} can't be the name of an agent")
    if point.name in taken:
        return BrokenAgent(name=point.name, fact=f"{point.value} plugs in {point.name}, and there is one already")
    try:
        agent: Agent = point.load()()
        name = agent.name
    except Exception as error:  # noqa: BLE001 # what others wrote may fail in every way, and ours must go on
        return BrokenAgent(name=point.name, fact=f"{point.value} can't be loaded: {error!r:.300}")
    if name != point.name:
        return BrokenAgent(name=point.name, fact=f"{point.value} calls itself {name!r:.60}, not {point.name}")
    return agent
