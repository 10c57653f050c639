"""A host whose machine lets it down: no processes, no descriptors, a nursery that dies, shims that were stopped."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from contracts.host_contract import LOOK_SECONDS, collect, park, wait_until
from process.stage import LADDER, LocalStage, count_parked, parent_of, record_of, until
from teamster.kit import Instant, SystemClock
from teamster.model import Exited, Stopped, TimedOut, WorldError
from teamster.process import LocalHost, open_host, open_liveliness
from teamster.process.identity import identity_of
from teamster.process.nursery import read_stat


class HastyClock:
    """The machine's clock, which a test can put forward."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self.ahead_seconds = 0.0

    def now(self) -> Instant:
        """Return the present moment, or a later one."""
        return self._clock.now().after(self.ahead_seconds)


def is_stopped(pid: int) -> bool:
    """Tell whether a process stands still."""
    stat = read_stat(pid)
    return stat is not None and stat[0] == "T"


def test_the_door_opens_the_real_thing() -> None:
    """On Linux, where this suite runs."""
    host = open_host(clock=SystemClock())
    host.close()

    assert open_liveliness()


def test_a_machine_without_room_for_one_process_says_so(stage: LocalStage) -> None:
    """To wait in silence would look like a slow start. With a single shim there, work goes on instead."""
    [parked] = park(stage.host, 1)
    nursery = parent_of(parked.identity)
    soft, hard = resource.prlimit(nursery.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(nursery.pid, resource.RLIMIT_NOFILE, (6, hard))

    count_parked(stage, keep=2)
    stage.host.wait(timeout_seconds=LOOK_SECONDS)
    while_one_lives = count_parked(stage, keep=2)
    stage.kill_shim(parked)
    with pytest.raises(WorldError, match="no process can be started: Too many open files"):
        wait_until(stage.host, lambda: count_parked(stage, keep=1) > 1)

    assert while_one_lives == 1
    resource.prlimit(nursery.pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert stage.run(stage.shell("exit 1")).outcome == Exited(1)


def test_a_nursery_that_keeps_dying_is_given_up(stage: LocalStage) -> None:
    """A broken installation must not be started again a thousand times a second."""

    def park_and_kill() -> bool:
        stage.host.park(1)
        nursery = stage.host._nursery
        if nursery is not None:  # killed before its interpreter is up
            os.kill(nursery.pid, signal.SIGKILL)
            until(lambda: identity_of(nursery.pid) is None, "the nursery is dead")
        return len(stage.host.parked()) > 0

    with pytest.raises(WorldError, match="the nursery died 3 times") as failure:
        wait_until(stage.host, park_and_kill)

    assert str(stage.log) in failure.value.hint


def test_a_shim_that_was_stopped_is_continued_when_its_agent_shall_end(stage: LocalStage) -> None:
    """An agent of the same user can stop it, and would outlive every limit."""
    order = stage.shell("kill -STOP $PPID; exec sleep 1000")
    parked = stage.start(order)
    until(lambda: is_stopped(parked.identity.pid), "the shim stands still")

    stage.host.stop(order.run_id)

    assert record_of(collect(stage.host, 1)[0]).outcome == Stopped()


def test_a_shim_that_was_stopped_keeps_its_deadline_a_little_late(tmp_path: Path) -> None:
    """Nobody asks for the end here: the host notices that it is overdue."""
    stage = LocalStage(tmp_path)
    clock = HastyClock()
    host = LocalHost(clock=clock, ladder=LADDER)
    order = stage.shell("kill -STOP $PPID; exec sleep 1000", timeout_seconds=0.2)
    [parked] = park(host, 1)
    host.start(parked, order)
    until(lambda: is_stopped(parked.identity.pid), "the shim stands still")
    before = list(host.ended(limit=1))

    clock.ahead_seconds = 60.0

    assert before == []
    assert record_of(collect(host, 1)[0]).outcome == TimedOut(0.2)
    host.close()
    stage.close()


def test_a_stop_for_a_shim_that_just_died_is_no_trouble(stage: LocalStage) -> None:
    """The news of its death is still on its way."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.until_running(order)
    stage.kill_shim(parked)

    stage.host.stop(order.run_id)

    assert collect(stage.host, 1)[0].record is None


def test_a_bell_that_rings_too_often_does_not_block(stage: LocalStage) -> None:
    """A signal handler that blocks would hang the whole harness."""
    for _ in range(2000):
        stage.host.wake()

    stage.host.wait(timeout_seconds=0.0)
