"""Who a process is, and the end of a harness that hangs."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from process.harness import Harness
from process.stage import LocalStage, until
from teamster.kit import FileLock, is_locked
from teamster.model import UsageError, is_id
from teamster.process import end_harness, host_id, is_alive, own_identity, require_linux
from teamster.process.identity import FIRST_PID_NAMESPACE, identity_of, signal_exactly
from teamster.process.nursery import read_stat


def test_we_are_alive_and_nobody_else_is_us() -> None:
    """Boot, pid and start time together are never used again."""
    me = own_identity()

    assert me.pid == os.getpid()
    assert is_alive(me)
    assert not is_alive(replace(me, start_ticks=me.start_ticks + 1))
    assert not is_alive(replace(me, boot_id="another"))


def test_a_zombie_is_dead() -> None:
    """Where init does not reap, a killed process stays in the table for ever."""
    pid = os.posix_spawn("/bin/true", ["true"], {})
    until(lambda: (read_stat(pid) or ("", 0, 0))[0] == "Z", "a zombie")

    assert identity_of(pid) is None

    os.waitpid(pid, 0)
    assert identity_of(pid) is None


def test_a_signal_reaches_exactly_its_process() -> None:
    """A pid that was used again is left alone."""
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
    identity = identity_of(pid)
    assert identity is not None

    spared = signal_exactly(replace(identity, start_ticks=1), signal.SIGKILL)
    hit = signal_exactly(identity, signal.SIGKILL)
    os.waitpid(pid, 0)

    assert (spared, hit) == (False, True)
    assert signal_exactly(identity, signal.SIGKILL) is False


def test_a_stopped_harness_is_ended_and_its_lock_is_free(stage: LocalStage) -> None:
    """It may hold the database's lock too: who takes over ends it first. Its agents live on."""
    with Harness(stage.folder, {"a": None}) as harness:
        [trace] = harness.traces
        stage.until_running(trace)
        harness.stop()

        assert end_harness(harness.identity, harness.lock)

        assert is_locked(harness.lock) is False
        assert not is_alive(harness.identity)
    assert is_alive(trace.shim)
    stage.finish(trace, code=0)


def test_a_harness_that_gave_its_lock_back_is_left_alone(tmp_path: Path) -> None:
    """It may work under another shift by now."""
    FileLock(tmp_path / "lock").close()
    pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
    identity = identity_of(pid)
    assert identity is not None

    assert end_harness(identity, tmp_path / "lock") is True
    assert is_alive(identity)
    assert end_harness(identity, tmp_path / "missing") is False
    assert is_alive(identity)

    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert end_harness(identity, tmp_path / "missing") is True


def test_a_lock_that_somebody_else_holds_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """The process that is named is not the holder: nothing is signalled, and the answer is no."""
    stranger = replace(own_identity(), start_ticks=1)

    with FileLock(tmp_path / "lock"):
        assert end_harness(stranger, tmp_path / "lock", seconds_max=0.05) is False


def test_we_never_end_ourselves(tmp_path: Path) -> None:
    """A harness that looks at its own shift must not die of it."""
    with FileLock(tmp_path / "lock"):
        assert end_harness(own_identity(), tmp_path / "lock", seconds_max=0.05) is False


def test_a_host_has_a_name_that_stays_and_gives_nothing_away(tmp_path: Path) -> None:
    """The machine's own id is not to be published; where there is none, the host's name has to do."""
    machine = tmp_path / "machine-id"
    machine.write_text("0123456789abcdef\n")
    first = tmp_path / "first"
    first.symlink_to(FIRST_PID_NAMESPACE)
    contained = tmp_path / "contained"
    contained.symlink_to("pid:[4026532999]")

    name = host_id(machine_id=machine, pid_namespace=first)

    assert name == host_id(machine_id=machine, pid_namespace=first, hostname="other")
    assert is_id(name)
    assert "0123456789abcdef" not in name
    assert name != host_id(machine_id=machine, pid_namespace=contained)
    nameless = {host_id(machine_id=tmp_path / "none", pid_namespace=first, hostname=name) for name in ("a", "b", "a")}
    assert len(nameless) == 2
    assert host_id() == host_id()


def test_other_systems_are_refused_in_one_clear_sentence() -> None:
    """Half of a promise is none: there is no way to end trees for certain elsewhere yet."""
    require_linux("linux")

    with pytest.raises(UsageError, match="agents can't be run on darwin") as refusal:
        require_linux("darwin")

    assert "Linux" in refusal.value.hint
