"""A shift is kept alive by a thread of its own, and its holder stops trusting it before anybody else may."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.scene import ORPHAN_SECONDS, TTL_SECONDS, Harness, Scene
from teamster.kit import Instant, ManualClock, SystemClock, is_locked
from teamster.model import Shift, ShiftId, StoreUnavailable
from teamster.runner import ShiftOnDuty, ShiftPlaces
from teamster.runner.shift import MARGIN_OF_TTL
from teamster.store import MemoryStore, Store

DEADLINE_SECONDS = 20.0
SHORT_TTL_SECONDS = 0.3


@pytest.fixture
def harness(scene: Scene) -> Harness:
    """Give a harness on duty that nobody renews."""
    return scene.harness()


@pytest.mark.req("DC-lease")
def test_its_lock_and_its_deadline_are_there_before_its_row(scene: Scene, harness: Harness) -> None:
    """A row without a held lock would look dead."""
    places = harness.duty.places

    assert is_locked(places.lock) is True
    assert float(places.deadline.read_text()) == scene.now.boot_seconds + ORPHAN_SECONDS
    assert [shift.shift_id for shift in scene.store.shifts()] == [harness.duty.shift.shift_id]


@pytest.mark.req("DC-lease")
def test_it_is_trusted_to_a_margin_before_its_end(scene: Scene, harness: Harness) -> None:
    """The gap absorbs what passes between a look at the clock and a write."""
    scene.clock.advance(TTL_SECONDS * (1 - MARGIN_OF_TTL) - 0.001)
    assert not harness.duty.is_over

    scene.clock.advance(0.001)

    assert harness.duty.is_over


def test_a_renewal_moves_lease_trust_and_deadline_on(scene: Scene, harness: Harness) -> None:
    """Its agents live as long as somebody watches."""
    scene.clock.advance(TTL_SECONDS / 3)

    harness.duty.renew(harness.store)

    [shift] = scene.store.shifts()
    assert shift.expires_boot_seconds == scene.now.boot_seconds + TTL_SECONDS
    assert float(harness.duty.places.deadline.read_text()) == scene.now.boot_seconds + ORPHAN_SECONDS
    scene.clock.advance(TTL_SECONDS * (1 - MARGIN_OF_TTL) - 0.001)
    assert not harness.duty.is_over


def test_a_lease_that_is_gone_never_comes_back(scene: Scene, harness: Harness) -> None:
    """Somebody ended it: not even the clock says so yet, but nothing may be written any more."""
    scene.store.end_shift(harness.duty.shift.shift_id, at=scene.now)

    harness.duty.renew(harness.store)

    assert harness.duty.is_over


def test_a_shift_that_was_over_for_a_moment_stays_over(scene: Scene, harness: Harness) -> None:
    """Somebody acted on it: a renewal that comes late must not make it right again by half."""
    scene.clock.advance(TTL_SECONDS * (1 - MARGIN_OF_TTL))
    assert harness.duty.is_over

    harness.duty.renew(harness.store)

    assert harness.duty.is_over


class AwayStore(MemoryStore):
    """A store that can't be reached."""

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Be away."""
        raise StoreUnavailable(f"{shift_id} at {at.wall}: no route to the store")


def test_a_store_that_is_away_is_asked_again(scene: Scene, harness: Harness) -> None:
    """One lost beat of three is no reason to stop; what counts is what was confirmed."""
    harness.duty.renew(AwayStore())
    assert not harness.duty.is_over

    scene.clock.advance(TTL_SECONDS * (1 - MARGIN_OF_TTL))

    assert harness.duty.is_over


class SlowStore(MemoryStore):
    """A store whose answers take their time."""

    clock: ManualClock

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Renew, and answer late."""
        shift = super().renew_shift(shift_id, at=at)
        self.clock.advance(TTL_SECONDS / 2)
        return shift


def test_agents_never_outlive_a_lease_whose_answer_came_late(scene: Scene, harness: Harness) -> None:
    """Another host may take over when the lease is over: what counts is when it was renewed, not when we heard."""
    slow = SlowStore()
    slow.clock = scene.clock
    slow.begin_shift(harness.duty.shift)
    asked = scene.now.boot_seconds

    harness.duty.renew(slow)

    assert float(harness.duty.places.deadline.read_text()) == asked + ORPHAN_SECONDS


class ShutStore(MemoryStore):
    """A store that lets nobody begin."""

    def begin_shift(self, shift: Shift) -> None:
        """Be away."""
        raise StoreUnavailable(f"{shift.shift_id}: no route to the store")


def test_a_shift_that_could_not_begin_leaves_nothing(scene: Scene) -> None:
    """A server that is away is asked again and again: each time with a fresh shift."""
    began = scene.harness().duty
    folder = scene.folder / "shut"
    places = ShiftPlaces(lock=folder / "lock", deadline=folder / "deadline")
    duty = ShiftOnDuty(
        began.shift,
        places=places,
        clock=scene.clock,
        open_store=ShutStore,
        orphan_seconds_max=ORPHAN_SECONDS,
        wake=lambda: None,
    )

    with pytest.raises(StoreUnavailable):
        duty.begin(ShutStore())

    assert list(folder.iterdir()) == []


def test_a_full_disk_does_not_end_the_renewals(scene: Scene, harness: Harness) -> None:
    """The lease was renewed; the deadline of its agents has time until the next beat."""
    place = harness.duty.places.deadline
    place.unlink()
    place.mkdir()
    scene.clock.advance(TTL_SECONDS / 2)

    harness.duty.renew(harness.store)

    scene.clock.advance(TTL_SECONDS / 2)
    assert not harness.duty.is_over
    place.rmdir()
    harness.duty.renew(harness.store)
    assert place.is_file()


def test_the_end_leaves_nothing(scene: Scene, harness: Harness) -> None:
    """What still runs can be adopted at once."""
    harness.duty.end(harness.store)

    assert list(harness.duty.places.lock.parent.iterdir()) == []
    assert [shift.ended_at for shift in scene.store.shifts(ended=True)] == [scene.now.wall]
    assert list(scene.store.shifts()) == []


class HeardStore(MemoryStore):
    """A store that tells when somebody renews."""

    heard: threading.Semaphore

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Renew, and tell."""
        try:
            return super().renew_shift(shift_id, at=at)
        finally:
            self.heard.release()


class Beating:
    """A shift with a real clock, a short TTL and its thread."""

    def __init__(self, scene: Scene) -> None:
        clock = SystemClock()
        now = clock.now()
        first = HeardStore()
        first.heard = threading.Semaphore(0)
        self.store, self.woken = first, threading.Event()
        end = now.after(SHORT_TTL_SECONDS)
        shift = replace(
            scene.harness().duty.shift,
            shift_id=ShiftId("beating"),
            boot_id=now.boot_id,
            ttl_seconds=SHORT_TTL_SECONDS,
            expires_at=end.wall,
            expires_boot_seconds=end.boot_seconds,
        )
        self.duty = ShiftOnDuty(
            shift,
            places=ShiftPlaces(lock=scene.folder / "duty" / "lock", deadline=scene.folder / "duty" / "deadline"),
            clock=clock,
            open_store=self.open,
            orphan_seconds_max=ORPHAN_SECONDS,
            wake=self.woken.set,
        )
        self.duty.begin(first)
        self.duty.start_renewing()

    def open(self) -> Store:
        """Open a connection of its own for the thread: here the same state."""
        return self.store

    def beats(self, count: int) -> None:
        """Wait for so many renewals."""
        for _ in range(count):
            assert self.store.heard.acquire(timeout=DEADLINE_SECONDS), "nobody renews"


@pytest.fixture
def beating(scene: Scene) -> Iterator[Beating]:
    """Give a shift that is renewed."""
    made = Beating(scene)
    yield made
    made.duty.let_go()


@pytest.mark.req("DC-lease", "DC-beat")
def test_a_thread_renews_it_for_as_long_as_it_is_on_duty(beating: Beating) -> None:
    """However long a tick takes, the lease is kept: this one outlives its first TTL."""
    beating.beats(6)

    assert not beating.duty.is_over


def test_a_lease_that_is_lost_wakes_the_loop_and_ends_the_thread(beating: Beating) -> None:
    """The loop may be asleep; it must not start anything when it wakes up by itself."""
    beating.store.end_shift(beating.duty.shift.shift_id, at=SystemClock().now())

    assert beating.woken.wait(DEADLINE_SECONDS)
    assert beating.duty.is_over
    assert beating.duty._thread is not None
    beating.duty._thread.join(DEADLINE_SECONDS)
    assert not beating.duty._thread.is_alive()


def test_letting_go_frees_the_lock_and_keeps_the_row(beating: Beating, tmp_path: Path) -> None:
    """That is what a kill leaves behind."""
    assert is_locked(tmp_path / "duty" / "lock") is True

    beating.duty.let_go()

    assert is_locked(tmp_path / "duty" / "lock") is False
    assert [shift.ended_at for shift in beating.store.shifts()] == [None]
