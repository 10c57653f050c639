"""What became of an attempt whose harness is gone, and the end of what is left of it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from typing import Final

from teamster.kit import is_locked
from teamster.model import WorldError
from teamster.process.identity import hold_exactly, is_alive
from teamster.process.nursery import boot_seconds, kill_beneath, open_carriers, read_stat
from teamster.process.protocol import Liveness, Trace
from teamster.process.record import read_exit_record

END_SECONDS_MAX: Final = 10.0  # a process that SIGKILL does not end by then waits for a device or a dead file server
GONE_SECONDS_MAX: Final = 0.05  # of one wait for the kernel to take killed processes apart
STEP_SECONDS: Final = 0.002  # between looks at a tree that is being ended from above
_STOPPED_STATES: Final = "Tt"


class LocalLiveliness:
    """Reads the traces that shims leave on this host; it needs no clock and no harness to ask."""

    def probe(self, trace: Trace) -> Liveness:
        """Look at process, lock, record and tree, in this order; make nothing, change nothing.

        The order matters: what a dead shim left can't change any more while we look at it. A lock that is held where
        the shim is dead is somebody else's, and proves nothing.
        """
        shim_lives = is_alive(trace.shim)
        held = is_locked(trace.places.lock)
        is_recorded = read_exit_record(trace.places.exit_record, run_id=trace.run_id) is not None
        if shim_lives and (held or not is_recorded):
            return Liveness.ALIVE
        if is_recorded:
            return Liveness.RECORDED
        if held is None and not self._has_tree(trace):
            return Liveness.NEVER_BEGAN
        return Liveness.GONE

    def end(self, trace: Trace) -> int:
        """End shim and tree, wait until nothing is left, and return how many processes were ended.

        Raises:
            WorldError: something outlived SIGKILL.
        """
        ended: set[int] = set()
        give_up_at = boot_seconds() + END_SECONDS_MAX
        while met := self.end_once(trace):
            ended |= met
            if boot_seconds() >= give_up_at:
                raise WorldError(
                    f"{trace.run_id}: {len(met)} processes outlive SIGKILL: {sorted(met)[:8]}",
                    hint="they wait for a device or a file server; its slot stays taken until they are gone",
                )
        return len(ended)

    def end_once(self, trace: Trace) -> set[int]:
        """Make one round of ending; return whom it met. Nobody met: shim and tree are gone."""
        with hold_exactly(trace.shim) as shim:
            if shim is not None and self._is_on(trace):
                return self._end_from_shim(trace.shim.pid, shim)
        return self._end_carriers(trace.nonce)

    @staticmethod
    def _is_on(trace: Trace) -> bool:
        """Tell whether the shim is on this attempt: one that recorded it and let go may be serving the next one."""
        return bool(is_locked(trace.places.lock)) or not trace.places.exit_record.exists()

    @staticmethod
    def _end_from_shim(pid: int, shim: int) -> set[int]:
        """Stop the shim first: while it stands, nobody leaves its tree, and it can't record what we do to it."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(shim, signal.SIGSTOP)
            stat = read_stat(pid)
            if stat is not None and stat[0] not in _STOPPED_STATES:
                _wait_gone([shim], seconds_max=STEP_SECONDS)
                return {pid}
            if met := kill_beneath(pid):
                _wait_gone([shim], seconds_max=STEP_SECONDS)
                return met
            signal.pidfd_send_signal(shim, signal.SIGKILL)
            _wait_gone([shim])
        return {pid}

    @staticmethod
    def _end_carriers(nonce: str) -> set[int]:
        found = open_carriers(nonce)
        try:
            for descriptor in found.values():
                with contextlib.suppress(OSError):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            _wait_gone(list(found.values()))
        finally:
            for descriptor in found.values():
                os.close(descriptor)
        return set(found)

    @staticmethod
    def _has_tree(trace: Trace) -> bool:
        found = open_carriers(trace.nonce)
        for descriptor in found.values():
            os.close(descriptor)
        return bool(found)


def _wait_gone(pidfds: list[int], *, seconds_max: float = GONE_SECONDS_MAX) -> None:
    """Wait until processes have ended, but not for long: the next round looks again."""
    poll = select.poll()
    for descriptor in pidfds:
        poll.register(descriptor, select.POLLIN)
    running = len(pidfds)
    give_up_at = boot_seconds() + seconds_max
    while running and (rest := give_up_at - boot_seconds()) > 0:
        for descriptor, _ in poll.poll(rest * 1000):
            poll.unregister(descriptor)
            running -= 1
