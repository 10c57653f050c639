"""A shift on duty: its row is renewed from a thread of its own, its lock is held, its deadline file is kept ahead."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from teamster.kit import Clock, FileLock, Instant, flush, make_folder, write_snapshot
from teamster.model import LeaseLost, Shift, StoreUnavailable
from teamster.store import Store

RENEWALS_PER_TTL: Final = 3
MARGIN_OF_TTL: Final = 0.1
JOIN_SECONDS_MAX: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftPlaces:
    """The files of one shift: its lock says that it lives, its deadline how long its agents may."""

    lock: Path
    deadline: Path


class ShiftOnDuty:
    """Keeps one shift alive. Renewing never queues behind other work: it has a thread and a connection of its own."""

    def __init__(
        self,
        shift: Shift,
        *,
        places: ShiftPlaces,
        clock: Clock,
        open_store: Callable[[], Store],
        orphan_seconds_max: float,
        wake: Callable[[], None],
    ) -> None:
        self.shift = shift
        self.places = places
        self._clock = clock
        self._open_store = open_store
        self._orphan_seconds_max = orphan_seconds_max
        self._wake = wake
        self._trusted_until = shift.expires_boot_seconds - MARGIN_OF_TTL * shift.ttl_seconds
        self._over = threading.Event()
        self._leave = threading.Event()
        self._lock: FileLock | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_over(self) -> bool:
        """The lease is gone, or may be by now: nothing may be written in its name any more.

        Once said it stays so: what was left out because of it must not be recorded under a renewal that came late.
        """
        if self._clock.now().boot_seconds >= self._trusted_until:
            self._over.set()
        return self._over.is_set()

    def begin(self, store: Store) -> None:
        """Take the lock, then write the row: a row without a held lock would look dead."""
        make_folder(self.places.lock.parent)
        self._lock = FileLock(self.places.lock)
        self._extend_deadline(self._clock.now())
        flush([self.places.lock, self.places.deadline, self.places.lock.parent])
        try:
            store.begin_shift(self.shift)
        except StoreUnavailable:
            self.let_go()
            self._remove_places()
            raise

    def start_renewing(self) -> None:
        """Renew from a thread until the shift is ended or lost."""
        self._thread = threading.Thread(target=self._renew_until_told, name=f"renew {self.shift.shift_id}", daemon=True)
        self._thread.start()

    def renew(self, store: Store) -> None:
        """Renew once; a lease that is gone is remembered, a store that is away is tried again by the next call."""
        asked = self._clock.now()
        try:
            shift = store.renew_shift(self.shift.shift_id, at=asked)
        except LeaseLost:
            self._over.set()
            self._wake()
        except StoreUnavailable:
            return
        else:
            self._trusted_until = shift.expires_boot_seconds - MARGIN_OF_TTL * shift.ttl_seconds
            with contextlib.suppress(OSError):  # a full disk may have room again at the next beat
                self._extend_deadline(asked)

    def end(self, store: Store) -> None:
        """Stop renewing and give the lease back; the agents that still run can be adopted at once."""
        self.let_go()
        store.end_shift(self.shift.shift_id, at=self._clock.now())
        self._remove_places()

    def let_go(self) -> None:
        """Stop renewing and free the lock; the row stays as it is."""
        self._leave.set()
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS_MAX)
        if self._lock is not None:
            self._lock.close()

    def _remove_places(self) -> None:
        self.places.lock.unlink(missing_ok=True)
        self.places.deadline.unlink(missing_ok=True)

    def _renew_until_told(self) -> None:
        store = self._open_store()
        try:
            while not self._leave.wait(self.shift.ttl_seconds / RENEWALS_PER_TTL) and not self._over.is_set():
                self.renew(store)
        finally:
            store.close()

    def _extend_deadline(self, confirmed: Instant) -> None:
        """Count from before the renewal was asked for: agents must not outlive a lease whose answer came late."""
        deadline = confirmed.boot_seconds + self._orphan_seconds_max
        write_snapshot(self.places.deadline, f"{deadline:.3f}\n".encode())
