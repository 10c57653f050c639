"""Checks the agents before the first attempt: a renamed flag or a missing key would fail a whole batch in seconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from teamster.agents import Agent
from teamster.model import AgentUnusable, Table, UsageError, WorldError
from teamster.operations.harness import Harness
from teamster.process import run_tool

PROBE_SECONDS_MAX: Final = 20.0
PROBE_BYTES_MAX: Final = 1 << 20
DEFAULT_PATH: Final = "/usr/bin:/bin"  # what a program is looked for in where the environment names no PATH


def check_agents(harness: Harness, wanted: Iterable[str]) -> Mapping[str, str | None]:
    """Return the versions of the agents that a batch needs.

    Raises:
        AgentUnusable: a program is missing, can't be run, or lacks a flag that we need.
        UsageError: an agent needs a key or a login, and there is none that can be used.
    """
    return {name: _check(harness, harness.agents[name]) for name in sorted(set(wanted))}


def check_programs(table: Table, env: Mapping[str, str]) -> None:
    """Look for the programs that `command` steps name, where their agents will look for them.

    One that is named by a path, or by a placeholder, is known when the step begins.

    Raises:
        AgentUnusable: one is in no folder of the PATH.
    """
    searched = env.get("PATH", DEFAULT_PATH)
    folders = os.pathsep.join(folder for folder in searched.split(os.pathsep) if folder.startswith("/"))
    wanted: dict[str, str] = {}  # each program is looked for once, however many steps name it
    for job in table.jobs:
        for step in job.steps:
            wanted.setdefault(step.agent.command[0] if step.agent.command else "/", f"{job.job_id}.{step.step_id}")
    for program, step_named in wanted.items():
        if not {"/", "{"} & set(program) and shutil.which(program, path=folders) is None:
            raise AgentUnusable(
                f"step {step_named} wants the program {program}, which is not on the PATH that agents get",
                hint=f"install it, or write its whole path; agents get PATH={searched}",
            )


def _check(harness: Harness, agent: Agent) -> str | None:
    missing = agent.check_help([_ask(harness, agent, argv) for argv in agent.help_argvs])
    if missing:
        raise AgentUnusable(
            f"{agent.name} does not know {', '.join(missing)}",
            hint="install the version that this release was tested with: pip install 'teamster[codex]'",
        )
    if agent.sessions and harness.settings.key is None:
        _check_login(harness, agent)
    return None if agent.version_argv is None else agent.parse_version(_ask(harness, agent, agent.version_argv))


def _check_login(harness: Harness, agent: Agent) -> None:
    broker = harness.logins.of(agent.name)
    if broker is None:
        raise UsageError(
            f"{agent.name} has no key and no login",
            hint="set CODEX_API_KEY (or OPENAI_API_KEY), or sign in: codex login; "
            "or try the table without either: teamster rehearse TABLE",
        )
    broker.check()


def _ask(harness: Harness, agent: Agent, argv: tuple[str, ...]) -> str:
    env = dict(harness.settings.agent_env)
    try:
        result = run_tool(
            argv, cwd=Path("/"), env=env, timeout_seconds=PROBE_SECONDS_MAX, output_bytes_max=PROBE_BYTES_MAX
        )
    except WorldError as error:
        raise AgentUnusable(
            f"{agent.name} can't be run: {error.fact}",
            hint="install it: pip install 'teamster[codex]'; or name the program with TEAMSTER_CODEX",
        ) from error
    if result.timed_out or result.exit_code != 0:
        how = f"gave no answer in {PROBE_SECONDS_MAX:g} s" if result.timed_out else f"exits {result.exit_code}"
        raise AgentUnusable(f"{' '.join(argv)} {how}", hint="name another program with TEAMSTER_CODEX")
    return result.stdout.decode("utf-8", "replace")
