"""Everything that a runner works with, and what it tells of each tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from teamster.agents import Agent
from teamster.artifacts import Root
from teamster.kit import Clock, Names
from teamster.model import Attempt, RunId
from teamster.process import Host
from teamster.runner.delivery import Delivery
from teamster.runner.drafting import Circumstances
from teamster.runner.logins import Logins
from teamster.runner.recovery import Recovery
from teamster.runner.shift import ShiftOnDuty
from teamster.settings import Settings
from teamster.store import Store
from teamster.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Everything that a runner works with."""

    store: Store
    root: Root
    host: Host
    agents: Mapping[str, Agent]
    workspaces: Workspaces
    delivery: Delivery
    recovery: Recovery
    duty: ShiftOnDuty
    circumstances: Circumstances
    settings: Settings
    clock: Clock
    names: Names
    jitter: Callable[[], float]
    logins: Logins = field(default_factory=Logins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What one tick changed, for whoever watches."""

    started: tuple[Attempt, ...] = ()
    ended: tuple[Attempt, ...] = ()
    adopted: tuple[Attempt, ...] = ()
    superseded: tuple[RunId, ...] = ()
    is_over: bool = False

    @property
    def anything(self) -> bool:
        """Something happened: the next tick may have more to do."""
        return bool(self.started or self.ended or self.adopted)
