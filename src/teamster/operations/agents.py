"""Checks the agents before the first attempt: a renamed flag or a missing key would fail a whole batch in seconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from teamster.agents import PROGRAMS, Agent, BrokenAgent
from teamster.model import AgentUnusable, JsonObject, Table, UsageError, WorldError
from teamster.operations.harness import Harness
from teamster.process import run_tool
from teamster.settings import Settings

PROBE_SECONDS_MAX: Final = 20.0
PROBE_BYTES_MAX: Final = 1 << 20
DEFAULT_PATH: Final = "/usr/bin:/bin"  # what a program is looked for in where the environment names no PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentView:
    """One agent as it is on this machine. `key_variable` names where its key stands; the key itself is never shown.

    `signed_in` says that there is a login file, which is lent where there is no key.

    `own_files` are those of the user that its private homes link to. `problem` says why it can't be used.
    """

    name: str
    program: str | None
    version: str | None
    tested_versions: tuple[str, ...]
    needs_key: bool
    key_variable: str | None
    signed_in: bool
    own_files: tuple[str, ...]
    problem: str | None
    hint: str | None

    def to_json(self) -> JsonObject:
        """Write it for a program."""
        value = asdict(self)
        return {**value, "tested_versions": list(self.tested_versions), "own_files": list(self.own_files)}


def list_agents(
    agents: Mapping[str, Agent], broken: Iterable[BrokenAgent], settings: Settings
) -> tuple[AgentView, ...]:
    """Look at every agent: which program it is, whether it can be used, and with which key."""
    views = [_look(settings, agent) for agent in agents.values()]
    unusable = [
        AgentView(
            name=found.name,
            program=None,
            version=None,
            tested_versions=(),
            needs_key=False,
            key_variable=None,
            signed_in=False,
            own_files=(),
            problem=found.fact,
            hint="mend the package that plugs it in, or uninstall it",
        )
        for found in broken
    ]
    return (*views, *unusable)


def check_agents(
    harness: Harness, wanted: Iterable[str], *, sandboxes: Mapping[str, frozenset[str]] | None = None
) -> Mapping[str, str | None]:
    """Return the versions of the agents that a batch needs; `sandboxes` are those that each is asked for.

    Raises:
        AgentUnusable: a program is missing, can't be run, or lacks a flag or another program that we need.
        UsageError: an agent needs a key or a login, and there is none that can be used.
    """
    versions: dict[str, str | None] = {}
    for name in sorted(set(wanted)):
        if name not in harness.agents:
            raise AgentUnusable(f"there is no agent {name}", hint="install the package that brings it")
        agent = harness.agents[name]
        _check_login(harness, agent)
        for sandbox in sorted((sandboxes or {}).get(name, ())):
            _check_needed(harness.settings, agent, sandbox)
        versions[name] = _check_program(harness.settings, agent)
    return versions


def sandboxes_of(table: Table) -> Mapping[str, frozenset[str]]:
    """Return in which sandboxes a table's steps run each agent."""
    found: dict[str, set[str]] = {}
    for job in table.jobs:
        for step in job.steps:
            found.setdefault(step.agent.agent, set()).add(step.policy.sandbox)
    return {name: frozenset(sandboxes) for name, sandboxes in found.items()}


def check_programs(table: Table, env: Mapping[str, str]) -> None:
    """Look for the programs that `command` steps name, where their agents will look for them.

    One that is named by a path, or by a placeholder, is known when the step begins.

    Raises:
        AgentUnusable: one is in no folder of the PATH.
    """
    wanted: dict[str, str] = {}  # each program is looked for once, however many steps name it
    for job in table.jobs:
        for step in job.steps:
            wanted.setdefault(step.agent.command[0] if step.agent.command else "/", f"{job.job_id}.{step.step_id}")
    for program, step_named in wanted.items():
        if not {"/", "{"} & set(program) and _found(program, env) is None:
            raise AgentUnusable(
                f"step {step_named} wants the program {program}, which is not on the PATH that agents get",
                hint=f"install it, or write its whole path; agents get PATH={env.get('PATH', DEFAULT_PATH)}",
            )


def _found(program: str, env: Mapping[str, str]) -> str | None:
    searched = env.get("PATH", DEFAULT_PATH)
    folders = os.pathsep.join(folder for folder in searched.split(os.pathsep) if folder.startswith("/"))
    return shutil.which(program, path=folders)


def _look(settings: Settings, agent: Agent) -> AgentView:
    own = settings.of(agent.name)
    version, problem, hint = None, None, None
    try:
        version = _check_program(settings, agent)
        _check_key(settings, agent)
    except (AgentUnusable, UsageError) as error:
        problem, hint = error.fact, error.hint
    return AgentView(
        name=agent.name,
        program=None if agent.version_argv is None else agent.version_argv[0],
        version=version,
        tested_versions=agent.tested_versions,
        needs_key=agent.sessions,
        key_variable=None if own.key is None else own.key_variable,
        signed_in=_is_signed_in(settings, agent),
        own_files=tuple(str(file) for file in own.own_files.values()),
        problem=problem,
        hint=hint,
    )


def _check_login(harness: Harness, agent: Agent) -> None:
    broker = harness.logins.of(agent.name)
    if broker is not None and harness.settings.of(agent.name).key is None:
        broker.check()
    else:
        _check_key(harness.settings, agent)


def _is_signed_in(settings: Settings, agent: Agent) -> bool:
    """Tell whether there is a login file that can be lent; whether it is still good is found out before a batch."""
    return agent.name == "codex" and settings.codex_login is not None


def _check_key(settings: Settings, agent: Agent) -> None:
    if not agent.sessions or not agent.key_variables or settings.of(agent.name).key is not None:
        return
    if _is_signed_in(settings, agent):
        return
    first, *others = agent.key_variables
    or_others = f" (or {', '.join(others)})" if others else ""
    raise UsageError(
        f"{agent.name} has no key and no login" if agent.name == "codex" else f"{agent.name} has no key",
        hint=f"set {first}{or_others}{', or sign in: codex login' if agent.name == 'codex' else ''}; "
        f"or try the table without {'either' if agent.name == 'codex' else 'one'}: teamster rehearse TABLE",
    )


def _check_needed(settings: Settings, agent: Agent, sandbox: str) -> None:
    missing = [name for name in agent.needed_programs(sandbox) if _found(name, settings.agent_env) is None]
    if missing:
        raise AgentUnusable(
            f"{agent.name} can't keep to the sandbox {sandbox}: {' and '.join(missing)} can't be found",
            hint="install the packages bubblewrap and socat, or write `sandbox: read-only` or `danger-full-access`",
        )


def _check_program(settings: Settings, agent: Agent) -> str | None:
    missing = agent.check_help([_ask(settings, agent, argv) for argv in agent.help_argvs])
    if missing:
        raise AgentUnusable(
            f"{agent.name} does not know {', '.join(missing)}",
            hint=f"install the version that this release was tested with: {_install(agent)}",
        )
    return None if agent.version_argv is None else agent.parse_version(_ask(settings, agent, agent.version_argv))


def _ask(settings: Settings, agent: Agent, argv: tuple[str, ...]) -> str:
    env = dict(settings.agent_env)
    program = PROGRAMS.get(agent.name)
    other = "" if program is None else f"name the program with {program.variable}"
    try:
        result = run_tool(
            argv, cwd=Path("/"), env=env, timeout_seconds=PROBE_SECONDS_MAX, output_bytes_max=PROBE_BYTES_MAX
        )
    except WorldError as error:
        raise AgentUnusable(
            f"{agent.name} can't be run: {error.fact}", hint=f"install it: {_install(agent)}; or {other}"
        ) from error
    if result.timed_out or result.exit_code != 0:
        how = f"gave no answer in {PROBE_SECONDS_MAX:g} s" if result.timed_out else f"exits {result.exit_code}"
        raise AgentUnusable(f"{' '.join(argv)} {how}", hint=other)
    return (result.stdout + b"\n" + result.stderr).decode("utf-8", "replace")


def _install(agent: Agent) -> str:
    program = PROGRAMS.get(agent.name)
    return "see the package that brings it" if program is None else program.install
