"""The host of this machine: a nursery of shims, each of which owns the agents that it is given."""

from __future__ import annotations

import errno
import os
import selectors
import signal
import socket
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from teamster.kit import Clock, flush
from teamster.model import ProcessIdentity, RunId, WorldError
from teamster.process.identity import open_exactly, signal_exactly
from teamster.process.links import Ladder, NurseryLink, ShimLink
from teamster.process.liveliness import LocalLiveliness
from teamster.process.protocol import Ended, Liveness, Order, Parked, Trace
from teamster.process.record import parse_exit_record, read_exit_record

STOP_LADDER: Final[Ladder] = ((signal.SIGINT, 10.0), (signal.SIGTERM, 10.0))
SLEEP_SECONDS_MAX: Final = 1.0  # a sleep's clock stops while the machine is suspended, the deadline's does not
ENDING_LOOK_SECONDS: Final = 0.02  # between rounds of ending what a dead shim left
OVERDUE_SECONDS: Final = 30.0  # past its limits, before we suspect that an agent stopped its shim
BARREN_STARTS_MAX: Final = 3  # nurseries in a row that died without a shim
WAKE_BYTES_MAX: Final = 4096


class LocalHost:
    """Runs agents on this machine. Make it before threads and databases; use it from one thread, `wake` from any.

    Everything that happens arrives at one selector: our own bell, the nursery, the links of our shims, and pidfds of
    shims that another incarnation started.
    """

    def __init__(self, *, clock: Clock, ladder: Ladder = STOP_LADDER, log: Path | None = None) -> None:
        """Start the nursery, which writes its complaints to `log`.

        Raises:
            WorldError: it can't be started.
        """
        self._clock = clock
        self._ladder = ladder
        self._log = log
        self._liveliness = LocalLiveliness()
        self._selector = selectors.DefaultSelector()
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._watch(self._bell, self._hear_bell)
        self._shims: dict[int, ShimLink] = {}  # by slot
        self._lost: dict[int, Trace] = {}  # by the pid of a dead shim whose nursery still ends its tree
        self._gone: set[int] = set()  # pids of dead shims whose end we heard of before their link told us
        self._adopted: dict[RunId, Trace] = {}
        self._continue_at = 0.0  # boot seconds of the next look after adopted shims that were stopped
        self._ending: list[Trace] = []  # shim dead: what it left is ended by us, then reported
        self._ended: deque[Ended] = deque()
        self._asked = 0  # shims that the nursery has not answered for yet
        self._slots = 0
        self._slots_of_others = 0  # up to this slot, shims are children of a nursery that is gone
        self._refusal = ""
        self._barren_starts = 0
        self._has_parked = False
        self._was_rung = False
        self._nursery: NurseryLink | None = None
        try:
            self._start_nursery()
        except WorldError:
            self.close()
            raise

    def park(self, count: int) -> None:
        """Have at least `count` shims that are parked or busy; they show up in `parked` when they are there.

        Raises:
            WorldError: the machine has no room for a single one.
        """
        if self._refusal and not self._shims:
            fact, self._refusal = self._refusal, ""
            raise WorldError(f"no process can be started: {fact}", hint="see the limits on processes and memory")
        if len(self._shims) + self._asked >= count:
            return
        if self._nursery is None:
            self._start_nursery()
        while self._nursery is not None and len(self._shims) + self._asked < count:
            if not self._nursery.ask():
                self._lose_nursery()
                return  # the next call starts another one
            self._asked += 1

    def parked(self) -> Sequence[Parked]:
        """Return the shims that wait for an order, and are known."""
        self._look(0.0)
        self._has_parked = False
        return [Parked(slot=shim.slot, identity=shim.identity) for shim in self._shims.values() if shim.order is None]

    def start(self, parked: Parked, order: Order) -> None:
        """Send the order: the gate opens. A shim that died meanwhile shows up in `ended` without a record."""
        shim = self._shims.get(parked.slot)
        if shim is None or shim.identity != parked.identity:
            self._ended.append(Ended(run_id=order.run_id, record=None, began=False))
            return
        assert shim.order is None, f"slot {parked.slot} is busy with {shim.order.run_id}"
        rungs = sum(seconds for _, seconds in self._ladder)
        shim.overdue_at = self._clock.now().boot_seconds + order.timeout_seconds + rungs + OVERDUE_SECONDS
        if not shim.run(order, ladder=self._ladder):
            self._give_up(shim)

    def adopt(self, trace: Trace) -> None:
        """Watch an attempt that another incarnation started, until it ends."""
        if trace.run_id in self._adopted:
            return
        self._adopted[trace.run_id] = trace
        is_recorded = self._liveliness.probe(trace) is Liveness.RECORDED  # its shim may be serving another one by now
        if is_recorded:
            _flush_record(trace.places.exit_record)  # its shim may have told a dead harness
        descriptor = None if is_recorded else open_exactly(trace.shim)
        if descriptor is None:
            self._ending.append(trace)
        else:
            self._watch(descriptor, lambda: self._see_end(descriptor, trace))

    def stop(self, run_id: RunId) -> None:
        """Ask for the end of an attempt's tree, by the ladder; it shows up in `ended`. A repeat does nothing."""
        if (trace := self._adopted.get(run_id)) is not None:
            signal_exactly(trace.shim, signal.SIGTERM)  # a shim takes it for the same wish
            signal_exactly(trace.shim, signal.SIGCONT)
            return
        for shim in self._shims.values():
            if shim.order is not None and shim.order.run_id == run_id:
                signal_exactly(shim.identity, signal.SIGCONT)  # an agent may have stopped it
                if not shim.stop(run_id):
                    self._give_up(shim)
                return

    def ended(self, *, limit: int) -> Sequence[Ended]:
        """Return attempts that ended since the last call, each once, at most `limit`."""
        self._look(0.0)
        self._end_what_is_left()
        self._continue_overdue()
        return [self._ended.popleft() for _ in range(min(limit, len(self._ended)))]

    def wait(self, *, timeout_seconds: float) -> None:
        """Sleep until something ended or was parked, `wake` was called, or the time is over."""
        until = self._clock.now().boot_seconds + timeout_seconds
        self._look(0.0)
        while not (self._was_rung or self._has_parked or self._ended):
            rest = until - self._clock.now().boot_seconds
            if rest <= 0:
                break
            self._look(min(rest, ENDING_LOOK_SECONDS if self._ending else SLEEP_SECONDS_MAX))
            self._end_what_is_left()
        self._was_rung = self._has_parked = False

    def wake(self) -> None:
        """End a `wait`, from any thread or a signal handler."""
        try:
            self._ringer.send(b"!")
        except OSError:
            return  # it rings already, or nobody waits any more

    def close(self) -> None:
        """Let go: parked shims leave, busy ones keep their agents. A second call does nothing."""
        if not self._selector.get_map():
            return
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            if isinstance(key.fileobj, int):
                os.close(key.fileobj)
        for shim in self._shims.values():
            shim.close()
        self._shims.clear()
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None
        self._selector.close()
        self._bell.close()
        self._ringer.close()

    def _start_nursery(self) -> None:
        if self._barren_starts >= BARREN_STARTS_MAX:
            raise WorldError(
                f"the nursery died {self._barren_starts} times before it forked a shim",
                hint=f"see {self._log}" if self._log else "give the host a log to see why",
            )
        self._barren_starts += 1
        nursery = NurseryLink(log=self._log)
        self._nursery = nursery
        self._watch(nursery.connection, lambda: self._hear_nursery(nursery))

    def _watch(self, source: socket.socket | int, hear: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, hear)

    def _look(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data()

    def _hear_bell(self) -> None:
        self._bell.recv(WAKE_BYTES_MAX)
        self._was_rung = True

    def _hear_nursery(self, nursery: NurseryLink) -> None:
        if nursery is not self._nursery:
            return  # we hung up in this very round
        match nursery.receive():
            case ("shim", int(pid), int(start_ticks)), socket.socket() as connection:
                self._welcome(connection, pid=pid, start_ticks=start_ticks)
            case ("gone", int(pid)), None:
                self._hear_gone(pid)
            case ("failed", str(fact)), None:
                self._asked -= 1
                self._refusal = fact
            case ("shim", int(), int()), None:  # its link got lost on the way: it sees that, and leaves
                self._asked -= 1
                self._refusal = os.strerror(errno.EMFILE)
            case None:
                self._lose_nursery()
            case message:
                raise AssertionError(f"no message of a nursery: {message!r:.200}")

    def _welcome(self, connection: socket.socket, *, pid: int, start_ticks: int) -> None:
        identity = ProcessIdentity(boot_id=self._clock.now().boot_id, pid=pid, start_ticks=start_ticks)
        self._slots += 1
        shim = ShimLink(connection, slot=self._slots, identity=identity)
        self._shims[shim.slot] = shim
        self._watch(connection, lambda: self._hear_shim(shim))
        self._asked -= 1
        self._barren_starts = 0
        self._refusal = ""
        self._has_parked = True

    def _hear_shim(self, shim: ShimLink) -> None:
        if self._shims.get(shim.slot) is not shim:
            return  # given up in this very round
        for run_id, record in shim.receive():
            assert shim.order is not None, "a shim reports what it was told to run"
            assert shim.order.run_id == run_id, "a shim reports what it was told to run"
            self._ended.append(
                Ended(run_id=shim.order.run_id, record=parse_exit_record(record, run_id=shim.order.run_id))
            )
            shim.order = None
        if not shim.is_open:
            self._drop(shim)

    def _hear_gone(self, pid: int) -> None:
        """Take note that a dead shim's tree was seen empty; its link may not have told us yet that it is dead."""
        if (trace := self._lost.pop(pid, None)) is not None:
            self._ending.append(trace)
        elif any(shim.identity.pid == pid for shim in self._shims.values()):
            self._gone.add(pid)

    def _give_up(self, shim: ShimLink) -> None:
        """Take a shim that doesn't listen for dead, and make sure of it."""
        signal_exactly(shim.identity, signal.SIGKILL)
        self._drop(shim)

    def _drop(self, shim: ShimLink) -> None:
        self._selector.unregister(shim.connection)
        shim.close()
        del self._shims[shim.slot]
        pid = shim.identity.pid
        if shim.order is not None:
            trace = _trace_of(shim.order, shim.identity)
            if self._nursery is None or pid in self._gone or shim.slot <= self._slots_of_others:
                self._ending.append(trace)
            else:
                self._lost[pid] = trace
        self._gone.discard(pid)

    def _lose_nursery(self) -> None:
        """Go on without the nursery: its shims serve us as before, and we end what the dead among them left."""
        assert self._nursery is not None
        self._selector.unregister(self._nursery.connection)
        self._nursery.close()
        self._nursery = None
        self._slots_of_others = self._slots
        self._asked = 0
        self._ending.extend(self._lost.values())
        self._lost.clear()
        self._gone.clear()

    def _continue_overdue(self) -> None:
        """Continue shims that should have ended their agents long ago: one that was stopped keeps no limit."""
        now = self._clock.now().boot_seconds
        for shim in self._shims.values():
            if shim.order is not None and now >= shim.overdue_at:
                shim.overdue_at = now + OVERDUE_SECONDS
                signal_exactly(shim.identity, signal.SIGCONT)
        if self._adopted and now >= self._continue_at:  # whose limits we were not told
            self._continue_at = now + OVERDUE_SECONDS
            for trace in self._adopted.values():
                signal_exactly(trace.shim, signal.SIGCONT)

    def _see_end(self, descriptor: int, trace: Trace) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        self._ending.append(trace)

    def _end_what_is_left(self) -> None:
        """Make one round over the trees of dead shims; report those that are empty."""
        still_there = []
        for trace in self._ending:
            record = read_exit_record(trace.places.exit_record, run_id=trace.run_id)
            if record is None and self._liveliness.end_once(trace):
                still_there.append(trace)
            else:
                self._adopted.pop(trace.run_id, None)
                began = record is not None or trace.places.lock.exists()
                self._ended.append(Ended(run_id=trace.run_id, record=record, began=began))
        self._ending = still_there


def _flush_record(path: Path) -> None:
    try:
        flush([path, path.parent])
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:  # where an agent put a link, there is nothing to keep
            raise


def _trace_of(order: Order, shim: ProcessIdentity) -> Trace:
    return Trace(run_id=order.run_id, nonce=order.nonce, shim=shim, places=order.places)
