"""A root with harnesses that work on it: real files, agents that follow a script, a clock that stands still."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.parts import RUNS_ON, DyingDelivery, ForgetfulHost, ForgetfulStore, Script
from teamster.agents import agents_by_name
from teamster.artifacts import (
    WORKSPACES,
    AttemptFile,
    HarnessConfig,
    Outbox,
    attempt_file,
    batch_meta,
    batch_meta_path,
    current_path,
    draft,
    harness_config_version_path,
    inputs_path,
    open_root,
    shift_deadline,
    shift_lock,
    verify,
)
from teamster.kit import Clock, CountedNames, Instant, ManualClock, Names, document
from teamster.model import (
    Attempt,
    BatchId,
    FileDraft,
    HostId,
    Item,
    ItemId,
    ItemStatus,
    Job,
    JobId,
    Outcome,
    ProcessIdentity,
    RunId,
    RunnerId,
    Shift,
    ShiftId,
    Step,
    StepId,
    StepKey,
    Table,
)
from teamster.policy import RetryLimits
from teamster.process import Host, Liveliness, Order, ScriptedLiveliness, ScriptedMachine, run_tool
from teamster.runner import Circumstances, Crew, Happened, Logins, Recovery, Runner, ShiftOnDuty, ShiftPlaces
from teamster.scheduler import Scheduler
from teamster.settings import Settings
from teamster.store import BatchDraft, ItemDraft, MemoryStore, Needs, Store, Waits
from teamster.views import Scoreboard, scoreboard
from teamster.workspace import Workspaces

BATCH = BatchId("batch")
CONFIG = HarnessConfig.of(
    program_version="test",
    execution_policy={},
    timeouts={},
    retries={},
    heartbeat_stale_after_seconds=2700.0,
    limits={},
    choices={},
)
TTL_SECONDS = 90.0
ORPHAN_SECONDS = 600.0
HERE = HostId("host-here")
ELSEWHERE = HostId("host-elsewhere")
GIT = Path("/usr/bin/git")
ENVIRONMENT = {"teamster_version": "1", "python": "3", "platform": "paper"}
SETTINGS = Settings(slots=4, observe_seconds=0.0, recover_seconds=0.0, heartbeat_seconds=60.0)


@dataclass(kw_only=True)
class Harness:
    """One incarnation of a harness: a shift, a host, a runner."""

    store: Store
    host: Host
    outbox: Outbox
    delivery: DyingDelivery
    duty: ShiftOnDuty
    crew: Crew
    runner: Runner

    def tick(self, *, taking: bool = True) -> Happened:
        """Work once."""
        return self.runner.tick(taking=taking)

    def die(self) -> None:
        """Go as by `kill -9`: the kernel frees the lock, nothing else is tidied up."""
        self.duty.let_go()
        self.runner.close()
        self.outbox.close()


class Scene:
    """One root, one store, one machine; harnesses come and go."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Settings = SETTINGS,
        open_store: Callable[[], Store] | None = None,
        names: Names | None = None,
        clock: Clock | None = None,
        git: Path | None = None,
    ) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.read_clock: Clock = clock or self.clock  # what everybody reads: a real one where processes are real
        self.names = names or CountedNames()
        self.settings = settings
        self.root = open_root(folder / "root", names=self.names, clock=self.read_clock)
        self.scripts: dict[str, Script] = {}
        self.machine = ScriptedMachine(self.clock, script=self._play)
        first = MemoryStore()
        self.open_store: Callable[[], Store] = open_store or (lambda: ForgetfulStore.open(first))
        self.store = self.open_store()
        self.workspaces = Workspaces(
            self.root.at(WORKSPACES), tools=run_tool, git=git, clock=self.read_clock, names=self.names
        )
        self.harnesses: list[Harness] = []
        self.logins = Logins()

    @property
    def now(self) -> Instant:
        """The present moment."""
        return self.read_clock.now()

    def _play(self, order: Order) -> Outcome | None:
        step_id = order.env["TEAMSTER_STEP_ID"]
        return self.scripts.get(step_id, RUNS_ON)(order)

    # what is asked for

    def submit(self, *steps: Step, jobs: int = 1) -> None:
        """Submit a batch; each job has all the steps."""
        names = ["job"] if jobs == 1 else [f"job-{number}" for number in range(jobs)]
        table = Table(
            batch_id=BATCH,
            goal_summary="word " * 151,
            jobs=tuple(Job(job_id=JobId(name), working_directory="/", steps=steps) for name in names),
            concurrency=8,
            source="table.yaml",
        )
        items = [_item(job.job_id, one) for job in table.jobs for one in job.steps]
        meta = {"goal": "words", "jobs_total": len(names), "steps_total": len(items)}
        batch = BatchDraft(batch_id=BATCH, concurrency=8, meta=meta, items=tuple(items), files=_files(table, self.now))
        self.store.submit(batch, at=self.now)

    # who works

    def harness(
        self, *, host_id: HostId = HERE, host: Host | None = None, liveliness: Liveliness | None = None
    ) -> Harness:
        """Start a harness: a fresh shift that nobody renews, four parked shims."""
        shift_id = ShiftId(self.names.fresh("shift"))
        runner_id = RunnerId(f"runner-{host_id}")
        store, outbox = self.open_store(), Outbox(self.root)
        delivery = DyingDelivery(root=self.root, outbox=outbox, store=store, clock=self.read_clock)
        host = host or ForgetfulHost(self.machine)
        duty = ShiftOnDuty(
            self.shift(shift_id, runner_id, host_id),
            places=ShiftPlaces(
                lock=self.root.at(shift_lock(runner_id, shift_id)),
                deadline=self.root.at(shift_deadline(runner_id, shift_id)),
            ),
            clock=self.read_clock,
            open_store=self.open_store,
            orphan_seconds_max=ORPHAN_SECONDS,
            wake=host.wake,
        )
        duty.begin(store)
        crew = Crew(
            store=store,
            root=self.root,
            host=host,
            agents=agents_by_name(codex_program="/usr/bin/codex"),
            workspaces=self.workspaces,
            delivery=delivery,
            recovery=Recovery(
                store=store,
                root=self.root,
                host_id=host_id,
                liveliness=liveliness or ScriptedLiveliness(self.machine),
                end_harness=self._end_harness,
            ),
            duty=duty,
            circumstances=Circumstances(
                runner_id=runner_id,
                shift_id=shift_id,
                root_id=self.root.root_id,
                versions={"codex": "1.2.3"},
                environment=ENVIRONMENT,
            ),
            settings=self.settings,
            clock=self.read_clock,
            names=self.names,
            jitter=lambda: 0.0,
            logins=self.logins,
        )
        host.park(self.settings.slots)
        made = Harness(
            store=store, host=host, outbox=outbox, delivery=delivery, duty=duty, crew=crew, runner=Runner(crew)
        )
        self.harnesses.append(made)
        return made

    def shift(self, shift_id: ShiftId, runner_id: RunnerId, host_id: HostId) -> Shift:
        """Return a shift that begins now; its pid names it."""
        end = self.now.after(TTL_SECONDS)
        return Shift(
            shift_id=shift_id,
            runner_id=runner_id,
            runtime="teamster",
            host_id=host_id,
            root_id=self.root.root_id,
            boot_id=self.now.boot_id,
            pid=4000 + len(self.harnesses),
            start_ticks=7,
            ttl_seconds=TTL_SECONDS,
            began_at=self.now.wall,
            renewed_at=self.now.wall,
            expires_at=end.wall,
            expires_boot_seconds=end.boot_seconds,
            ended_at=None,
        )

    def _end_harness(self, identity: ProcessIdentity, lock: Path) -> bool:
        """Kill a harness: what the kernel does for us is that its lock is free."""
        self.harnesses[identity.pid - 4000].duty.let_go()
        return lock.exists()

    def schedule(self) -> None:
        """Let the scheduler look once."""
        Scheduler(self.store, limits=RetryLimits()).tick(self.now)

    # what can be seen

    def item(self, name: str = "main", *, job: str = "job") -> Item:
        """Return the newest item of a step."""
        key = StepKey(BATCH, JobId(job), StepId(name))
        return [item for item in self.store.items() if item.step == key][-1]

    def attempts(self, name: str = "main", *, job: str = "job") -> list[Attempt]:
        """Return the attempts of a step, oldest first."""
        return list(self.store.attempts(step=StepKey(BATCH, JobId(job), StepId(name))))

    def path(self, attempt: Attempt, name: AttemptFile) -> Path:
        """Say where a file of an attempt lies."""
        return self.root.at(attempt_file(attempt.directory, name))

    def json(self, attempt: Attempt, name: AttemptFile) -> dict[str, Any]:
        """Read a document of an attempt."""
        value: dict[str, Any] = json.loads(self.path(attempt, name).read_bytes())
        return value

    def current(self, job: str = "job") -> dict[str, Any]:
        """Read the pointers of a job."""
        value: dict[str, Any] = json.loads(self.root.at(current_path(BATCH, JobId(job))).read_bytes())
        return value

    def scoreboard(self) -> Scoreboard:
        """Look at the batch as a person does."""
        batch = self.store.batch(BATCH)
        assert batch is not None
        return scoreboard(self.store, self.root, batch, at=self.now.wall)

    def faults(self) -> list[str]:
        """Check every promise that files alone can show."""
        promised = {row.path: row.content for row in self.store.outbox()}
        live = frozenset(one.directory for one in self.store.attempts() if one.ended_at is None)
        return [str(found) for found in verify(self.root, promised=promised, live=live).findings]

    def snapshot(self) -> dict[str, bytes]:
        """Return every file of the runs store."""
        base = self.root.path / "runs"
        return {str(path.relative_to(base)): path.read_bytes() for path in sorted(base.rglob("*")) if path.is_file()}

    def run_id(self, name: str = "main", *, job: str = "job") -> RunId:
        """Return the newest attempt's run id."""
        return self.attempts(name, job=job)[-1].run_id

    def close(self) -> None:
        """Let go of everything."""
        for harness in self.harnesses:
            harness.die()
            harness.host.close()
            harness.store.close()
        self.store.close()


def _item(job_id: JobId, one: Step) -> ItemDraft:
    key = StepKey(BATCH, job_id, one.step_id)
    return ItemDraft(
        item_id=ItemId(f"item-{job_id}-{one.step_id}"),
        dedupe_key=f"{BATCH}/{key}#1",
        step=key,
        generation=1,
        target={"step_id": one.step_id},
        spec=one.to_json(),
        waits=tuple(Waits(step=need.within(BATCH, job_id), needs=Needs(need.needs)) for need in one.depends_on),
    )


def _files(table: Table, now: Instant) -> tuple[FileDraft, ...]:
    record = batch_meta(
        table.to_json(), submitted_at=now.wall, harness_config_version=CONFIG.version, effective_defaults={}
    )
    return (
        draft(batch_meta_path(BATCH), document(record)),
        draft(inputs_path(BATCH), b""),
        draft(harness_config_version_path(CONFIG.version), document(CONFIG.version_document())),
    )


def status_of(item: Item) -> tuple[ItemStatus, str | None]:
    """Say where an item is, and the code of its error."""
    return item.status, None if item.error is None else item.error.get("code")


def in_order(*moments: datetime | None) -> bool:
    """Tell whether all moments are known and none lies before another."""
    known = [moment for moment in moments if moment is not None]
    return len(known) == len(moments) and known == sorted(known)
