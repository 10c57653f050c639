"""Agents whose harness was killed: they live on, are adopted, or are ended in time."""

from __future__ import annotations

import os
import signal

import pytest

from contracts.host_contract import collect, trace_of
from process.harness import Harness
from process.stage import LocalStage, all_gone, read_pids, record_of, until
from teamster.model import Exited, Orphaned
from teamster.process import Liveness, LocalLiveliness, read_exit_record
from teamster.process.identity import is_alive

AGENTS = 3
STUBBORN = """
    trap 'echo heard' INT TERM
    setsid sleep 1000 & echo $! > pids
    echo $$ >> pids; echo up
    while :; do sleep 0.05; done
"""


def test_agents_outlive_a_killed_harness_and_end_by_themselves(stage: LocalStage) -> None:
    """Their result is not lost although nobody was there; shim and nursery leave when there is nothing to do."""
    with Harness(stage.folder, {"a": None}) as harness:
        [trace] = harness.traces
        stage.until_running(trace)
        harness.kill()

    alive = LocalLiveliness().probe(trace)
    stage.finish(trace, code=6)
    until(lambda: all_gone([trace.shim, harness.nursery]), "shim and nursery left")

    assert alive is Liveness.ALIVE
    assert LocalLiveliness().probe(trace) is Liveness.RECORDED
    record = read_exit_record(trace.places.exit_record, run_id=trace.run_id)
    assert record is not None
    assert record.outcome == Exited(6)


def test_a_second_harness_adopts_what_a_killed_one_left(stage: LocalStage) -> None:
    """All of them, each with its own end."""
    with Harness(stage.folder, {f"agent-{number}": None for number in range(AGENTS)}) as harness:
        for trace in harness.traces:
            stage.until_running(trace)
        harness.kill()

    for trace in harness.traces:
        stage.host.adopt(trace)
        stage.host.adopt(trace)
    for code, trace in enumerate(harness.traces):
        stage.finish(trace, code=code)
    ended = collect(stage.host, AGENTS)

    assert {one.run_id: record_of(one).outcome for one in ended} == {
        f"agent-{number}": Exited(number) for number in range(AGENTS)
    }
    assert list(stage.host.ended(limit=9)) == []


def test_nobody_adopts_and_the_tree_ends_at_the_deadline(stage: LocalStage) -> None:
    """An agent that nobody watches must not spend money for ever; there is no ladder any more."""
    with Harness(stage.folder, {"a": STUBBORN}) as harness:
        [trace] = harness.traces
        tree = read_pids(trace.places.spool / "pids", 2)
        harness.kill()
    stage.extend_deadline(0.0)

    until(lambda: all_gone([trace.shim, *tree]), "the tree ended")

    record = read_exit_record(trace.places.exit_record, run_id=trace.run_id)
    assert record is not None
    assert record.outcome == Orphaned()
    assert trace.places.stdout.read_text() == "up\n"


def test_an_adopter_takes_the_deadline_over(stage: LocalStage) -> None:
    """The control file names whose deadline counts; the shim obeys the one that stands there now."""
    with Harness(stage.folder, {"a": None}) as harness:
        [trace] = harness.traces
        stage.until_running(trace)
        harness.kill()
    stage.host.adopt(trace)
    (stage.folder / "mine").write_text("1.0\n")
    (stage.folder / "control.tmp").write_bytes(bytes(stage.folder / "mine"))

    (stage.folder / "control.tmp").replace(trace.places.control)

    assert record_of(collect(stage.host, 1)[0]).outcome == Orphaned()


def test_a_deadline_file_that_is_gone_leaves_its_last_value(stage: LocalStage) -> None:
    """A harness that removes its files must not make agents immortal. The first look is at the start."""
    stage.extend_deadline(1.0)
    order = stage.order("a")
    stage.start(order)
    stage.until_running(order)
    stage.deadline.unlink()

    assert record_of(collect(stage.host, 1)[0]).outcome == Orphaned()


def test_an_order_on_its_way_is_carried_out_though_its_sender_is_gone(stage: LocalStage) -> None:
    """The commit said that it runs; killed right after the send, it does, once, and is adopted."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.host.close()
    stage.finish(order, code=4)
    host = stage.successor()

    host.adopt(trace_of(order, parked))

    assert record_of(collect(host, 1)[0]).outcome == Exited(4)


def test_parked_shims_and_their_nursery_leave_with_the_harness(stage: LocalStage) -> None:
    """A parked shim without a harness would wait for ever; a claim for it never began."""
    with Harness(stage.folder, {}, parked=2) as harness:
        were_alive = [is_alive(shim) for shim in (*harness.parked, harness.nursery)]
        harness.kill()

    until(lambda: all_gone([*harness.parked, harness.nursery]), "all left")

    assert were_alive == [True, True, True]


@pytest.mark.req("PH-7.6")
def test_a_stop_by_the_adopter_goes_by_the_ladder(stage: LocalStage) -> None:
    """Who adopts has the same ways as who started; a shim that somebody stopped is continued."""
    with Harness(stage.folder, {"a": STUBBORN}) as harness:
        [trace] = harness.traces
        tree = read_pids(trace.places.spool / "pids", 2)
        harness.kill()
    os.kill(trace.shim.pid, signal.SIGSTOP)
    stage.host.adopt(trace)

    stage.host.stop(trace.run_id)
    [ended] = collect(stage.host, 1)

    assert ended.record is not None
    assert all_gone(tree)
    assert trace.places.stdout.read_text() == "up\nheard\nheard\n"
