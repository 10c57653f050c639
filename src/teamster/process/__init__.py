"""OS processes: agents in trees that can be ended for certain, tools that are run to their end, who a process is.

May touch: spawn, signal, wait, `/proc`, locks; the spool and the exit record of an attempt. Must not know jobs,
retries or leases: it is given deadlines and names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from teamster.kit import Clock
from teamster.process.daemon import spawn_daemon
from teamster.process.flushers import Flushers
from teamster.process.host import STOP_LADDER, LocalHost
from teamster.process.identity import end_harness, host_id, is_alive, own_identity, require_linux
from teamster.process.links import Ladder
from teamster.process.liveliness import LocalLiveliness
from teamster.process.protocol import Ended, Host, Liveliness, Liveness, Order, Parked, Places, Trace
from teamster.process.record import read_exit_record
from teamster.process.scripted import ScriptedHost, ScriptedLiveliness, ScriptedMachine
from teamster.process.tools import ToolResult, run_tool

__all__ = [
    "STOP_LADDER",
    "Ended",
    "Flushers",
    "Host",
    "Ladder",
    "Liveliness",
    "Liveness",
    "LocalHost",
    "LocalLiveliness",
    "Order",
    "Parked",
    "Places",
    "ScriptedHost",
    "ScriptedLiveliness",
    "ScriptedMachine",
    "ToolResult",
    "Trace",
    "end_harness",
    "host_id",
    "is_alive",
    "open_host",
    "open_liveliness",
    "own_identity",
    "read_exit_record",
    "require_linux",
    "run_tool",
    "spawn_daemon",
]


def open_host(*, clock: Clock, log: Path | None = None, ladder: Ladder = STOP_LADDER) -> Host:
    """Open the host of this machine: before any thread is started and any database opened.

    Raises:
        UsageError: agents can't be run on this platform.
        WorldError: the nursery can't be started.
    """
    require_linux(sys.platform)
    return LocalHost(clock=clock, ladder=ladder, log=log)


def open_liveliness() -> Liveliness:
    """Open what looks after attempts of lost harnesses on this machine.

    Raises:
        UsageError: processes can't be known for certain on this platform.
    """
    require_linux(sys.platform)
    return LocalLiveliness()
