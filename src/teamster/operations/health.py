"""`health.json`: how a runner is, for whoever looks at its files."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from teamster.artifacts import Root, health_path
from teamster.kit import Instant, document, iso, make_folder, write_snapshot
from teamster.model import JsonObject, RunnerId

TELL_SECONDS: Final = 10.0
PROC: Final = Path("/proc")
PROC_BYTES_MAX: Final = 64 * 1024
_AVAILABLE: Final = re.compile(r"^MemAvailable:\s+(\d+) kB", re.MULTILINE)
_TOTAL: Final = re.compile(r"^MemTotal:\s+(\d+) kB", re.MULTILINE)
_PRESSURE: Final = re.compile(r"^some avg10=([0-9.]+)", re.MULTILINE)
KIB: Final = 1024


@dataclass(slots=True)
class Health:
    """Tells how a runner is, so often, and at once when it stops taking work."""

    root: Root
    runner_id: RunnerId
    proc: Path = PROC
    _told_at: float = field(default=float("-inf"))
    _told_draining: bool = False

    def tell(self, at: Instant, *, slots: int, running: int, draining: bool) -> None:
        """Write the snapshot where it is time."""
        if at.boot_seconds - self._told_at < TELL_SECONDS and draining == self._told_draining:
            return
        self._told_at, self._told_draining = at.boot_seconds, draining
        place = self.root.at(health_path(self.runner_id))
        make_folder(place.parent)
        write_snapshot(place, document(self._snapshot(at, slots=slots, running=running, draining=draining)))

    def _snapshot(self, at: Instant, *, slots: int, running: int, draining: bool) -> JsonObject:
        disk = os.statvfs(self.root.path)
        memory, pressure = self._read("meminfo"), self._read("pressure/memory")
        return {
            "runner_id": self.runner_id,
            "last_seen_at": iso(at.wall),
            "capacity": slots,
            "running_steps": running,
            "disk_free_bytes": disk.f_bavail * disk.f_frsize,
            "memory_available_bytes": _number(_AVAILABLE, memory, times=KIB),
            "memory_total_bytes": _number(_TOTAL, memory, times=KIB),
            "memory_pressure_percent": _number(_PRESSURE, pressure, times=1),
            "drain_mode": draining,
        }

    def _read(self, name: str) -> str:
        with contextlib.suppress(OSError), (self.proc / name).open("rb") as file:
            return file.read(PROC_BYTES_MAX).decode("ascii", "replace")
        return ""


def _number(pattern: re.Pattern[str], text: str, *, times: int) -> float | int | None:
    """Find a number that a kernel tells, None where this one doesn't."""
    found = pattern.search(text)
    if found is None:
        return None
    return float(found[1]) if "." in found[1] else int(found[1]) * times
