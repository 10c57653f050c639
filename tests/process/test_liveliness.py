"""What the traces of an attempt say once its harness is gone."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.host_contract import collect, park, trace_of
from process.harness import Harness
from process.stage import LocalStage, all_gone, read_pids
from teamster.kit import FileLock
from teamster.model import ProcessIdentity
from teamster.process import Liveness, LocalLiveliness, Trace, own_identity
from teamster.process.identity import is_alive

TREE = "setsid sleep 1000 & echo $! > pids; echo $$ >> pids; exec sleep 1000"


@pytest.fixture
def liveliness() -> LocalLiveliness:
    """Look at real traces."""
    return LocalLiveliness()


def content_of(folder: Path) -> dict[str, bytes]:
    """Return what lies in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_an_attempt_that_never_got_its_order_never_began(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """It consumed nothing, so its claim may simply be given back. The look itself leaves no lock behind."""
    [parked] = park(stage.host, 1)
    order = stage.order("a")
    trace = trace_of(order, parked)
    before = content_of(order.places.spool)
    stage.kill_shim(parked)

    assert liveliness.probe(trace) is Liveness.NEVER_BEGAN
    assert content_of(order.places.spool) == before


def test_a_shim_that_may_still_get_its_order_counts_as_alive(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """The order may lie in its socket: to call it gone would let it run twice."""
    [parked] = park(stage.host, 1)

    assert liveliness.probe(trace_of(stage.order("a"), parked)) is Liveness.ALIVE


def test_an_attempt_is_alive_then_recorded(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """A shim serves the next attempt after the record: its life says nothing about this one any more."""
    order = stage.order("a")
    parked = stage.start(order)
    trace = trace_of(order, parked)
    stage.until_running(order)
    while_running = liveliness.probe(trace)
    stage.finish(order, code=0)
    collect(stage.host, 1)

    assert while_running is Liveness.ALIVE
    assert is_alive(parked.identity)
    assert liveliness.probe(trace) is Liveness.RECORDED


def test_an_attempt_whose_shim_died_is_gone(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """It began, and nobody knows how it ended."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.until_running(order)
    stage.kill_shim(parked)
    collect(stage.host, 1)

    assert liveliness.probe(trace_of(order, parked)) is Liveness.GONE


@pytest.mark.parametrize("content", [b"", b'{"run_id": "a", "kind": "exi', b'{"run_id": "other"}'])
def test_a_torn_record_is_no_record(stage: LocalStage, liveliness: LocalLiveliness, content: bytes) -> None:
    """After a power cut a renamed file may be empty; what it says must not be invented."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.until_running(order)
    stage.kill_shim(parked)
    collect(stage.host, 1)
    order.places.exit_record.write_bytes(content)

    assert liveliness.probe(trace_of(order, parked)) is Liveness.GONE


def test_a_lock_file_that_was_replaced_proves_nothing(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """Its name is free for anybody to take: process identity decides."""
    order = stage.order("a")
    parked = stage.start(order)
    trace = trace_of(order, parked)
    stage.until_running(order)

    order.places.lock.unlink()
    without = liveliness.probe(trace)
    order.places.lock.touch()
    free = liveliness.probe(trace)
    stage.kill_shim(parked)
    with FileLock(order.places.lock):
        held_by_another = liveliness.probe(trace)

    assert (without, free) == (Liveness.ALIVE, Liveness.ALIVE)
    assert held_by_another is Liveness.GONE


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot_id": "another-boot"}], ids=["reused-pid", "rebooted"])
def test_a_pid_alone_is_not_believed(stage: LocalStage, liveliness: LocalLiveliness, change: dict[str, object]) -> None:
    """After a reboot, or a few million forks, it belongs to somebody else: who must not be signalled."""
    [parked] = park(stage.host, 1)
    identity = replace(parked.identity, **change)  # type: ignore[arg-type]
    trace = replace(trace_of(stage.order("a"), parked), shim=identity)

    assert liveliness.probe(trace) is Liveness.NEVER_BEGAN
    assert liveliness.end(trace) == 0
    assert is_alive(parked.identity)


def test_ending_takes_shim_and_tree_and_sees_them_gone(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """The workspace belongs to the next attempt from here on. No record tells what we did to it."""
    order = stage.shell(TREE)
    parked = stage.start(order)
    tree = read_pids(order.places.spool / "pids", 2)

    ended = liveliness.end(trace_of(order, parked))

    assert ended == 3
    assert len(tree) == 2
    assert all_gone([parked.identity, *tree])
    assert not order.places.exit_record.exists()
    assert liveliness.end(trace_of(order, parked)) == 0


def test_ending_needs_no_mark_where_the_shim_lives(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """A cleared environment hides from the sweep, but not from the shim; no nursery helps here."""
    with Harness(stage.folder, {"a": f"env -i /bin/sh -c '{TREE}'"}) as harness:
        [trace] = harness.traces
        tree = read_pids(trace.places.spool / "pids", 2)
        os.kill(harness.nursery.pid, signal.SIGKILL)
        harness.kill()

    assert liveliness.end(trace) >= 3
    assert all_gone([trace.shim, *tree])


def test_ending_an_attempt_spares_the_next_one_of_its_shim(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """A recorded attempt has nothing left; its shim serves somebody else."""
    first, second = stage.shell("true"), stage.order("b")
    parked = stage.start(first)
    collect(stage.host, 1)
    stage.host.start(parked, second)
    stage.until_running(second)

    assert liveliness.end(trace_of(first, parked)) == 0
    assert liveliness.probe(trace_of(second, parked)) is Liveness.ALIVE


def test_a_spool_that_is_gone_hides_no_living_shim(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """Somebody cleaned up too eagerly: the agent still runs."""
    order = stage.order("a")
    parked = stage.start(order)
    stage.until_running(order)
    shutil.rmtree(order.places.spool)

    assert liveliness.probe(trace_of(order, parked)) is Liveness.ALIVE
    assert liveliness.end(trace_of(order, parked)) >= 2


def test_a_tree_without_shim_and_lock_has_begun(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """Only the nonce knows it, and it may not run twice."""
    order = stage.shell("exec sleep 1000")
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {"TEAMSTER_NONCE": order.nonce})
    nobody = ProcessIdentity(boot_id=own_identity().boot_id, pid=pid, start_ticks=1)
    trace = Trace(run_id=order.run_id, nonce=order.nonce, shim=nobody, places=order.places)

    found = liveliness.probe(trace)
    ended = liveliness.end(trace)
    _, status = os.waitpid(pid, 0)

    assert found is Liveness.GONE
    assert ended == 1
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def test_the_mark_must_match_as_a_whole(stage: LocalStage, liveliness: LocalLiveliness) -> None:
    """One nonce may be the beginning of another."""
    order = stage.shell("true")
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {"TEAMSTER_NONCE": f"{order.nonce}-longer"})
    nobody = ProcessIdentity(boot_id=own_identity().boot_id, pid=pid, start_ticks=1)

    ended = liveliness.end(Trace(run_id=order.run_id, nonce=order.nonce, shim=nobody, places=order.places))

    assert ended == 0
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
