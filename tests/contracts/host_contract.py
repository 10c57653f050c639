"""What every host promises, whether its processes are real or on paper."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import pytest

from teamster.model import Exited, RunId, Stopped
from teamster.process import Ended, Host, Order, Parked, Trace

DEADLINE_SECONDS = 20.0
LOOK_SECONDS = 0.05


class HostStage(Protocol):
    """What a test of the contract needs of an implementation: agents that run until they are told to end."""

    host: Host

    def order(self, name: str) -> Order:
        """Return an order for an agent that runs until `finish`."""
        ...

    def until_running(self, order: Order) -> None:
        """Wait until the agent runs."""
        ...

    def finish(self, order: Order, *, code: int) -> None:
        """Have an agent exit."""
        ...

    def kill_shim(self, parked: Parked) -> None:
        """Kill a shim as the system would: without a word."""
        ...

    def successor(self) -> Host:
        """Return a host that starts on the same machine once the first one let go."""
        ...


def wait_until(host: Host, is_met: Callable[[], bool]) -> None:
    """Let a host work until a condition is met."""
    give_up_at = time.clock_gettime(time.CLOCK_BOOTTIME) + DEADLINE_SECONDS
    while not is_met():
        if time.clock_gettime(time.CLOCK_BOOTTIME) > give_up_at:
            pytest.fail(f"not met within {DEADLINE_SECONDS} s")
        host.wait(timeout_seconds=LOOK_SECONDS)


def park(host: Host, count: int) -> list[Parked]:
    """Have shims parked."""
    host.park(count)
    wait_until(host, lambda: len(host.parked()) >= count)
    return list(host.parked())


def collect(host: Host, count: int) -> list[Ended]:
    """Wait until so many attempts have ended."""
    ended: list[Ended] = []

    def enough() -> bool:
        ended.extend(host.ended(limit=count - len(ended)))
        return len(ended) >= count

    wait_until(host, enough)
    return ended


def trace_of(order: Order, parked: Parked) -> Trace:
    """Return what a store would know of an attempt."""
    return Trace(run_id=order.run_id, nonce=order.nonce, shim=parked.identity, places=order.places)


class HostContract:
    """Subclasses supply the fixture `stage`."""

    def test_shims_are_known_before_anything_is_claimed_for_them(self, stage: HostStage) -> None:
        """Claim, identity and start are one commit: the identity has to be there first."""
        first, second = park(stage.host, 2)

        assert first.slot != second.slot
        assert first.identity != second.identity

    def test_parking_counts_the_busy_ones(self, stage: HostStage) -> None:
        """Otherwise every tick would add shims for as long as agents run."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)

        stage.host.park(1)
        stage.host.wait(timeout_seconds=LOOK_SECONDS)

        assert stage.host.parked() == []
        stage.finish(order, code=0)
        collect(stage.host, 1)

    def test_an_attempt_ends_once_with_its_record(self, stage: HostStage) -> None:
        """The record is what the verdict is decided from; a second one would be decided twice."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)
        before = list(stage.host.ended(limit=9))

        stage.finish(order, code=3)
        [ended] = collect(stage.host, 1)

        assert before == []
        assert ended.run_id == order.run_id
        assert ended.record is not None
        assert ended.record.outcome == Exited(3)
        assert ended.record.started_at <= ended.record.ended_at
        assert list(stage.host.ended(limit=9)) == []

    def test_a_slot_parks_again_and_serves_the_next_attempt(self, stage: HostStage) -> None:
        """A fork per attempt would cost more than a short step itself."""
        [shim] = park(stage.host, 1)
        codes = []
        for name in ("a", "b"):
            order = stage.order(name)
            stage.host.start(shim, order)
            stage.finish(order, code=0)
            codes += collect(stage.host, 1)

            assert list(stage.host.parked()) == [shim]

        assert [ended.run_id for ended in codes] == ["a", "b"]

    def test_ends_over_the_limit_wait_for_the_next_call(self, stage: HostStage) -> None:
        """A tick takes a bounded amount of work."""
        orders = [stage.order(name) for name in ("a", "b", "c")]
        for shim, order in zip(park(stage.host, 3), orders, strict=True):
            stage.host.start(shim, order)
            stage.finish(order, code=0)
        wait_until(stage.host, lambda: len(stage.host.parked()) == 3)

        first = stage.host.ended(limit=2)
        rest = stage.host.ended(limit=2)

        assert (len(first), len(rest)) == (2, 1)
        assert {ended.run_id for ended in (*first, *rest)} == {"a", "b", "c"}

    def test_a_stop_ends_the_attempt_and_says_so(self, stage: HostStage) -> None:
        """A cancel is no failure of the agent. A repeat, or a stop of what has ended, does nothing."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)

        stage.host.stop(order.run_id)
        stage.host.stop(order.run_id)
        [ended] = collect(stage.host, 1)
        stage.host.stop(order.run_id)
        stage.host.stop(RunId("unheard-of"))

        assert ended.record is not None
        assert ended.record.outcome == Stopped()
        assert list(stage.host.parked()) == [shim]

    def test_an_order_for_a_shim_that_died_never_begins(self, stage: HostStage) -> None:
        """The claim is committed by then: its end has to show up, and consumes nothing."""
        [shim] = park(stage.host, 1)
        stage.kill_shim(shim)

        stage.host.start(shim, stage.order("a"))

        assert collect(stage.host, 1) == [Ended(run_id=RunId("a"), record=None, began=False)]

    def test_a_shim_that_dies_takes_its_agent_along_and_leaves_no_record(self, stage: HostStage) -> None:
        """What nobody can tell the end of is lost; the slot is filled again."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)

        stage.kill_shim(shim)

        assert collect(stage.host, 1) == [Ended(run_id=order.run_id, record=None, began=True)]
        [other] = park(stage.host, 1)
        assert other.identity != shim.identity

    def test_agents_outlive_their_host_and_are_adopted(self, stage: HostStage) -> None:
        """A harness may be upgraded while 200 agents run."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)
        stage.host.close()

        host = stage.successor()
        host.adopt(trace_of(order, shim))
        before = list(host.ended(limit=9))
        stage.finish(order, code=5)
        [ended] = collect(host, 1)

        assert before == []
        assert ended.record is not None
        assert ended.record.outcome == Exited(5)

    def test_an_adopted_attempt_can_be_stopped(self, stage: HostStage) -> None:
        """Who adopts has no link to the shim, and the same rights."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)
        stage.host.close()

        host = stage.successor()
        host.adopt(trace_of(order, shim))
        host.stop(order.run_id)
        [ended] = collect(host, 1)

        assert ended.record is not None
        assert ended.record.outcome == Stopped()

    def test_what_ended_while_nobody_looked_is_taken_from_its_record(self, stage: HostStage) -> None:
        """Its result counts, and nothing runs again."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.start(shim, order)
        stage.until_running(order)
        stage.host.close()
        stage.finish(order, code=0)
        host = stage.successor()
        wait_until(host, order.places.exit_record.exists)

        host.adopt(trace_of(order, shim))
        [ended] = collect(host, 1)

        assert ended.record is not None
        assert ended.record.outcome == Exited(0)

    def test_an_adopted_attempt_that_never_began_says_so(self, stage: HostStage) -> None:
        """A harness died between its commit and the order: the shim left, and nothing was consumed."""
        [shim] = park(stage.host, 1)
        order = stage.order("a")
        stage.host.close()

        host = stage.successor()
        host.adopt(trace_of(order, shim))

        assert collect(host, 1) == [Ended(run_id=order.run_id, record=None, began=False)]

    def test_a_wake_ends_a_wait(self, stage: HostStage) -> None:
        """Also one that was called before: otherwise a signal would be slept through."""
        stage.host.wake()
        stage.host.parked()
        stage.host.ended(limit=1)

        stage.host.wait(timeout_seconds=DEADLINE_SECONDS * 100)  # far over the deadline of the whole test

    def test_letting_go_twice_is_letting_go(self, stage: HostStage) -> None:
        """Clean-up runs on every way out."""
        stage.host.close()
        stage.host.close()
        stage.host.wake()
