"""What dead shifts left: living agents are adopted, records taken over, the rest is ended and counted as lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import Final

from teamster.artifacts import SPOOL, Root, shift_deadline, shift_lock
from teamster.kit import Instant, is_locked
from teamster.model import OWNED_STATUSES, Attempt, HostId, Item, ProcessIdentity, RootId, RunId, Shift, ShiftId
from teamster.process import Liveliness, Liveness
from teamster.runner.carried import places_of, trace_of
from teamster.runner.logins import Logins
from teamster.runner.spools import sweep
from teamster.runner.streams import open_plain
from teamster.store import Store

ITEMS_PER_SHIFT_MAX: Final = 10_000


class Standing(Enum):
    """What may be done about somebody else's shift."""

    LIVES = auto()  # leave it alone
    OVER = auto()  # its process is gone, or it gave its lease back
    OVERSLEPT = auto()  # its lease ran out, and its process may still be there


def standing(shift: Shift, *, lock_held: bool | None, same_host: bool, at: Instant) -> Standing:
    """Judge a shift by its lock, and by its lease where the lock says nothing. Pure."""
    if shift.ended_at is not None:
        return Standing.OVER
    if same_host and shift.boot_id != at.boot_id:
        return Standing.OVER  # no process survives a boot
    if same_host and lock_held is False:
        return Standing.OVER
    if shift.boot_id == at.boot_id:
        expired = at.boot_seconds >= shift.expires_boot_seconds
    else:
        expired = at.wall >= shift.expires_at
    if not expired:
        return Standing.LIVES
    return Standing.OVERSLEPT if same_host else Standing.OVER


def has_run_out(shift: Shift, *, at: Instant) -> bool:
    """Tell whether nothing can run any more under a shift of another root. Pure; `at` is the store's moment.

    Its lock, its processes and its files lie elsewhere: from here they look as if they were gone. A lease that was
    given back says no more: agents live on without a harness, though none longer than the lease that it had last.
    """
    return at.wall >= shift.expires_at


def is_held(item: Item, *, at: Instant) -> bool:
    """Tell whether a heartbeat of its own holds an item beyond its shift. Pure."""
    return item.lease is not None and at.wall < item.lease.expires_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """An item of a dead shift, with what became of its attempt."""

    item: Item
    attempt: Attempt | None
    liveness: Liveness
    elsewhere: RootId | None = None  # another root, beneath which its files lie


class Recovery:
    """Finds dead shifts and says what is left of them. It ends processes and shifts, and changes no item."""

    def __init__(
        self,
        *,
        store: Store,
        root: Root,
        host_id: HostId,
        liveliness: Liveliness,
        end_harness: Callable[[ProcessIdentity, Path], bool],
    ) -> None:
        self._store = store
        self._root = root
        self._host_id = host_id
        self._liveliness = liveliness
        self._end_harness = end_harness

    def end_dead_shifts(self, *, mine: ShiftId, at: Instant) -> tuple[Shift, ...]:
        """End every shift whose harness is gone or overslept, and return those that are over.

        What is not near is judged by the store's clock, read before its shifts: a lease that had run out then was not
        renewed since.
        """
        moment = self._store.moment(at)
        return tuple(
            shift for shift in self._store.shifts() if shift.shift_id != mine and self._is_over(shift, at=moment)
        )

    def left(self, shift: Shift) -> tuple[Left, ...]:
        """Look at each item of a shift that is over. What began and left nothing is ended here, to the last child."""
        elsewhere = None if shift.root_id == self._root.root_id else RootId(shift.root_id)
        is_near = elsewhere is None and shift.host_id == self._host_id
        return tuple(replace(self._look(item, is_near=is_near), elsewhere=elsewhere) for item in self._items(shift))

    def sweep(self, carried: Iterable[RunId], *, logins: Logins) -> None:
        """Remove what finished attempts left in the spool, and take back what they were lent.

        What is owned, or has a living shim, stays.
        """
        # Looked at first: who claims in between makes the folder after the commit, and is lent a login.
        lent = logins.lent()
        folders = [path for path in self._root.at(SPOOL).iterdir() if path.is_dir()]
        owned = frozenset({*carried, *self._owned_runs()})
        logins.settle(lent, owned)
        for folder in folders:
            if folder.name not in owned and not is_locked(folder / "lock"):
                sweep(folder)

    def _items(self, shift: Shift) -> Sequence[Item]:
        return self._store.items(shift_id=shift.shift_id, limit=ITEMS_PER_SHIFT_MAX)

    def _is_over(self, shift: Shift, *, at: Instant) -> bool:
        if shift.root_id != self._root.root_id:
            return self._has_run_out(shift, at=at)
        lock = self._root.at(shift_lock(shift.runner_id, shift.shift_id))
        same_host = shift.host_id == self._host_id
        held = is_locked(lock) if same_host else None
        match standing(shift, lock_held=held, same_host=same_host, at=at):
            case Standing.LIVES:
                return False
            case Standing.OVERSLEPT:
                identity = ProcessIdentity(boot_id=shift.boot_id, pid=shift.pid, start_ticks=shift.start_ticks)
                if not self._end_harness(identity, lock):
                    return False
            case Standing.OVER:
                pass
        self._store.end_shift(shift.shift_id, at=at)
        lock.unlink(missing_ok=True)
        self._root.at(shift_deadline(shift.runner_id, shift.shift_id)).unlink(missing_ok=True)
        return True

    def _has_run_out(self, shift: Shift, *, at: Instant) -> bool:
        if not has_run_out(shift, at=at) or any(is_held(item, at=at) for item in self._items(shift)):
            return False
        self._store.end_shift(shift.shift_id, at=at)
        return True

    def _look(self, item: Item, *, is_near: bool) -> Left:
        attempts = [attempt for attempt in self._store.attempts(item_id=item.item_id) if attempt.ended_at is None]
        if not attempts:
            return Left(item=item, attempt=None, liveness=Liveness.NEVER_BEGAN)
        attempt = attempts[-1]
        if not is_near:
            return Left(item=item, attempt=attempt, liveness=Liveness.GONE)
        trace = trace_of(attempt, places_of(attempt, self._root))
        liveness = self._liveliness.probe(trace)
        if liveness is Liveness.GONE:
            self._liveliness.end(trace)
        return Left(item=item, attempt=attempt, liveness=liveness)

    def _owned_runs(self) -> Iterator[RunId]:
        for status in OWNED_STATUSES:
            for item in self._store.items(status=status.value, limit=ITEMS_PER_SHIFT_MAX):
                yield from (attempt.run_id for attempt in self._store.attempts(item_id=item.item_id))


def keep_whole_lines(log: Path) -> int:
    """Cut a torn last line off an event log, as its dead writer left it, and count the whole ones."""
    descriptor = open_plain(log)
    if descriptor is None:
        return 0
    with os.fdopen(descriptor, "rb") as file:
        content = file.read()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(log, whole)
    return content.count(b"\n")
