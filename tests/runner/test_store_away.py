"""A store that can't be reached for a moment: what is done and paid for waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runner.parts import DONE, step
from runner.scene import Scene
from teamster.kit import Instant
from teamster.model import AttemptStatus, ItemStatus, ShiftId, StoreUnavailable
from teamster.store import Adoption, Answer, Change, MemoryStore, Store

S = ItemStatus


class AwayStore(MemoryStore):
    """A store whose machine can't be reached for a while."""

    away = 0

    def apply(self, changes: Sequence[Change], *, at: Instant, delivered: Sequence[int] = ()) -> Sequence[Answer]:
        """Be away so many times."""
        if self.away:
            self.away -= 1
            raise StoreUnavailable("no route to the store")
        return super().apply(changes, at=at, delivered=delivered)


@pytest.fixture
def away(tmp_path: Path) -> Iterator[Scene]:
    """Give a scene whose store can be away."""
    first = AwayStore()

    def open_store() -> Store:
        return first

    scene = Scene(tmp_path, open_store=open_store)
    yield scene
    scene.close()


class TestStoreAway:
    """A store that can't be reached for a moment."""

    def test_ends_wait_for_the_store(self, away: Scene) -> None:
        """The work is done and paid for: an outage must not lose it, nor do it again."""
        away.scripts["main"] = DONE
        away.submit(step())
        harness = away.harness()
        harness.tick()
        assert isinstance(away.store, AwayStore)
        away.store.away = 1

        assert harness.tick().ended == ()
        assert away.item().status is S.RUNNING
        [ended] = harness.tick().ended

        assert ended.status is AttemptStatus.SUCCEEDED
        assert away.item().status is S.SUCCEEDED
        assert len(away.machine.orders) == 1
        assert away.faults() == []

    def test_flushed_rows_are_not_forgotten(self, away: Scene) -> None:
        """They were told once: forgotten here, they would stay in the store for as long as this harness lives."""
        away.scripts["main"] = DONE
        away.submit(step())
        harness = away.harness()
        harness.tick()
        written = {row.seq for row in away.store.outbox()}
        harness.outbox._safe += harness.outbox.settle()  # all was flushed, and nobody was told yet
        assert isinstance(away.store, AwayStore)
        away.store.away = 1
        harness.tick()
        assert written <= {row.seq for row in away.store.outbox()}

        harness.tick()

        assert not written & {row.seq for row in away.store.outbox()}


class DeafStore(MemoryStore):
    """A store that does what it is asked for, and whose answer gets lost."""

    is_deaf = False

    def adopt(self, shift_id: ShiftId, adoptions: Sequence[Adoption], *, at: Instant) -> Sequence[Answer]:
        """Adopt, and tell nobody."""
        answers = super().adopt(shift_id, adoptions, at=at)
        if self.is_deaf:
            raise StoreUnavailable("the connection broke in the middle")
        return answers


@pytest.mark.req("DC-own")
def test_what_a_shift_owns_and_does_not_carry_is_adopted_by_the_next(tmp_path: Path) -> None:
    """Its shift lives: nobody else would ever look at it."""
    store = DeafStore()
    scene = Scene(tmp_path, open_store=lambda: store)
    scene.submit(step())
    first = scene.harness()
    first.tick()
    assert not first.runner.has_strays()
    first.die()

    second = scene.harness()
    store.is_deaf = True
    with pytest.raises(StoreUnavailable):
        second.tick()
    store.is_deaf = False
    second.tick()
    assert second.runner.has_strays()
    second.duty.end(store)
    third = scene.harness()
    adopted = third.tick().adopted

    assert [attempt.run_id for attempt in adopted] == [scene.run_id()]
    assert not third.runner.has_strays()
    scene.close()
