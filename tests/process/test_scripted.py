"""The twin keeps the contract, and is moved by scripts and tests alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.host_contract import HostContract, HostStage, collect, park, trace_of
from teamster.kit import ManualClock
from teamster.model import Exited, Outcome, RunId
from teamster.process import (
    Host,
    Liveness,
    Order,
    Parked,
    Places,
    ScriptedHost,
    ScriptedLiveliness,
    ScriptedMachine,
)


class ScriptedStage:
    """A machine on paper in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.machine = ScriptedMachine(self.clock)
        self.host: Host = ScriptedHost(self.machine)

    def order(self, name: str) -> Order:
        """Return an order for an agent that runs until `finish`."""
        spool = self.folder / name
        spool.mkdir()
        return Order(
            run_id=RunId(name),
            nonce=f"nonce-{name}",
            argv=("agent",),
            env={},
            cwd=spool,
            stdin=None,
            places=Places(spool=spool, exit_record=spool / "exit.json"),
            timeout_seconds=60.0,
            output_bytes_max=1 << 20,
        )

    def until_running(self, order: Order) -> None:
        """Nothing takes time here."""
        assert self.machine.is_running(order.run_id)

    def finish(self, order: Order, *, code: int) -> None:
        """Have an agent exit."""
        self.machine.finish(order.run_id, Exited(code))

    def kill_shim(self, parked: Parked) -> None:
        """Kill a shim."""
        self.machine.kill(parked.identity)

    def successor(self) -> Host:
        """Return one more host."""
        return ScriptedHost(self.machine)


@pytest.fixture
def stage(tmp_path: Path) -> ScriptedStage:
    """Have a machine on paper."""
    return ScriptedStage(tmp_path)


class TestScriptedHost(HostContract):
    """The twin keeps the contract."""


def test_a_script_ends_an_agent_at_once_and_writes_its_words(stage: ScriptedStage) -> None:
    """A whole batch can be played without a test's hand; what it prints is read from the spool as ever."""

    def script(order: Order) -> Outcome:
        order.places.stdout.write_text("said\n")
        return Exited(len(order.argv))

    stage.machine.script = script
    order = stage.order("a")
    [shim] = park(stage.host, 1)
    stage.host.start(shim, order)

    [ended] = stage.host.ended(limit=1)

    assert ended.record is not None
    assert ended.record.outcome == Exited(1)
    assert order.places.stdout.read_text() == "said\n"
    assert stage.machine.orders == [order]


def test_ends_carry_the_clock_of_the_machine(stage: ScriptedStage) -> None:
    """A simulation of an hour takes no time, and its records say an hour."""
    order = stage.order("a")
    [shim] = park(stage.host, 1)
    stage.host.start(shim, order)
    stage.clock.advance(3600.0)
    stage.finish(order, code=0)

    [ended] = collect(stage.host, 1)

    assert ended.record is not None
    assert (ended.record.ended_at - ended.record.started_at).total_seconds() == 3600.0


def test_liveliness_tells_the_four_cases_apart(stage: ScriptedStage) -> None:
    """As the real one does: recovery is decided from this alone."""
    liveliness = ScriptedLiveliness(stage.machine)
    orders = [stage.order(name) for name in ("alive", "recorded", "gone", "never")]
    shims = park(stage.host, 4)
    traces = [trace_of(order, shim) for order, shim in zip(orders, shims, strict=True)]
    for order, shim in list(zip(orders, shims, strict=True))[:3]:
        stage.host.start(shim, order)
    stage.finish(orders[1], code=0)
    stage.kill_shim(shims[2])
    stage.host.close()

    assert [liveliness.probe(trace) for trace in traces] == [
        Liveness.ALIVE,
        Liveness.RECORDED,
        Liveness.GONE,
        Liveness.NEVER_BEGAN,
    ]
    assert [liveliness.end(trace) for trace in traces] == [2, 0, 0, 0]
    assert liveliness.probe(traces[0]) is Liveness.GONE


def test_the_stage_fits_the_contract(stage: ScriptedStage) -> None:
    """The type checker reads this line."""
    fitting: HostStage = stage
    assert fitting.host is stage.host
