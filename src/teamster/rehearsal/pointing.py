"""How each agent program is pointed at the scripted model: settings and variables, as values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Template
from typing import Final

from teamster.rehearsal.codex import MODEL_KEY, MODEL_KEY_VARIABLE, codex_arguments
from teamster.rehearsal.conversation import HEADER_VARIABLES, Conversation

PROVIDER: Final = "rehearsal"
MODEL_NAME: Final = "scripted"
QUIET_MILLISECONDS_MAX: Final = 90_000_000
"""Longer than any scripted delay: a delay is a slow model, not a broken one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointing:
    """What one agent program needs to ask the scripted model instead of its own.

    `arguments` stand before all others of the program. In the values of `env`, `${TEAMSTER_JOB_ID}`,
    `${TEAMSTER_STEP_ID}` and `${TEAMSTER_ATTEMPT}` stand for the attempt's own. The key belongs into `key_variable`.
    A program that takes no model but those that it knows is called with `model`; None: any name will do, or none.
    """

    key_variable: str
    key: str = MODEL_KEY
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None

    def env_for(self, conversation: Conversation) -> Mapping[str, str]:
        """Return all variables that the program needs for one attempt, the key included."""
        values = (conversation.job_id, conversation.step_id, str(conversation.attempt_number))
        named = dict(zip(HEADER_VARIABLES.values(), values, strict=True))
        filled = {name: Template(value).safe_substitute(named) for name, value in self.env.items()}
        return {**named, **filled, self.key_variable: self.key}


def pointing_of(agent: str, base_url: str) -> Pointing | None:
    """Return what points an agent program at the model whose address ends in `/v1`; None for one that has no model."""
    point = _POINTINGS.get(agent)
    return None if point is None else point(base_url)


def _codex(base_url: str) -> Pointing:
    return Pointing(key_variable=MODEL_KEY_VARIABLE, arguments=codex_arguments(base_url))


def _claude(base_url: str) -> Pointing:
    headers = "\n".join(f"{header}: ${{{variable}}}" for header, variable in HEADER_VARIABLES.items())
    return Pointing(
        key_variable="ANTHROPIC_API_KEY",
        env={
            "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1"),
            "ANTHROPIC_CUSTOM_HEADERS": headers,
            "API_TIMEOUT_MS": str(QUIET_MILLISECONDS_MAX),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
        },
    )


def _opencode(base_url: str) -> Pointing:
    options = {
        "baseURL": base_url,
        "apiKey": f"{{env:{MODEL_KEY_VARIABLE}}}",
        "headers": {header: f"{{env:{variable}}}" for header, variable in HEADER_VARIABLES.items()},
        "timeout": False,
    }
    provider = {"npm": "@ai-sdk/openai-compatible", "name": PROVIDER, "options": options, "models": {MODEL_NAME: {}}}
    configuration = {
        "provider": {PROVIDER: provider},
        "model": f"{PROVIDER}/{MODEL_NAME}",
        "small_model": f"{PROVIDER}/{MODEL_NAME}",
    }
    return Pointing(
        key_variable=MODEL_KEY_VARIABLE,
        env={
            "OPENCODE_CONFIG_CONTENT": json.dumps(configuration),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        model=f"{PROVIDER}/{MODEL_NAME}",
    )


_POINTINGS: Final[Mapping[str, Callable[[str], Pointing]]] = {
    "codex": _codex,
    "claude": _claude,
    "opencode": _opencode,
}
AGENTS: Final = tuple(_POINTINGS)
