"""Typed settings: every bound has a name and a unit.

May touch nothing: the environment and flags come in as values. Must not read files or the environment by itself.
"""

from teamster.settings.environment import PASSED_VARIABLES, is_passed
from teamster.settings.settings import KEY_VARIABLES, Settings, StoreLimits, settings_from

__all__ = ["KEY_VARIABLES", "PASSED_VARIABLES", "Settings", "StoreLimits", "is_passed", "settings_from"]
