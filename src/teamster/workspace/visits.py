"""Who is at work in a workspace, so that the facts can say that somebody else was. Under the workspace's lock."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from teamster.kit import make_folder, write_snapshot

SHARED: Final = b"shared\n"
VISIT_SECONDS_MAX: Final = 24 * 3600.0  # whoever came before that and never left has died


class Visits:
    """One file for each attempt that has begun and not ended; it grows a word when another attempt comes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def arrive(self, visit: str, *, now: datetime) -> bool:
        """Note that an attempt begins; tell those who are here, and return whether there are any."""
        make_folder(self._folder)
        others = [place for place in self._folder.iterdir() if place.name != visit and self._is_recent(place, now)]
        for place in others:
            place.write_bytes(SHARED)
        write_snapshot(self._folder / visit, b"")
        return bool(others)

    def leave(self, visit: str) -> bool:
        """Note that an attempt has ended, and return whether another one came while it was here."""
        place = self._folder / visit
        try:
            came = place.read_bytes() == SHARED
        except FileNotFoundError:
            return False
        place.unlink()
        return came

    def _is_recent(self, place: Path, now: datetime) -> bool:
        if now.timestamp() - place.stat().st_mtime < VISIT_SECONDS_MAX:
            return True
        place.unlink()
        return False
