"""Requests to start from: one attempt, with changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from teamster.agents import Request
from teamster.model import RUN_REPORT_SCHEMA

THREAD: Final = "01a1f597-4370-79b2-a48a-fada053bd682"
KEY: Final = "sk-a-key-that-nobody-may-see"
USERS_ENV: Final = {
    "PATH": "/usr/bin",
    "HOME": "/homes/user",
    "LC_ALL": "C.UTF-8",
    "https_proxy": "http://proxy:3128",
    "TERM": "xterm-256color",
    "TMPDIR": "/homes/user/tmp",
    "OPENAI_API_KEY": "sk-another-key",
    "AWS_SECRET_ACCESS_KEY": "not for agents",
    "CODEX_HOME": "/homes/user/.codex",
}


def request(**changes: Any) -> Request:
    """Return a request for a fresh attempt."""
    given: dict[str, Any] = {
        "prompt": "Fix the failing test.",
        "working_directory": Path("/repo"),
        "home": Path("/root-of-ours/codex_home"),
        "scratch": Path("/spool/scratch"),
        "staging": Path("/root-of-ours/staging"),
        "run_id": "run_1",
        "job_id": "job_1",
        "step_id": "step1",
        "attempt": 2,
        "schema": RUN_REPORT_SCHEMA,
        "key_variable": "CODEX_API_KEY",
        "key": KEY,
        "base_env": USERS_ENV,
    }
    return Request(**{**given, **changes})
