"""Typed settings: every bound has a name and a unit.

May touch nothing: the environment and flags come in as values. Must not read files or the environment by itself.
"""

from teamster.settings.environment import PASSED_VARIABLES, is_passed
from teamster.settings.layers import FILE_BYTES_MAX, ConfigText, Origin, config_problems, layers
from teamster.settings.options import OPTIONS, Option
from teamster.settings.reading import settings_from
from teamster.settings.settings import KEY_VARIABLES, AgentSettings, Settings, StoreLimits

__all__ = [
    "FILE_BYTES_MAX",
    "KEY_VARIABLES",
    "OPTIONS",
    "PASSED_VARIABLES",
    "AgentSettings",
    "ConfigText",
    "Option",
    "Origin",
    "Settings",
    "StoreLimits",
    "config_problems",
    "is_passed",
    "layers",
    "settings_from",
]
