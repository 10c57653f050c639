"""Two harnesses that start at once after a crash: each item is taken once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runner.parts import step
from runner.scene import Scene
from teamster.kit import FileLock, RandomNames
from teamster.model import Attempt, ItemStatus
from teamster.runner.runner import TAKE_OVER_LOCK

S = ItemStatus


@pytest.mark.req("DC-own", "DC-claim")
def test_each_item_is_taken_once(tmp_path: Path) -> None:
    """A doubled adoption would be two masters, a doubled loss two tries."""
    scene = Scene(tmp_path, names=RandomNames())
    scene.submit(step(), jobs=4)
    first = scene.harness()
    first.tick()
    first.die()
    scene.machine.kill(next(iter(scene.machine._runs.values())).shim)
    both = [scene.harness(), scene.harness()]
    gate, adopted = threading.Barrier(2), list[Attempt]()

    def start(number: int) -> None:
        gate.wait(timeout=20.0)
        adopted.extend(both[number].tick(taking=False).adopted)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20.0)
    scene.clock.advance(10.0)  # whoever found the other at work left everything to the next round
    for harness in both:
        adopted.extend(harness.tick(taking=False).adopted)

    assert len({attempt.run_id for attempt in adopted}) == len(adopted) == 3
    items = list(scene.store.items())
    assert sorted(item.status.value for item in items) == ["running", "running", "running", "stalled"]
    assert [item.recoveries for item in items if item.status is S.STALLED] == [1]
    assert scene.faults() == []
    scene.close()


def test_who_looked_before_the_other_took_it_is_refused(scene: Scene) -> None:
    """What was read is no right to write: the store decides, by rev."""
    scene.submit(step())
    first = scene.harness()
    first.tick()
    first.die()
    second, third = scene.harness(), scene.harness()
    [dead] = second.crew.recovery.end_dead_shifts(mine=second.duty.shift.shift_id, at=scene.now)
    left = third.crew.recovery.left(dead)
    second.tick()

    assert third.runner._adopt(left, scene.now) == ()

    assert third.runner.carried == []
    assert scene.item().shift_id == second.duty.shift.shift_id


def test_a_second_one_waits_while_the_first_is_at_it(scene: Scene) -> None:
    """What a lost attempt left has one writer at a time; who comes later looks again."""
    scene.submit(step())
    first = scene.harness()
    first.tick()
    first.die()
    second = scene.harness()
    with FileLock(scene.root.at(TAKE_OVER_LOCK)):
        assert second.tick().adopted == ()

    assert len(second.tick().adopted) == 1
