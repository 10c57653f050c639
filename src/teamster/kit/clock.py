"""The clock: the one place that reads the machine's time."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One moment, as a person reads it and as a lease counts it.

    `boot_seconds` counts suspended time and never steps; it means something only together with `boot_id`.
    """

    wall: datetime
    boot_seconds: float
    boot_id: str

    def __post_init__(self) -> None:
        if self.wall.utcoffset() != timedelta(0):
            raise ValueError(f"{self.wall} is not in UTC")

    def after(self, seconds: float) -> Instant:
        """Return the moment `seconds` later on the same boot."""
        return replace(self, wall=self.wall + timedelta(seconds=seconds), boot_seconds=self.boot_seconds + seconds)


class Clock(Protocol):
    """Says what time it is."""

    def now(self) -> Instant:
        """Return the present moment."""
        ...


class SystemClock:
    """The machine's own clock."""

    def __init__(self) -> None:
        self._boot_id = BOOT_ID_PATH.read_text(encoding="ascii").strip()

    def now(self) -> Instant:
        """Return the present moment."""
        return Instant(
            wall=datetime.now(UTC),
            boot_seconds=time.clock_gettime(time.CLOCK_BOOTTIME),
            boot_id=self._boot_id,
        )


class ManualClock:
    """A clock that stands still until it is moved: for tests and simulations."""

    def __init__(self, *, boot_id: str = "boot-1") -> None:
        self._now = Instant(wall=datetime(2026, 1, 14, 17, 30, tzinfo=UTC), boot_seconds=1000.0, boot_id=boot_id)

    def now(self) -> Instant:
        """Return the moment that it was last moved to."""
        return self._now

    def advance(self, seconds: float) -> Instant:
        """Move on by `seconds` and return the new moment."""
        self._now = self._now.after(seconds)
        return self._now


def iso(moment: datetime) -> str:
    """Write a UTC moment as contract v1 wants it: ISO-8601, microseconds, `Z`."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def from_iso(text: str) -> datetime:
    """Read what `iso` wrote, or any ISO-8601 moment that names its offset.

    Raises:
        ValueError: the text is no moment, or names no offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is beyond the years that we know") from None
