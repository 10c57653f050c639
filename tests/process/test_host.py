"""Real agents under a real nursery."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from contracts.host_contract import DEADLINE_SECONDS, HostContract, collect, park, wait_until
from process.stage import LocalStage, record_of
from teamster.kit import is_locked
from teamster.model import (
    Exited,
    NotStarted,
    OutputLimit,
    Signalled,
    Stopped,
    TimedOut,
    exit_record_from_json,
    exit_record_to_json,
)
from teamster.process.nursery import children_of

RUNS_IN_A_ROW = 200
DESCRIPTORS_OF_A_SHIM = 6  # three of the system, its link, and both ends of what wakes it
SIGNALS_OF_PROGRAMS = (1 << 31) - 1  # the C library keeps 32 and 33 to itself


def count_descriptors(pid: int | str) -> int:
    """Count what a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class TestLocalHost(HostContract):
    """The real thing keeps the contract; the fixture `stage` is the room's."""


@pytest.mark.parametrize("code", [0, 1, 255])
def test_an_exit_code_is_kept(stage: LocalStage, code: int) -> None:
    """What the program said is the first fact of the verdict."""
    assert stage.run(stage.shell(f"exit {code}")).outcome == Exited(code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE])
def test_a_signal_that_was_not_ours_is_told_apart(stage: LocalStage, number: signal.Signals) -> None:
    """A program that the system killed did not fail by itself; SIGPIPE works as if a shell had started it."""
    assert stage.run(stage.shell(f"kill -{int(number)} $$")).outcome == Signalled(int(number))


@pytest.mark.parametrize(
    ("argv", "fact"),
    [
        (("/nowhere/agent",), "/nowhere/agent: No such file or directory"),
        (("no-such-agent",), "no-such-agent: no such program on the PATH that agents get"),
        (("/etc/passwd",), "/etc/passwd: Permission denied"),
        (("/bin/sh", "a\0b"), "/bin/sh: embedded null byte"),
    ],
    ids=["missing", "not-on-path", "no-program", "null-byte"],
)
def test_a_program_that_cannot_start_says_why(stage: LocalStage, argv: tuple[str, ...], fact: str) -> None:
    """Nothing ran: the fact must name the program, not one of our own calls. The shim goes on."""
    record = stage.run(stage.program(*argv))

    assert record.outcome == NotStarted(fact)
    assert stage.run(stage.shell("exit 7", name="b")).outcome == Exited(7)


def test_a_missing_working_directory_says_so(stage: LocalStage) -> None:
    """The program exists; the message must not blame it."""
    record = stage.run(stage.shell("true", cwd=stage.folder / "nowhere"))

    assert record.outcome == NotStarted(f"{stage.folder}/nowhere: No such file or directory")


def test_a_folder_on_the_path_is_no_program(stage: LocalStage) -> None:
    """A folder may be executable too."""
    (stage.folder / "bin" / "sh").mkdir(parents=True)

    order = stage.program("sh", "-c", "exit 4", env={"PATH": f"{stage.folder}/bin:/usr/bin:/bin"})

    assert stage.run(order).outcome == Exited(4)


def test_an_agent_gets_its_environment_and_nothing_else(stage: LocalStage) -> None:
    """Secrets of the harness stay with the harness; the nonce is how a lost process is found again."""
    order = stage.program("/usr/bin/env", env={"PATH": "/bin", "NAME": "wörd"})
    stage.run(order)

    assert sorted(order.places.stdout.read_text().splitlines()) == [
        "NAME=wörd",
        "PATH=/bin",
        f"TEAMSTER_NONCE={order.nonce}",
    ]


def test_an_agent_gets_three_descriptors_and_default_signals(stage: LocalStage) -> None:
    """An inherited lock or database would outlive its owner; an ignored signal would make a stop harmless."""
    order = stage.shell("exec grep -E 'Sig(Blk|Ign)' /proc/self/status; exit 1")
    listing = stage.shell("ls /proc/self/fd", name="b")
    stage.run(order)
    stage.run(listing)

    masks = [int(line.split()[1], 16) for line in order.places.stdout.read_text().splitlines()]
    assert [mask & SIGNALS_OF_PROGRAMS for mask in masks] == [0, 0]
    assert listing.places.stdout.read_text().split() == ["0", "1", "2", "3"]  # 3 is the folder that `ls` reads


def test_an_agent_reads_the_null_device_unless_it_is_given_a_file(stage: LocalStage) -> None:
    """An agent that asks a question gets an answer at once: nobody is there."""
    order = stage.program("/bin/cat")
    given = stage.program("/bin/cat", name="b", stdin=stage.folder / "prompt")
    (stage.folder / "prompt").write_text("hello")

    assert stage.run(order).outcome == Exited(0)
    assert stage.run(given).outcome == Exited(0)
    assert order.places.stdout.read_bytes() == b""
    assert given.places.stdout.read_bytes() == b"hello"


def test_output_goes_to_files_that_only_their_owner_reads(stage: LocalStage) -> None:
    """Raw output may hold anything; it has no pipe that could break."""
    order = stage.shell("echo said; echo complained >&2")
    stage.run(order)

    assert order.places.stdout.read_bytes() == b"said\n"
    assert order.places.stderr.read_bytes() == b"complained\n"
    assert {path.stat().st_mode & 0o777 for path in (order.places.stdout, order.places.stderr)} == {0o600}


def test_the_lock_is_held_while_the_agent_runs_and_free_when_its_end_is_told(stage: LocalStage) -> None:
    """The lock is what tells a living attempt from a dead one, without a clock."""
    order = stage.order("a")
    stage.start(order)
    stage.until_running(order)
    held = is_locked(order.places.lock)
    stage.finish(order, code=0)
    collect(stage.host, 1)

    assert held is True
    assert is_locked(order.places.lock) is False


def test_the_record_is_there_before_its_end_is_told(stage: LocalStage) -> None:
    """Who hears of an end may commit it: the file must not come later. It reads as the model writes it."""
    order = stage.shell("exit 2")
    record = stage.run(order)
    written = json.loads(order.places.exit_record.read_bytes())

    assert exit_record_from_json(written) == record
    assert list(written.items()) == list(exit_record_to_json(record).items())
    assert order.places.exit_record.stat().st_mode & 0o777 == 0o444
    assert [path.name for path in order.places.spool.glob("*.tmp")] == []


def test_an_attempt_that_somebody_owns_is_left_alone(stage: LocalStage) -> None:
    """Two owners of one attempt must not happen; if they do, the second writes nothing."""
    order = stage.order("a")
    stage.start(order)
    stage.until_running(order)
    stage.host.park(2)
    wait_until(stage.host, lambda: len(stage.host.parked()) == 1)
    [again] = stage.host.parked()

    stage.host.start(again, order)
    refused = record_of(collect(stage.host, 1)[0])

    assert refused.outcome == NotStarted(f"{order.places.lock}: another process holds it")
    assert not order.places.exit_record.exists()
    stage.finish(order, code=0)
    assert record_of(collect(stage.host, 1)[0]).outcome == Exited(0)


def test_a_hard_deadline_is_kept(stage: LocalStage) -> None:
    """An agent that hangs must not hold its slot for ever."""
    assert stage.run(stage.shell("exec sleep 1000", timeout_seconds=0.1)).outcome == TimedOut(0.1)


def test_an_agent_that_ignores_signals_is_killed_at_the_end_of_the_ladder(stage: LocalStage) -> None:
    """The ladder asks twice and then does not ask."""
    order = stage.shell("trap 'echo INT' INT; trap 'echo TERM' TERM; echo up; while :; do sleep 0.01; done")
    stage.start(order)
    stage.until_running(order)

    stage.host.stop(order.run_id)

    assert record_of(collect(stage.host, 1)[0]).outcome == Stopped()
    assert order.places.stdout.read_text().splitlines() == ["up", "INT", "TERM"]


def test_an_agent_that_goes_at_the_first_signal_is_asked_no_more(stage: LocalStage) -> None:
    """It has a moment to write its last words; the outcome says whose wish it was."""
    order = stage.shell("trap 'echo bye; exit 0' INT; echo up; while :; do sleep 0.01; done")
    stage.start(order)
    stage.until_running(order)

    stage.host.stop(order.run_id)

    assert record_of(collect(stage.host, 1)[0]).outcome == Stopped()
    assert order.places.stdout.read_text().splitlines() == ["up", "bye"]


def test_a_stop_right_after_the_start_is_not_slept_through(stage: LocalStage) -> None:
    """Both may arrive in one read: nothing more will wake the shim."""
    order = stage.shell("exec sleep 1000")
    parked = park(stage.host, 1)[0]
    stage.host.start(parked, order)
    stage.host.stop(order.run_id)

    assert record_of(collect(stage.host, 1)[0]).outcome == Stopped()


def test_output_over_its_cap_ends_the_agent(stage: LocalStage) -> None:
    """A program that prints for ever must not fill the disk."""
    order = stage.program("/usr/bin/yes", output_bytes_max=1 << 20)

    assert stage.run(order).outcome == OutputLimit(1 << 20)


def test_a_wait_ends_at_a_wake_from_a_thread(stage: LocalStage) -> None:
    """Renewal runs on a thread of its own, and must be heard when the lease is gone."""
    park(stage.host, 1)
    thread = threading.Timer(0.05, stage.host.wake)
    thread.start()

    stage.host.wait(timeout_seconds=DEADLINE_SECONDS * 100)

    thread.join()


def test_a_wait_ends_at_its_time(stage: LocalStage) -> None:
    """The loop has other things to do, such as renewing."""
    park(stage.host, 1)

    stage.host.wait(timeout_seconds=0.01)


def test_many_runs_leave_nothing_behind(stage: LocalStage) -> None:
    """One descriptor or zombie per attempt would end a long batch."""
    park(stage.host, 4)
    shims = {parked.identity for parked in stage.host.parked()}
    ours = count_descriptors("self")
    waiting = [stage.program("/bin/true", name=f"run-{number}") for number in range(RUNS_IN_A_ROW)]
    done = 0

    def are_done() -> bool:
        nonlocal done
        ended = stage.host.ended(limit=RUNS_IN_A_ROW)
        assert all(record_of(one).outcome == Exited(0) for one in ended)
        done += len(ended)
        for parked in stage.host.parked():
            if waiting:
                stage.host.start(parked, waiting.pop())
        return done == RUNS_IN_A_ROW

    wait_until(stage.host, are_done)

    assert {parked.identity for parked in stage.host.parked()} == shims
    if os.geteuid() == 0:  # a shim holds secrets, and shows itself to nobody else
        assert {count_descriptors(identity.pid) for identity in shims} == {DESCRIPTORS_OF_A_SHIM}
    assert count_descriptors("self") == ours
    assert [child for identity in shims for child in children_of(identity.pid)] == []
