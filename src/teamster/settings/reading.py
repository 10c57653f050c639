"""Settings from all that says something about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from teamster.settings.environment import is_passed
from teamster.settings.layers import ConfigText, layers
from teamster.settings.settings import KEY_VARIABLES, Settings


def settings_from(
    env: Mapping[str, str], *, file: ConfigText | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Return the defaults, overlaid by the file, by the environment, and by flags.

    Raises:
        ConfigProblems: the file can't be taken; every problem is listed.
        UsageError: a variable or a flag has no usable value.
    """
    values = {name: origin.value for name, origin in layers(env, file=file, flags=flags).items()}
    settings = Settings(**values, agent_env={name: value for name, value in env.items() if is_passed(name)})
    for name in KEY_VARIABLES:
        if key := env.get(name, "").strip():
            return replace(settings, key_variable=name, key=key)
    return settings
