"""How Codex is pointed at the scripted model."""

from __future__ import annotations

import json
from typing import Final

from teamster.rehearsal.conversation import HEADER_VARIABLES

MODEL_KEY_VARIABLE: Final = "TEAMSTER_REHEARSAL_KEY"
MODEL_KEY: Final = "scripted-model-takes-any-key"
"""Stands where a paid model's key would, so that a rehearsal goes the key's whole way and no real key leaves home."""

PROVIDER: Final = "rehearsal"
STREAM_IDLE_SECONDS_MAX: Final = 90_000
"""Longer than any scripted delay: a delay is a slow model, not a broken one."""


def codex_arguments(base_url: str) -> tuple[str, ...]:
    """Return the `-c` settings that make Codex ask the model at `base_url`, and show a failure at once.

    Any model name will do: the script answers to all of them.
    """
    provider = f"model_providers.{PROVIDER}"
    settings = {
        "model_provider": PROVIDER,
        f"{provider}.name": PROVIDER,
        f"{provider}.base_url": base_url,
        f"{provider}.wire_api": "responses",
        f"{provider}.env_key": MODEL_KEY_VARIABLE,
        f"{provider}.request_max_retries": 0,
        f"{provider}.stream_max_retries": 0,
        f"{provider}.stream_idle_timeout_ms": STREAM_IDLE_SECONDS_MAX * 1000,
        **{f"{provider}.env_http_headers.{header}": variable for header, variable in HEADER_VARIABLES.items()},
    }
    return tuple(part for name, value in settings.items() for part in ("-c", f"{name}={json.dumps(value)}"))
