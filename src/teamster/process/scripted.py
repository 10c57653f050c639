"""A machine that plays agents by a script: the twin of host and liveliness, for tests and simulations.

The machine outlives its hosts as a real one outlives a harness: a host that was closed, or dropped as by `kill -9`,
leaves agents behind that another host on the same machine can adopt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from teamster.kit import Clock, document, write_once
from teamster.model import ExitRecord, Lost, Outcome, ProcessIdentity, RunId, Stopped, exit_record_to_json
from teamster.process.protocol import Ended, Liveness, Order, Parked, Trace
from teamster.process.record import read_exit_record

Script = Callable[[Order], Outcome | None]
"""How an agent ends at once; None where it runs until a test ends it. It may write to the order's places."""


def never_ends(_order: Order) -> None:
    """Let every agent run until a test ends it."""


@dataclass(slots=True)
class _Run:
    order: Order
    shim: ProcessIdentity
    started_at: datetime
    is_over: bool = False


@dataclass(slots=True)
class ScriptedMachine:
    """Processes that exist on paper: shims with identities, agents with a script."""

    clock: Clock
    script: Script = never_ends
    orders: list[Order] = field(default_factory=list)  # all that ever began, in their order
    _runs: dict[RunId, _Run] = field(default_factory=dict)
    _shims: set[ProcessIdentity] = field(default_factory=set)
    _last_pid: int = 1000

    def hatch(self) -> ProcessIdentity:
        """Have one more shim."""
        self._last_pid += 1
        shim = ProcessIdentity(boot_id=self.clock.now().boot_id, pid=self._last_pid, start_ticks=self._last_pid * 100)
        self._shims.add(shim)
        return shim

    def is_alive(self, shim: ProcessIdentity) -> bool:
        """Tell whether a shim lives."""
        return shim in self._shims

    def is_running(self, run_id: RunId) -> bool:
        """Tell whether an attempt's tree has somebody in it."""
        run = self._runs.get(run_id)
        return run is not None and not run.is_over

    def knows(self, run_id: RunId) -> bool:
        """Tell whether an attempt ever began."""
        return run_id in self._runs

    def begin(self, order: Order, *, shim: ProcessIdentity) -> None:
        """Let an agent start, and end at once where the script says so."""
        assert order.run_id not in self._runs, f"{order.run_id} runs twice"
        self.orders.append(order)
        self._runs[order.run_id] = _Run(order, shim, self.clock.now().wall)
        order.places.lock.touch()
        if (outcome := self.script(order)) is not None:
            self.finish(order.run_id, outcome)

    def finish(self, run_id: RunId, outcome: Outcome) -> None:
        """End an agent, with its record."""
        run = self._runs[run_id]
        assert not run.is_over, f"{run_id} ended before"
        assert not isinstance(outcome, Lost), "no shim writes that it is lost: kill it"
        run.is_over = True
        record = ExitRecord(run_id=run_id, outcome=outcome, started_at=run.started_at, ended_at=self.clock.now().wall)
        write_once(run.order.places.exit_record, document(exit_record_to_json(record)))

    def kill(self, shim: ProcessIdentity) -> int:
        """End a shim and its tree; there will be no record. Return how many processes that ended."""
        count = int(shim in self._shims)
        self._shims.discard(shim)
        for run in self._runs.values():
            if run.shim == shim and not run.is_over:
                run.is_over = True
                count += 1
        return count


class ScriptedHost:
    """A host whose agents end when the script or a test says so; it never sleeps."""

    def __init__(self, machine: ScriptedMachine) -> None:
        self.machine = machine
        self.waits = 0  # how often somebody would have slept
        self._slots: dict[int, ProcessIdentity] = {}
        self._watched: dict[RunId, Trace] = {}
        self._slots_made = 0
        self._unstarted: deque[Ended] = deque()

    def park(self, count: int) -> None:
        """Have at least `count` shims that are parked or busy."""
        self._forget_the_dead()
        while len(self._slots) < count:
            self._slots_made += 1
            self._slots[self._slots_made] = self.machine.hatch()

    def parked(self) -> Sequence[Parked]:
        """Return the shims that wait for an order."""
        self._forget_the_dead()
        busy = {trace.shim for run_id, trace in self._watched.items() if self.machine.is_running(run_id)}
        return [Parked(slot=slot, identity=shim) for slot, shim in self._slots.items() if shim not in busy]

    def start(self, parked: Parked, order: Order) -> None:
        """Let an agent begin; one whose shim died meanwhile ends without a record."""
        if not self.machine.is_alive(parked.identity):
            self._unstarted.append(Ended(run_id=order.run_id, record=None, began=False))
            return
        assert parked in self.parked(), f"slot {parked.slot} is busy"
        self._watched[order.run_id] = Trace(
            run_id=order.run_id, nonce=order.nonce, shim=parked.identity, places=order.places
        )
        self.machine.begin(order, shim=parked.identity)

    def adopt(self, trace: Trace) -> None:
        """Watch an attempt that another host on this machine started."""
        self._watched[trace.run_id] = trace

    def stop(self, run_id: RunId) -> None:
        """End an agent, as if it went at the first signal."""
        if run_id in self._watched and self.machine.is_running(run_id):
            self.machine.finish(run_id, Stopped())

    def ended(self, *, limit: int) -> Sequence[Ended]:
        """Return attempts that ended since the last call, each once, at most `limit`."""
        ended: list[Ended] = []
        while self._unstarted and len(ended) < limit:
            ended.append(self._unstarted.popleft())
        for run_id, trace in list(self._watched.items()):
            if len(ended) >= limit:
                break
            if not self.machine.is_running(run_id):
                del self._watched[run_id]
                record = read_exit_record(trace.places.exit_record, run_id=run_id)
                ended.append(Ended(run_id=run_id, record=record, began=self.machine.knows(run_id)))
        return ended

    def wait(self, *, timeout_seconds: float) -> None:
        """Return at once: whoever tests moves the clock."""
        assert timeout_seconds >= 0
        self.waits += 1

    def wake(self) -> None:
        """Do nothing: nobody sleeps here."""

    def close(self) -> None:
        """Let go: agents live on, parked shims leave."""
        for parked in self.parked():
            self.machine.kill(parked.identity)
        self._slots.clear()
        self._watched.clear()

    def _forget_the_dead(self) -> None:
        self._slots = {slot: shim for slot, shim in self._slots.items() if self.machine.is_alive(shim)}


class ScriptedLiveliness:
    """Says what became of the attempts of a scripted machine."""

    def __init__(self, machine: ScriptedMachine) -> None:
        self.machine = machine

    def probe(self, trace: Trace) -> Liveness:
        """Look at the machine and at the record."""
        if self.machine.is_running(trace.run_id):
            return Liveness.ALIVE
        if read_exit_record(trace.places.exit_record, run_id=trace.run_id) is not None:
            return Liveness.RECORDED
        return Liveness.GONE if self.machine.knows(trace.run_id) else Liveness.NEVER_BEGAN

    def end(self, trace: Trace) -> int:
        """End shim and tree."""
        return self.machine.kill(trace.shim) if self.machine.is_running(trace.run_id) else 0
