"""A request to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from teamster.agents import Request
from teamster.model import RUN_REPORT_SCHEMA


def agent_request(**changes: Any) -> Request:
    """Return a request for a fresh attempt, with changes."""
    given: dict[str, Any] = {
        "prompt": "Fix the failing test.",
        "working_directory": Path("/work"),
        "home": Path("/attempt/home"),
        "scratch": Path("/attempt/scratch"),
        "staging": Path("/attempt/staging"),
        "run_id": "run_1",
        "job_id": "job_1",
        "step_id": "step1",
        "attempt": 2,
        "schema": RUN_REPORT_SCHEMA,
        "base_env": {"PATH": "/usr/bin", "HOME": "/homes/user", "AWS_SECRET_ACCESS_KEY": "not for agents"},
    }
    return Request(**{**given, **changes})
