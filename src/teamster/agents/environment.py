"""The variables that an agent finds in its environment."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from teamster.agents.protocol import Request
from teamster.settings import is_passed


def passed(base_env: Mapping[str, str]) -> dict[str, str]:
    """Keep what may pass of the user's environment, for a program that has no terminal."""
    return {**{name: value for name, value in base_env.items() if is_passed(name)}, "TERM": "dumb"}


def identity(request: Request) -> dict[str, str]:
    """Say whom an agent works for: a program may want to know, and the scripted model must."""
    return {
        "TEAMSTER_RUN_ID": request.run_id,
        "TEAMSTER_JOB_ID": request.job_id,
        "TEAMSTER_STEP_ID": request.step_id,
        "TEAMSTER_ATTEMPT": str(request.attempt),
    }


def added(request: Request) -> dict[str, str]:
    """Return the variables that were asked for, each with the attempt's own names filled in."""
    own = identity(request)
    return {name: Template(value).safe_substitute(own) for name, value in request.variables.items()}
