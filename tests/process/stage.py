"""A folder with orders in it, and hosts of real processes that carry them out."""

from __future__ import annotations

import os
import select
import shlex
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.host_contract import DEADLINE_SECONDS, collect, park
from teamster.kit import SystemClock
from teamster.model import ExitRecord, ProcessIdentity, RunId
from teamster.process import Ended, Host, LocalHost, Order, Parked, Places, Trace
from teamster.process.identity import identity_of, is_alive
from teamster.process.nursery import read_stat

LADDER = ((int(signal.SIGINT), 0.4), (int(signal.SIGTERM), 0.4))
ORPHAN_SECONDS = 600.0
POLL_SECONDS = 0.005


def boot_seconds() -> float:
    """Read the clock that deadlines are written in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def until(is_met: Callable[[], object], what: str = "") -> None:
    """Look until a condition is met, where no event can be waited for."""
    give_up_at = boot_seconds() + DEADLINE_SECONDS
    while not is_met():
        if boot_seconds() > give_up_at:
            pytest.fail(f"not met within {DEADLINE_SECONDS} s: {what}")
        select.select([], [], [], POLL_SECONDS)


def read_pids(path: Path, count: int = 1) -> list[ProcessIdentity]:
    """Wait until a file names so many living processes, and return who they are."""
    until(lambda: path.exists() and path.read_text().count("\n") >= count, f"{count} pids in {path.name}")
    found = [identity_of(int(pid)) for pid in path.read_text().split()]
    return [identity for identity in found if identity is not None]


def all_gone(identities: list[ProcessIdentity]) -> bool:
    """Tell whether none of these processes lives."""
    return not any(is_alive(identity) for identity in identities)


def parent_of(identity: ProcessIdentity) -> ProcessIdentity:
    """Return a process's parent."""
    stat = read_stat(identity.pid)
    assert stat is not None
    parent = identity_of(stat[1])
    assert parent is not None
    return parent


class LocalStage:
    """Real processes in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.deadline = folder / "deadline"
        self.log = folder / "log"
        self._hosts: list[Host] = []
        self._fifos: list[int] = []
        self.extend_deadline()
        self.host: LocalHost = self.successor()

    def extend_deadline(self, seconds: float = ORPHAN_SECONDS) -> None:
        """Say until when somebody watches."""
        temporary = self.folder / "deadline.tmp"
        temporary.write_text(f"{boot_seconds() + seconds:.3f}\n")
        temporary.replace(self.deadline)

    def successor(self) -> LocalHost:
        """Return one more host."""
        host = LocalHost(clock=SystemClock(), ladder=LADDER, log=self.log)
        self._hosts.append(host)
        return host

    def shell(self, script: str, *, name: str = "a", **changes: Any) -> Order:
        """Return an order that runs a shell script in its own folder."""
        return self.program("/bin/sh", "-c", script, name=name, **changes)

    def program(self, *argv: str, name: str = "a", **changes: Any) -> Order:
        """Return an order that runs a program in its own folder."""
        spool = self.folder / name
        spool.mkdir()
        order = Order(
            run_id=RunId(name),
            nonce=f"nonce-{os.getpid()}-{self.folder.name}-{name}",
            argv=argv,
            env={"PATH": "/usr/bin:/bin"},
            cwd=spool,
            stdin=None,
            places=Places(spool=spool, exit_record=spool / "exit.json"),
            timeout_seconds=DEADLINE_SECONDS * 10,
            output_bytes_max=1 << 20,
        )
        order.places.control.write_bytes(bytes(self.deadline))
        return replace(order, **changes)

    def order(self, name: str) -> Order:
        """Return an order for an agent that runs until `finish`."""
        order = self.shell(
            f"echo up; read code < {shlex.quote(str(self.folder / name / 'fifo'))}; exit $code", name=name
        )
        os.mkfifo(order.places.spool / "fifo")
        return order

    def until_running(self, order: Order | Trace) -> None:
        """Wait until the agent said something."""
        until(lambda: order.places.stdout.exists() and order.places.stdout.stat().st_size, f"{order.run_id} runs")

    def finish(self, order: Order | Trace, *, code: int) -> None:
        """Have an agent exit; it may not have come to listen yet."""
        fifo = os.open(order.places.spool / "fifo", os.O_RDWR | os.O_CLOEXEC)
        self._fifos.append(fifo)
        os.write(fifo, b"%d\n" % code)

    def kill_shim(self, parked: Parked) -> None:
        """Kill a shim and see it dead."""
        os.kill(parked.identity.pid, signal.SIGKILL)
        until(lambda: not is_alive(parked.identity), "the shim is dead")

    def start(self, order: Order) -> Parked:
        """Start an order on a parked shim."""
        parked = park(self.host, 1)[0]
        self.host.start(parked, order)
        return parked

    def run(self, order: Order) -> ExitRecord:
        """Run an order to its end, and return its record."""
        self.start(order)
        return record_of(collect(self.host, 1)[0])

    def close(self) -> None:
        """Let go of everything; agents that still run end by their deadline."""
        self.extend_deadline(-1.0)
        for host in self._hosts:
            host.close()
        for fifo in self._fifos:
            os.close(fifo)


def count_parked(stage: LocalStage, *, keep: int) -> int:
    """Fill the slots, as each tick does, and count those that wait."""
    stage.host.park(keep)
    return len(stage.host.parked())


def record_of(ended: Ended) -> ExitRecord:
    """Return the record that has to be there."""
    assert ended.record is not None, f"{ended.run_id} has no record"
    return ended.record
