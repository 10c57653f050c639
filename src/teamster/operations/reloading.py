"""The operator's file, looked at again while a harness works: a good change is taken, a bad one told, once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import structlog

from teamster.kit import Instant
from teamster.model import InputProblems, UsageError
from teamster.operations.config import Configuration
from teamster.settings import OPTIONS, Settings

_log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 2.0
PROBLEMS_TOLD_MAX: Final = 3
Signature = tuple[int, int, int] | None


class Reloading:
    """Looks so often whether the file is another one. The last good one holds."""

    def __init__(self, path: Path | None, read: Callable[[], Configuration]) -> None:
        self._path = path
        self._read = read
        self._known = _signature(path)
        self._looked_at = 0.0

    def changed(self, settings: Settings, at: Instant) -> Settings | None:
        """Return settings with what the file says now; None where nothing changed, or it can't be taken."""
        if at.boot_seconds - self._looked_at < LOOK_SECONDS:
            return None
        self._looked_at = at.boot_seconds
        found = _signature(self._path)
        if found == self._known:
            return None
        self._known = found
        try:
            return _taken(settings, self._read())
        except UsageError as error:
            problems = error.problems[:PROBLEMS_TOLD_MAX] if isinstance(error, InputProblems) else ()
            _log.warning("the last good settings hold", fact=error.fact, problems=[str(each) for each in problems])
            return None


def _taken(settings: Settings, found: Configuration) -> Settings | None:
    """Take what may change under a harness that works, and say what waits for its next start."""
    new: Mapping[str, Any] = {name: origin.value for name, origin in found.origins.items()}
    waiting = [
        option.name for option in OPTIONS if not option.reloads and getattr(settings, option.name) != new[option.name]
    ]
    if waiting:
        _log.warning("these settings are taken at the next start", settings=waiting)
    changed = replace(settings, **{option.name: new[option.name] for option in OPTIONS if option.reloads})
    return None if changed == settings else changed


def _signature(path: Path | None) -> Signature:
    """Tell a file from the one that was there before; an editor replaces it, or writes into it."""
    if path is None:
        return None
    try:
        found = os.stat(path)  # noqa: PTH116 - a name is enough
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
