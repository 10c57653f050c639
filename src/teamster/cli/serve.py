"""Serves the scripted model in front of a person, and says how each agent program is pointed at it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from teamster.cli.console import print_json, print_line
from teamster.operations import RootChoice, serve_scenario
from teamster.rehearsal import AGENTS, Conversation, Model, Pointing

WHO: Final = Conversation(job_id="job", step_id="step")
"""Whom the settings name, until somebody writes another."""

CALLS: Final[Mapping[str, str]] = {"codex": "codex exec", "claude": "claude -p", "opencode": "opencode run"}
"""How each program is called; its settings and a prompt follow."""


def serve(choice: RootChoice, *, scenario: Path | None, port: int, as_json: bool) -> None:
    """Serve until a signal comes; say first where, and with which settings each program asks there."""

    def tell(model: Model) -> None:
        if as_json:
            print_json(_as_json(model, scenario))
        else:
            for line in _lines(model, scenario):
                print_line(line)

    serve_scenario(choice, scenario=scenario, port=port, tell=tell)


def _pointings(model: Model) -> Mapping[str, Pointing]:
    found = {agent: model.pointing(agent) for agent in AGENTS}
    return {agent: pointing for agent, pointing in found.items() if pointing is not None}


def _as_json(model: Model, scenario: Path | None) -> Mapping[str, Any]:
    agents = {
        agent: {"arguments": list(found.arguments), "env": dict(found.env_for(WHO)), "model": found.model}
        for agent, found in _pointings(model).items()
    }
    named = None if scenario is None else str(scenario)
    return {"base_url": model.base_url, "folder": str(model.folder), "scenario": named, "agents": agents}


def _lines(model: Model, scenario: Path | None) -> Sequence[str]:
    plays = "every step answers `ok`" if scenario is None else f"plays {scenario}"
    told = [f"The scripted model listens at {model.base_url}: {plays}. Ctrl-C ends it."]
    told.append(f"What it is asked stands in {model.requests_path}.")
    told.append("Each attempt follows the script of TEAMSTER_JOB_ID.TEAMSTER_STEP_ID, attempt TEAMSTER_ATTEMPT.")
    for agent, found in _pointings(model).items():
        variables = [f"export {name}={shlex.quote(value)}" for name, value in sorted(found.env_for(WHO).items())]
        chosen = () if found.model is None else ("--model", found.model)
        call = " ".join([CALLS[agent], *map(shlex.quote, (*found.arguments, *chosen)), "PROMPT"])
        told += ["", f"# {agent}", *variables, call]
    told += ["", "# any other program: the key says who asks", *_for_others(model)]
    return told


def _for_others(model: Model) -> Sequence[str]:
    bare = model.base_url.removesuffix("/v1")
    key = WHO.key
    return [
        f"export OPENAI_BASE_URL={model.base_url} OPENAI_API_KEY={key}",
        f"export ANTHROPIC_BASE_URL={bare} ANTHROPIC_API_KEY={key}",
    ]
