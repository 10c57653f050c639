"""One root with all that works on it: what wiring builds and every operation is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from teamster.agents import Agent, BrokenAgent
from teamster.artifacts import Outbox, Root
from teamster.kit import Clock, Names
from teamster.model import ExecutionPolicy, HostId, ProcessIdentity, RetryPolicy, RunnerId, TableDefaults
from teamster.operations.reloading import Reloading
from teamster.process import Host, Liveliness
from teamster.runner import Delivery, Logins
from teamster.settings import Settings
from teamster.store import Store
from teamster.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """The means of every operation on one root. `open_host` comes first: the nursery inherits no database."""

    root: Root
    settings: Settings
    clock: Clock
    names: Names
    host_id: HostId
    runner_id: RunnerId
    identity: ProcessIdentity
    agents: Mapping[str, Agent]
    environment: Mapping[str, str]
    open_store: Callable[[], Store]
    open_host: Callable[[], Host]
    open_outbox: Callable[[], Outbox]
    workspaces: Workspaces
    liveliness: Liveliness
    end_harness: Callable[[ProcessIdentity, Path], bool]
    jitter: Callable[[], float]
    reloading: Reloading
    logins: Logins = field(default_factory=Logins)
    broken_agents: tuple[BrokenAgent, ...] = ()

    @property
    def defaults(self) -> TableDefaults:
        """What holds for a step where its table says nothing."""
        return defaults_of(self.settings, self.agents)


@dataclass(slots=True)
class Opened:
    """A store and a delivery for one operation, let go of at its end."""

    harness: Harness
    store: Store
    delivery: Delivery
    outbox: Outbox

    @classmethod
    def of(cls, harness: Harness) -> Opened:
        """Open them."""
        store, outbox = harness.open_store(), harness.open_outbox()
        delivery = Delivery(root=harness.root, outbox=outbox, store=store, clock=harness.clock)
        return cls(harness, store, delivery, outbox)

    def __enter__(self) -> Self:
        """Use them for a block."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Flush what was written, then let go."""
        try:
            self.delivery.settle()
        finally:
            self.outbox.close()
            self.store.close()


def defaults_of(settings: Settings, agents: Iterable[str]) -> TableDefaults:
    """Return what holds for a step where its table says nothing."""
    return TableDefaults(
        agents=tuple(agents),
        policy=ExecutionPolicy(sandbox=settings.sandbox, approval_policy=settings.approval_policy),
        retry=RetryPolicy(attempts_max=settings.attempts_max),
        timeout_seconds=settings.step_timeout_seconds,
        concurrency=settings.slots,
    )
