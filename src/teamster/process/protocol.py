"""What a host of agent processes promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

from teamster.model import ExitRecord, ProcessIdentity, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A shim that waits for its next order; known before anything is claimed for it."""

    slot: int
    identity: ProcessIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an attempt's process leaves its traces. `spool` exists before the order is sent.

    In `spool` the shim makes `lock`, `stdout` and `stderr`; `control` holds the path of the deadline file to obey.
    """

    spool: Path
    exit_record: Path

    @property
    def lock(self) -> Path:
        """Held by the shim from before the agent starts until the record is written."""
        return self.spool / "lock"

    @property
    def control(self) -> Path:
        """Names the deadline file of the shift that the shim obeys; an adopter replaces it."""
        return self.spool / "control"

    @property
    def stdout(self) -> Path:
        """What the agent printed."""
        return self.spool / "stdout"

    @property
    def stderr(self) -> Path:
        """What the agent complained about."""
        return self.spool / "stderr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a shim shall run. `env` is the whole environment; the shim adds the nonce as `TEAMSTER_NONCE`."""

    run_id: RunId
    nonce: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path | None
    places: Places
    timeout_seconds: float
    output_bytes_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What is known of an attempt that another incarnation started: enough to find or end it."""

    run_id: RunId
    nonce: str
    shim: ProcessIdentity
    places: Places


class Liveness(Enum):
    """What the traces of an attempt say, without a clock."""

    ALIVE = auto()  # its shim holds its lock
    RECORDED = auto()  # it ended, and the record says how
    GONE = auto()  # it began, and neither shim nor record is there
    NEVER_BEGAN = auto()  # no lock, no record, no shim, no tree: it consumed nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt whose tree was seen empty. `record` is None where the shim died without one.

    `began` is False where its gate never opened: then nothing of it ever ran.
    """

    run_id: RunId
    record: ExitRecord | None
    began: bool = True


class Host(Protocol):
    """Runs agents in trees that can be ended for certain."""

    def park(self, count: int) -> None:
        """Have at least `count` shims that are parked or busy."""
        ...

    def parked(self) -> Sequence[Parked]:
        """Return the shims that wait for an order, and are known."""
        ...

    def start(self, parked: Parked, order: Order) -> None:
        """Send the order: the gate opens. A shim that died meanwhile shows up in `ended` without a record."""
        ...

    def adopt(self, trace: Trace) -> None:
        """Watch an attempt that another incarnation started, until it ends."""
        ...

    def stop(self, run_id: RunId) -> None:
        """Ask for the end of an attempt's tree, by the ladder; it shows up in `ended`. A repeat does nothing."""
        ...

    def ended(self, *, limit: int) -> Sequence[Ended]:
        """Return attempts that ended since the last call, each once, at most `limit`."""
        ...

    def wait(self, *, timeout_seconds: float) -> None:
        """Sleep until something ended or was parked, `wake` was called, or the time is over."""
        ...

    def wake(self) -> None:
        """End a `wait`, from any thread or a signal handler."""
        ...

    def close(self) -> None:
        """Let go: parked shims leave, busy ones keep their agents."""
        ...


class Liveliness(Protocol):
    """Says what became of an attempt whose harness is gone, and ends what is left of it."""

    def probe(self, trace: Trace) -> Liveness:
        """Look at lock, record, process and tree; make nothing, change nothing."""
        ...

    def end(self, trace: Trace) -> int:
        """End shim and tree, wait until nothing is left, and return how many processes were ended."""
        ...
