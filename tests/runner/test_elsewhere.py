"""What a host with another root left is lost with it, once its lease is over, and nothing of that is written here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.parts import step
from runner.scene import ELSEWHERE, HERE, TTL_SECONDS, Scene
from teamster.artifacts import AttemptFile
from teamster.kit import Instant, ManualClock
from teamster.model import AttemptStatus, ItemStatus, RequestId, RunnerId, ShiftId
from teamster.runner.recovery import has_run_out
from teamster.store import Guard, Heartbeat

S = ItemStatus
NOW = ManualClock().now()
OTHER_BOOT = replace(NOW, boot_id="boot-2", boot_seconds=3.0)


@pytest.mark.req("DC-lease")
@pytest.mark.parametrize(
    ("at", "ended", "expected"),
    [
        (NOW.after(TTL_SECONDS - 0.001), False, False),
        (NOW.after(TTL_SECONDS), False, True),
        (NOW, True, False),
        (NOW.after(TTL_SECONDS), True, True),
        (OTHER_BOOT, False, False),
        (replace(NOW, boot_seconds=NOW.boot_seconds + 2 * TTL_SECONDS), False, False),
    ],
    ids=["in time to the last", "too late", "given back", "given back, too late", "another boot", "boot time alone"],
)
def test_a_shift_of_another_root_is_judged_by_the_clock_of_the_store_alone(
    scene: Scene, *, at: Instant, ended: bool, expected: bool
) -> None:
    """Its agents live as long as its lease may: also those of a harness that left them to the next one there."""
    shift = scene.shift(ShiftId("shift"), RunnerId("runner"), HERE)

    assert has_run_out(replace(shift, ended_at=NOW.wall) if ended else shift, at=at) is expected


@pytest.fixture
def other(scene: Scene, tmp_path: Path) -> Iterator[Scene]:
    """Give another root on the same store, of another host."""
    made = Scene(tmp_path / "other", open_store=scene.open_store, names=scene.names, clock=scene.clock)
    yield made
    made.close()


@pytest.mark.req("DC-stall", "DC-lease")
def test_what_a_lost_host_with_another_root_left_runs_here(scene: Scene, other: Scene) -> None:
    """The lost try is told in the store; beneath this root nobody writes how it ended."""
    other.submit(step())
    first = other.harness(host_id=ELSEWHERE)
    first.tick()
    [lost] = scene.attempts()
    scene.clock.advance(TTL_SECONDS)

    second = scene.harness()
    second.tick()
    [told] = scene.attempts()
    item = scene.item()
    scene.schedule()
    [again] = second.tick().started

    assert (item.status, item.attempts_consumed, item.recoveries) == (S.STALLED, 0, 1)
    assert (told.run_id, told.status, told.facts["failure_class"]) == (lost.run_id, AttemptStatus.FAILED, "lost")
    assert (lost.lies_in(other.root.root_id), again.lies_in(scene.root.root_id)) == (True, True)
    assert not scene.path(lost, AttemptFile.VERDICT).exists()
    assert scene.path(again, AttemptFile.META).exists()


@pytest.mark.req("DC-lease")
def test_it_is_left_alone_until_its_lease_ran_out(scene: Scene, other: Scene) -> None:
    """A harness that left lets its agents live, and from here they look as if they were gone."""
    other.submit(step())
    first = other.harness(host_id=ELSEWHERE)
    first.tick()
    first.duty.end(first.store)
    scene.clock.advance(TTL_SECONDS - 0.001)

    scene.harness().tick()

    assert (scene.item().status, scene.item().shift_id) == (S.RUNNING, first.duty.shift.shift_id)


def test_an_item_that_a_heartbeat_holds_is_left_alone(scene: Scene, other: Scene) -> None:
    """Its worker said how long it needs: the shift alone has run out."""
    other.submit(step())
    first = other.harness(host_id=ELSEWHERE)
    first.tick()
    item = scene.item()
    assert item.claim_token is not None
    guard = Guard(item_id=item.item_id, claim_token=item.claim_token, rev=item.rev, request_id=RequestId("heartbeat"))
    [answer] = scene.store.apply([Heartbeat(guard=guard, ttl_seconds=2 * TTL_SECONDS)], at=scene.now)
    assert answer.refusal is None
    scene.clock.advance(TTL_SECONDS)

    scene.harness().tick()
    assert scene.item().status is S.RUNNING
    scene.clock.advance(TTL_SECONDS)
    scene.harness().tick()

    assert scene.item().status is S.STALLED


def test_an_agent_that_is_not_known_here_is_left_to_who_knows_it(scene: Scene, other: Scene) -> None:
    """What may follow is its own to say; the harness here goes on with the rest."""
    other.submit(step())
    other.harness(host_id=ELSEWHERE).tick()
    scene.clock.advance(TTL_SECONDS)
    second = scene.harness()
    second.runner._crew = replace(second.crew, agents={})

    second.tick(taking=False)

    assert scene.item().status is S.RUNNING
    assert scene.attempts()[0].ended_at is None
