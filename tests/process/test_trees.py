"""Ending a tree for certain, whatever its processes do to get away."""

from __future__ import annotations

import os
import signal

import pytest

from contracts.host_contract import collect, park, wait_until
from process.stage import LocalStage, all_gone, count_parked, parent_of, read_pids, record_of, until
from teamster.model import Exited, Stopped
from teamster.process.identity import identity_of, is_alive
from teamster.process.nursery import children_of

AWAIT_PIDS = "while [ ! -s pids ]; do sleep 0.01; done"
HOLD = "echo $$ > pids; exec sleep 1000"  # the file `hold` beside the agents' folders
DAEMONS = {
    "setsid": "setsid sh ../hold &",
    "double-fork": "(setsid sh -c 'sh ../hold & exit 0' &)",
    "holds-stdout": "sh ../hold &",
    "closes-everything": "setsid sh ../hold < /dev/null > /dev/null 2>&1 &",
    "cleared-environment": "env -i /usr/bin/setsid /bin/sh ../hold &",
    "ignores-signals": "setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > pids; while :; do sleep 0.05; done' &",
    "stopped": "setsid sh -c 'echo $$ > pids; kill -STOP $$' &",
}
DEPTH = 40
NEST = """
    echo $$ >> pids
    [ "$1" -gt 0 ] || exec sleep 1000
    setsid sh "$0" $(($1 - 1)) &
    wait
"""


@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS.keys())
def test_what_an_agent_leaves_behind_is_ended_before_its_end_is_told(stage: LocalStage, daemon: str) -> None:
    """Agents leak processes as a matter of routine; the next step works on a workspace that nobody else changes."""
    (stage.folder / "hold").write_text(HOLD)
    order = stage.shell(f"{daemon}\n{AWAIT_PIDS}; exit 9")

    record = stage.run(order)

    assert record.outcome == Exited(9)
    assert record.stragglers_ended >= 1
    pid = int((order.places.spool / "pids").read_text())
    assert identity_of(pid) is None


def test_the_whole_tree_ends_however_deep_it_is(stage: LocalStage) -> None:
    """Each level has a session of its own: no signal to a group would reach them all."""
    (stage.folder / "nest").write_text(NEST)
    order = stage.shell(f"exec sh {stage.folder}/nest {DEPTH}")
    stage.start(order)
    tree = read_pids(order.places.spool / "pids", DEPTH)

    stage.host.stop(order.run_id)
    collect(stage.host, 1)

    assert len(tree) >= DEPTH
    assert all_gone(tree)


@pytest.mark.req("PH-7.6")
def test_a_cancel_ends_all_that_the_agent_spawned_and_keeps_what_it_said(stage: LocalStage) -> None:
    """Half an answer may be worth reading; a server that it left running is not."""
    order = stage.shell("echo half; setsid sleep 1000 & echo $! > pids; echo $$ >> pids; sleep 1000; echo whole")
    stage.start(order)
    tree = read_pids(order.places.spool / "pids", 2)

    stage.host.stop(order.run_id)
    record = record_of(collect(stage.host, 1)[0])

    assert record.outcome == Stopped()
    assert len(tree) == 2
    assert all_gone(tree)
    assert order.places.stdout.read_bytes() == b"half\n"


@pytest.mark.parametrize("clear", ["", "env -i"], ids=["marked", "cleared-environment"])
def test_a_killed_shims_tree_is_ended_before_the_loss_is_told(stage: LocalStage, clear: str) -> None:
    """Otherwise the next attempt would run beside it. The nursery inherits whom the shim can't end any more."""
    order = stage.shell(f"{clear} /usr/bin/setsid sleep 1000 & echo $! > pids; echo $$ >> pids; exec sleep 1000")
    parked = stage.start(order)
    tree = read_pids(order.places.spool / "pids", 2)

    stage.kill_shim(parked)
    [ended] = collect(stage.host, 1)

    assert ended.record is None
    assert len(tree) == 2
    assert all_gone(tree)
    assert not order.places.exit_record.exists()


def test_a_dead_nursery_costs_no_agent_and_is_replaced(stage: LocalStage) -> None:
    """Busy shims go on without it, and new ones come from another."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.until_running(order)
    nursery = parent_of(parked.identity)

    os.kill(nursery.pid, signal.SIGKILL)
    until(lambda: not is_alive(nursery), "the nursery is dead")
    wait_until(stage.host, lambda: count_parked(stage, keep=2) == 1)
    other = stage.run(stage.shell("exit 1", name="b"))
    stage.finish(order, code=0)

    assert other.outcome == Exited(1)
    assert record_of(collect(stage.host, 1)[0]).outcome == Exited(0)


def test_without_nursery_and_shim_the_tree_is_found_by_its_nonce(stage: LocalStage) -> None:
    """Nobody above it is left: the mark in its environment is."""
    order = stage.shell("setsid sleep 1000 & echo $! > pids; echo $$ >> pids; exec sleep 1000")
    parked = stage.start(order)
    tree = read_pids(order.places.spool / "pids", 2)

    os.kill(parent_of(parked.identity).pid, signal.SIGKILL)
    stage.kill_shim(parked)
    [ended] = collect(stage.host, 1)

    assert ended.record is None
    assert len(tree) == 2
    assert all_gone(tree)


def test_a_host_whose_shims_all_died_has_new_ones(stage: LocalStage) -> None:
    """Whoever kills them, the next tick fills the slots again; the nursery keeps no zombie."""
    first = park(stage.host, 3)
    nursery = parent_of(first[0].identity)
    for parked in first:
        stage.kill_shim(parked)

    wait_until(stage.host, lambda: count_parked(stage, keep=3) == 3)

    again = {parked.identity for parked in stage.host.parked()}
    assert again.isdisjoint(parked.identity for parked in first)
    until(lambda: set(children_of(nursery.pid)) == {identity.pid for identity in again}, "no zombie is left")


def test_a_crowd_of_orphans_is_reaped_while_the_agent_runs(stage: LocalStage) -> None:
    """Zombies would fill the table of processes; the shim inherits them all."""
    order = stage.shell("for i in $(seq 200); do (sh -c true &) ; done; echo up; read x < fifo")
    os.mkfifo(order.places.spool / "fifo")
    parked = stage.start(order)
    stage.until_running(order)

    until(lambda: len(children_of(parked.identity.pid)) == 1, "only the agent is left")

    stage.finish(order, code=0)
    assert record_of(collect(stage.host, 1)[0]).outcome == Exited(0)
