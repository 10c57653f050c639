"""Works on a root until its batch is settled, or until told to stop: one shift after the other, tick by tick."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final

import structlog

from teamster.artifacts import shift_deadline, shift_lock
from teamster.kit import Instant
from teamster.model import BatchId, Shift, ShiftId, StoreUnavailable, TeamsterError
from teamster.operations.admission import Admission
from teamster.operations.control import Control
from teamster.operations.harness import Harness, Opened
from teamster.operations.health import Health
from teamster.operations.settled import is_settled
from teamster.operations.snapshot import tell_configuration
from teamster.policy import RetryLimits
from teamster.process import Host
from teamster.runner import Circumstances, Crew, Happened, Recovery, Runner, ShiftOnDuty, ShiftPlaces
from teamster.scheduler import Scheduler
from teamster.store import Store

WAIT_SECONDS_MAX: Final = 0.5
SCHEDULE_SECONDS: Final = 0.5
AWAY_SECONDS: Final = 2.0  # between two tries to begin a shift
_log = structlog.get_logger(__name__)
Watch = Callable[[Happened, Store], None]


class _Left(Enum):
    """Why a shift ended."""

    DONE = auto()
    TOLD = auto()
    OVERSLEPT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """How the work ended: `settled` says that nothing of the batch can run any more, `held` what waits for an agent."""

    settled: bool
    counts: Mapping[str, int]
    held: Mapping[BatchId, TeamsterError] = field(default_factory=dict)


def work(
    harness: Harness,
    *,
    batch_id: BatchId | None,
    versions: Mapping[str, str | None],
    control: Control,
    watch: Watch,
    until_idle: bool = True,
    admission: Admission | None = None,
) -> Worked:
    """Adopt what lives, run what may run, until the batch (all batches: None) is settled and nothing is under care.

    Without `until_idle` it stays and waits for more. A shift that overslept its lease is followed by a new one, which
    adopts what the old one carried. With an `admission` only what it admits is claimed; what it holds back keeps
    nobody waiting. A database server that is away is waited for, for as long as it takes.

    Raises:
        WorldError: the disk, the database or the process room failed; agents that run live on and will be adopted.
    """
    task = _Task(batch_id=batch_id, control=control, watch=watch, until_idle=until_idle, admission=admission)
    while _work_one_shift(harness, task, versions) is _Left.OVERSLEPT:
        continue
    with Opened.of(harness) as opened:
        return Worked(
            settled=is_settled(opened.store, batch_id),
            counts=dict(opened.store.counts(batch_id=batch_id)),
            held={} if admission is None else admission.held,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What was asked for, shift after shift."""

    batch_id: BatchId | None
    control: Control
    watch: Watch
    until_idle: bool
    admission: Admission | None

    def claimable(self, store: Store, now: Instant) -> frozenset[BatchId] | None:
        """Return the batches that may be claimed; None means all."""
        if self.batch_id is not None:
            return frozenset({self.batch_id})
        return None if self.admission is None else self.admission.admit(store, now)

    def is_done(self, store: Store) -> bool:
        """Tell whether nothing is left to wait for."""
        if not self.until_idle:
            return False
        is_stuck = self.admission is not None and self.admission.holds_the_rest(store)
        return is_stuck or is_settled(store, self.batch_id)


def _work_one_shift(harness: Harness, task: _Task, versions: Mapping[str, str | None]) -> _Left:
    host = harness.open_host()  # first of all: what it starts inherits no lock and no database
    try:
        task.control.wakes(host.wake)
        return _work_with(host, harness, task, versions)
    except StoreUnavailable as error:
        if not _may_come_back(harness):
            raise
        _log.warning("the store is away; a new shift begins when it is back", fact=error.fact)
        host.wait(timeout_seconds=AWAY_SECONDS)
        return _Left.TOLD if task.control.draining else _Left.OVERSLEPT
    finally:
        host.close()


def _work_with(host: Host, harness: Harness, task: _Task, versions: Mapping[str, str | None]) -> _Left:
    with Opened.of(harness) as opened:
        duty = _begin(harness, opened.store, host)
        try:
            tell_configuration(harness, opened.store)
            crew = _crew(harness, opened, host, duty, versions)
            wanted = task.claimable(opened.store, harness.clock.now())
            with closing(Runner(crew, only=wanted)) as runner:
                return _loop(harness, crew, runner, task)
        finally:
            try:
                opened.delivery.settle()
            finally:
                duty.end(opened.store)


def _may_come_back(harness: Harness) -> bool:
    """Tell whether waiting for a store is worth it: a server is away for a while, a file that fails stays so."""
    return harness.settings.store_url is not None


def _loop(harness: Harness, crew: Crew, runner: Runner, task: _Task) -> _Left:
    """Tick and wait, tick and wait: everything clever happens in the ticks."""
    scheduler, control = Scheduler(crew.store, limits=RetryLimits()), task.control
    gc.freeze()  # what is there now stays to the end: no collection needs to look at it again
    health = Health(harness.root, harness.runner_id)
    crew.host.park(crew.settings.slots)
    turns = _Turns(
        harness=harness, crew=crew, runner=runner, task=task, control=control, scheduler=scheduler, health=health
    )
    while (left := turns.take()) is None:
        crew.host.wait(timeout_seconds=WAIT_SECONDS_MAX)
    return left


@dataclass(slots=True, kw_only=True)
class _Turns:
    """The turns of one shift: each says why to leave it, if there is a reason."""

    harness: Harness
    crew: Crew
    runner: Runner
    task: _Task
    control: Control
    scheduler: Scheduler
    health: Health
    scheduled_at: float = 0.0
    stopped: bool = False
    was_away: bool = False

    def take(self) -> _Left | None:
        """Work once. What runs goes on while a server is away, and is kept as late evidence once the lease is over."""
        try:
            return self._work()
        except StoreUnavailable as error:
            if not _may_come_back(self.harness):
                raise
            if not self.was_away:
                _log.warning("the store is away; what runs goes on", fact=error.fact)
            self.was_away = True
            return _Left.TOLD if self.control.leaving else None

    def _work(self) -> _Left | None:
        control, runner, store = self.control, self.runner, self.crew.store
        happened = runner.tick(taking=not control.draining)
        if not happened.is_over:
            self._look_around()
        elif self.was_away and runner.carried:
            return None  # they end by themselves, and nobody will adopt what they leave
        self.task.watch(happened, store)
        if happened.is_over or (self.was_away and runner.has_strays()):
            return _Left.OVERSLEPT
        self.was_away = False
        if control.leaving:
            return _Left.TOLD
        if control.stopping and not self.stopped:
            self.stopped = True
            runner.stop_all()
        if not runner.carried:
            if control.draining:
                return _Left.TOLD
            if self.task.is_done(store):
                return _Left.DONE
        return None

    def _look_around(self) -> None:
        """Do what need not be done in each turn."""
        now, control = self.crew.clock.now(), self.control
        if now.boot_seconds - self.scheduled_at < SCHEDULE_SECONDS:
            return
        self.scheduled_at = now.boot_seconds
        self.scheduler.tick(now)
        self.harness = _reload(self.harness, self.crew, self.runner, now)
        running, slots = len(self.runner.carried), self.harness.settings.slots
        self.health.tell(now, slots=slots, running=running, draining=control.draining)
        if not control.draining:
            self.runner.only(self.task.claimable(self.crew.store, now))


def _reload(harness: Harness, crew: Crew, runner: Runner, now: Instant) -> Harness:
    """Take what the operator has changed meanwhile: from now on, for what starts from now on."""
    changed = harness.reloading.changed(harness.settings, now)
    if changed is None:
        return harness
    runner.set(changed)
    crew.host.park(changed.slots)
    harness = replace(harness, settings=changed)
    tell_configuration(harness, crew.store)
    return harness


def _begin(harness: Harness, store: Store, host: Host) -> ShiftOnDuty:
    shift_id = ShiftId(harness.names.fresh("shift"))
    shift = _shift(harness, shift_id, harness.clock.now())
    duty = ShiftOnDuty(
        shift,
        places=ShiftPlaces(
            lock=harness.root.at(shift_lock(harness.runner_id, shift_id)),
            deadline=harness.root.at(shift_deadline(harness.runner_id, shift_id)),
        ),
        clock=harness.clock,
        open_store=harness.open_store,
        orphan_seconds_max=harness.settings.orphan_seconds_max,
        wake=host.wake,
    )
    duty.begin(store)
    duty.start_renewing()
    return duty


def _shift(harness: Harness, shift_id: ShiftId, now: Instant) -> Shift:
    ttl = harness.settings.shift_ttl_seconds
    return Shift(
        shift_id=shift_id,
        runner_id=harness.runner_id,
        runtime="teamster",
        host_id=harness.host_id,
        root_id=harness.root.root_id,
        boot_id=now.boot_id,
        pid=harness.identity.pid,
        start_ticks=harness.identity.start_ticks,
        ttl_seconds=ttl,
        began_at=now.wall,
        renewed_at=now.wall,
        expires_at=now.after(ttl).wall,
        expires_boot_seconds=now.boot_seconds + ttl,
        ended_at=None,
    )


def _crew(harness: Harness, opened: Opened, host: Host, duty: ShiftOnDuty, versions: Mapping[str, str | None]) -> Crew:
    return Crew(
        store=opened.store,
        root=harness.root,
        host=host,
        agents=harness.agents,
        workspaces=harness.workspaces,
        delivery=opened.delivery,
        recovery=Recovery(
            store=opened.store,
            root=harness.root,
            host_id=harness.host_id,
            liveliness=harness.liveliness,
            end_harness=harness.end_harness,
        ),
        duty=duty,
        circumstances=Circumstances(
            runner_id=harness.runner_id,
            shift_id=duty.shift.shift_id,
            root_id=harness.root.root_id,
            versions=versions,
            environment=harness.environment,
        ),
        settings=harness.settings,
        clock=harness.clock,
        names=harness.names,
        jitter=harness.jitter,
        logins=harness.logins,
    )
