"""Settings from all that says something about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from teamster.model import UsageError
from teamster.settings.environment import is_passed
from teamster.settings.layers import ConfigText, layers
from teamster.settings.settings import KEY_VARIABLES, Settings

EMBEDDED_STORE: Final = "sqlite"
STORE_SCHEMES: Final = ("postgresql://", "postgres://")


def settings_from(
    env: Mapping[str, str], *, file: ConfigText | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Return the defaults, overlaid by the file, by the environment, and by flags.

    Raises:
        ConfigProblems: the file can't be taken; every problem is listed.
        UsageError: a variable or a flag has no usable value.
    """
    values = {name: origin.value for name, origin in layers(env, file=file, flags=flags).items()}
    settings = Settings(
        **values,
        agent_env={name: value for name, value in env.items() if is_passed(name)},
        store_url=_store_url(env),
    )
    for name in KEY_VARIABLES:
        if key := env.get(name, "").strip():
            return replace(settings, key_variable=name, key=key)
    return settings


def _store_url(env: Mapping[str, str]) -> str | None:
    """Return where the store is. It is no option that is shown, nor repeated here: it may hold a password."""
    text = env.get("TEAMSTER_STORE", "").strip()
    if not text or text == EMBEDDED_STORE:
        return None
    if not text.startswith(STORE_SCHEMES):
        raise UsageError(
            f"TEAMSTER_STORE is neither `{EMBEDDED_STORE}` nor a URL of PostgreSQL",
            hint="unset it, or give it postgresql://USER@HOST:PORT/DATABASE",
        )
    return text
