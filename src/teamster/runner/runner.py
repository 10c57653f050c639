"""Carries attempts from their claim to their recorded end, in ticks: observe, decide, record, take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

import structlog

from teamster.artifacts import (
    DATABASES,
    AttemptFile,
    attempt_file,
    blames_disk,
    inventory,
    keep_session,
    save_late,
)
from teamster.kit import FileLock, Instant
from teamster.model import (
    Attempt,
    BatchId,
    ExitRecord,
    Item,
    ItemId,
    LeaseLost,
    OutboxRow,
    RequestId,
    RunId,
    Shift,
    Step,
    StoreUnavailable,
    WorldError,
)
from teamster.policy import FailureClass
from teamster.process import Ended, Liveness, Parked
from teamster.runner.carried import Carried, carry, point_at
from teamster.runner.crew import Crew, Happened
from teamster.runner.drafting import begin
from teamster.runner.elsewhere import stall_elsewhere
from teamster.runner.ending import Ending, refuse
from teamster.runner.handing import Handed, hand_over
from teamster.runner.judging import judge
from teamster.runner.observing import look
from teamster.runner.preparing import CannotStart, prepare
from teamster.runner.recovery import ITEMS_PER_SHIFT_MAX, Left, keep_whole_lines
from teamster.runner.spools import Spools
from teamster.settings import Settings
from teamster.store import Adoption, Answer, Begin, Change, Claimed, ClaimFilter

_log = structlog.get_logger(__name__)

ENDED_PER_TICK_MAX: Final = 64
TAKE_OVER_LOCK: Final = f"{DATABASES}/takeover.lock"


class Runner:
    """One shift's work. It owns what it claimed until the store says otherwise."""

    def __init__(self, crew: Crew, *, only: frozenset[BatchId] | None = None) -> None:
        self._crew = crew
        self._wanted = ClaimFilter(batch_ids=only)
        self._carried: dict[RunId, Carried] = {}
        self._endings: list[Ending] = []
        self._handed: dict[RunId, Handed] = {}  # from a claim to its start
        self._flushed: list[int] = []
        self._observed_at = 0.0
        self._recovered_at = -crew.settings.recover_seconds
        self._swept = False
        self._spools = Spools()

    @property
    def shift(self) -> Shift:
        """The right under which it works."""
        return self._crew.duty.shift

    @property
    def carried(self) -> Sequence[Attempt]:
        """The attempts under its care."""
        return [carried.attempt for carried in self._carried.values()]

    def has_strays(self) -> bool:
        """Tell whether its shift owns what it doesn't carry: the answer got lost. A new shift adopts that."""
        carried = {carried.item.item_id for carried in self._carried.values()}
        owned = self._crew.store.items(shift_id=self.shift.shift_id, limit=ITEMS_PER_SHIFT_MAX)
        return any(item.item_id not in carried for item in owned)

    def tick(self, *, taking: bool = True) -> Happened:
        """Observe what ended, judge it, record it in one transaction, deliver its files, and start what may start.

        `taking` False finishes what runs and claims nothing: a drain.
        """
        now = self._crew.clock.now()
        if self._crew.duty.is_over:
            return Happened(superseded=self._keep_late(), is_over=True)
        adopted = self._recover(now)
        self._observe(now)
        self._endings += [self._conclude(ended, now) for ended in self._crew.host.ended(limit=ENDED_PER_TICK_MAX)]
        happened = self._write(taking=taking)
        if not happened.anything:
            self._spools.tidy()
        return replace(happened, adopted=adopted, is_over=happened.is_over or self._crew.duty.is_over)

    def only(self, batch_ids: frozenset[BatchId] | None) -> None:
        """Claim from these batches alone from now on; None means all."""
        self._wanted = ClaimFilter(batch_ids=batch_ids)

    def set(self, settings: Settings) -> None:
        """Work with other settings from now on; what runs keeps what it was started with."""
        self._crew = replace(self._crew, settings=settings)

    def stop_all(self) -> None:
        """Ask for the end of every agent; each is recorded as stopped and may run again."""
        for run_id, carried in self._carried.items():
            carried.ending = True
            self._crew.host.stop(run_id)

    def close(self) -> None:
        """Let go; what runs lives on."""
        self._spools.close()

    def _observe(self, now: Instant) -> None:
        """Read new output, carry out requests to cancel, write heartbeats: each so often, not each tick."""
        settings = self._crew.settings
        if now.boot_seconds - self._observed_at < settings.observe_seconds:
            return
        self._observed_at = now.boot_seconds
        canceled = self._cancel_requests()
        for run_id, carried in self._carried.items():
            look(carried, now, root=self._crew.root, heartbeat_seconds=settings.heartbeat_seconds)
            carried.cancel_requested = carried.cancel_requested or carried.item.item_id in canceled
            overdue = carried.done_since is not None and (
                now.boot_seconds - carried.done_since > settings.terminal_grace_seconds
            )
            if (carried.cancel_requested or overdue) and not carried.ending:
                carried.ending = True
                self._crew.host.stop(run_id)

    def _cancel_requests(self) -> frozenset[ItemId]:
        try:
            return frozenset(self._crew.store.cancel_requests(self.shift.shift_id))
        except StoreUnavailable:
            return frozenset()

    def _conclude(self, ended: Ended, now: Instant) -> Ending:
        crew, carried = self._crew, self._carried[ended.run_id]
        if ended.record is None and not ended.began:
            return self._refuse(carried, "its shim was gone before the agent was started", FailureClass.LOST, now)
        return self._judge(carried, ended.record, now, keeping=not crew.duty.is_over)

    def _judge(self, carried: Carried, record: ExitRecord | None, now: Instant, *, keeping: bool) -> Ending:
        self._crew.logins.end(carried)
        root, workspaces, jitter = self._crew.root, self._crew.workspaces, self._crew.jitter()
        return judge(carried, record, root=root, workspaces=workspaces, keeping=keeping, now=now, jitter=jitter)

    def _write(self, *, taking: bool) -> Happened:
        """Record how attempts ended and claim what may start, in one transaction; then carry out what follows.

        The moment is read anew for each of the two: a harness that slept since its tick began would be judged by a
        lease that has run out meanwhile.
        """
        crew, begun = self._crew, dict[ItemId, Attempt]()
        self._flushed += crew.delivery.flushed()
        if crew.duty.is_over:
            # What was judged without keeping its evidence must not be recorded.
            return Happened(superseded=self._keep_late(), is_over=True)
        parked = self._free_shims() if taking else ()
        changes = [ending.change for ending in self._endings]
        try:
            with crew.store.together() if (changes or self._flushed) and parked else nullcontext():
                answers = self._apply(changes) if changes or self._flushed else ()
                taken = self._claim(parked, begun) if parked else ()
        except StoreUnavailable as error:
            _log.warning("the store is away; ends wait for it", fact=error.fact, ends=len(changes))
            return Happened()
        endings, self._endings, self._flushed = self._endings, [], []
        crew.delivery.deliver(
            [row for rows in (*(answer.rows for answer in answers), *(rows for _, rows in taken)) for row in rows]
        )
        ended, superseded = self._settle(endings, answers)
        for (claimed, _), shim in zip(taken, parked, strict=False):
            self._start(claimed.item, begun[claimed.item.item_id], shim)
        started = tuple(begun[claimed.item.item_id] for claimed, _ in taken)
        return Happened(started=started, ended=ended, superseded=superseded)

    def _apply(self, changes: Sequence[Change]) -> Sequence[Answer]:
        return self._crew.store.apply(changes, at=self._crew.clock.now(), delivered=self._flushed)

    def _settle(
        self, endings: Sequence[Ending], answers: Sequence[Answer]
    ) -> tuple[tuple[Attempt, ...], tuple[RunId, ...]]:
        done, superseded = [], []
        for ending, answer in zip(endings, answers, strict=True):
            if answer.refusal is None:
                done.append(ending.attempt)
            elif isinstance(answer.refusal, LeaseLost):
                self._keep_as_superseded(ending)
                superseded.append(ending.attempt.run_id)
            else:
                raise answer.refusal
            self._forget(ending.carried, remove=answer.refusal is None)
        return tuple(done), tuple(superseded)

    def _keep_late(self) -> tuple[RunId, ...]:
        """Keep what was found by a shift that is over; the agents that still run are the next shift's."""
        now = self._crew.clock.now()
        self._endings += [self._conclude(ended, now) for ended in self._crew.host.ended(limit=ENDED_PER_TICK_MAX)]
        endings, self._endings = self._endings, []
        for ending in endings:
            self._keep_as_superseded(ending)
            self._forget(ending.carried, remove=False)
        return tuple(ending.attempt.run_id for ending in endings)

    def _keep_as_superseded(self, ending: Ending) -> None:
        attempt, fence = ending.attempt, ending.carried.item.fence
        prefix = f"{attempt.directory}/"
        files = {file.path.removeprefix(prefix): file.content for file in ending.files}
        save_late(self._crew.root, attempt.step.batch_id, attempt.run_id, fence, files)

    def _forget(self, carried: Carried, *, remove: bool) -> None:
        self._carried.pop(carried.attempt.run_id, None)
        if remove:
            self._spools.take_back(carried.places.spool, files=carried.scratch_files)

    def _free_shims(self) -> Sequence[Parked]:
        free = self._crew.settings.slots - (len(self._carried) - len(self._endings))
        return self._crew.host.parked()[: max(0, free)]

    def _claim(
        self, parked: Sequence[Parked], begun: dict[ItemId, Attempt]
    ) -> Sequence[tuple[Claimed, tuple[OutboxRow, ...]]]:
        """Claim as many items as there are parked shims and free slots; claim, identity and start are one commit."""
        crew, now = self._crew, self._crew.clock.now()

        def start_with_claim(claimed: Claimed, place: int) -> Begin:
            step, shim = Step.from_json(claimed.item.spec), parked[place].identity
            promised = (file for ending in self._endings for file in ending.files)
            handed = hand_over(claimed, step, root=crew.root, promised=promised)
            started = begin(
                claimed, step, shim=shim, at=now, names=crew.names, circumstances=crew.circumstances, handed=handed
            )
            begun[claimed.item.item_id] = started.attempt
            if handed is not None:
                self._handed[started.attempt.run_id] = handed
            return started

        try:
            return crew.store.claim(
                self.shift.shift_id, limit=len(parked), at=now, wanted=self._wanted, begin=start_with_claim
            )
        except LeaseLost as error:
            _log.warning("nothing could be claimed", fact=error.fact)
            return ()

    def _start(self, item: Item, attempt: Attempt, parked: Parked) -> None:
        crew, now = self._crew, self._crew.clock.now()
        handed = self._handed.pop(attempt.run_id, None)
        carried = carry(item, attempt, root=crew.root, agents=crew.agents, settings=crew.settings, handed=handed)
        carried.beat_at = now.boot_seconds
        self._carried[attempt.run_id] = carried
        try:
            order = prepare(
                carried,
                root=crew.root,
                spools=self._spools,
                workspaces=crew.workspaces,
                settings=crew.settings,
                deadline=crew.duty.places.deadline,
                logins=crew.logins,
            )
        except CannotStart as error:
            self._endings.append(self._refuse(carried, error.fact, error.failure_class, now))
        except (WorldError, OSError) as error:
            failure_class = FailureClass.STORE_UNAVAILABLE if blames_disk(error) else FailureClass.AGENT_BROKEN
            self._endings.append(self._refuse(carried, str(error), failure_class, now))
        else:
            crew.host.start(parked, order)

    def _refuse(self, carried: Carried, fact: str, failure_class: FailureClass, now: Instant) -> Ending:
        self._crew.logins.end(carried)
        keep_session(carried.home, ())  # the user's own configuration lies in no frozen attempt
        on_disk = inventory(self._crew.root, carried.attempt.directory)
        return refuse(carried, fact, failure_class, on_disk=on_disk, now=now, jitter=self._crew.jitter())

    def _recover(self, now: Instant) -> tuple[Attempt, ...]:
        crew = self._crew
        if now.boot_seconds - self._recovered_at < crew.settings.recover_seconds:
            return ()
        self._recovered_at = now.boot_seconds
        over = crew.recovery.end_dead_shifts(mine=self.shift.shift_id, at=now)
        if crew.delivery.deliver_orphans(at=now) is None:
            return ()  # nothing is taken over before the files that were promised of it are there
        adopted = self._take_over(over)
        if not self._swept:
            crew.recovery.sweep(self._carried, logins=crew.logins)
            self._swept = True
        return adopted

    def _take_over(self, over: Sequence[Shift]) -> tuple[Attempt, ...]:
        """Take over what shifts left, one harness of a root at a time: the evidence of a lost attempt has one writer.

        Dead shifts were ended before, without this lock: a stopped harness that holds it must not protect itself.
        """
        crew = self._crew
        if not over:
            return ()
        try:
            lock = FileLock(crew.root.at(TAKE_OVER_LOCK))
        except BlockingIOError:
            return ()  # somebody else is at it; what is left then is seen by the next turn
        with lock:
            now = crew.clock.now()
            left = [found for shift in over for found in crew.recovery.left(shift)]
            adopted = self._adopt([found for found in left if found.liveness in _ADOPTABLE], now)
            for found in left:
                if found.liveness not in _ADOPTABLE:
                    self._stall(found, now)
        return adopted

    def _adopt(self, left: Sequence[Left], now: Instant) -> tuple[Attempt, ...]:
        """Take over agents that live, and records of those that ended while nobody looked."""
        crew = self._crew
        adoptions = [
            Adoption(
                item_id=found.item.item_id,
                rev=found.item.rev,
                request_id=RequestId(crew.names.fresh("adopt")),
            )
            for found in left
        ]
        answers = crew.store.adopt(self.shift.shift_id, adoptions, at=now) if adoptions else ()
        adopted = []
        for found, answer in zip(left, answers, strict=True):
            if answer.item is None or answer.refusal is not None or found.attempt is None:
                continue  # another harness was quicker
            carried = self._carry_again(replace(found, item=answer.item), found.attempt)
            carried.beat_at = now.boot_seconds
            carried.tampered = point_at(carried.places, crew.duty.places.deadline)
            self._carried[found.attempt.run_id] = carried
            crew.host.adopt(carried.trace)
            adopted.append(found.attempt)
        return tuple(adopted)

    def _stall(self, found: Left, now: Instant) -> None:
        """Record an attempt that is gone; who decides about the next try is the scheduler."""
        crew, began = self._crew, found.liveness is Liveness.GONE
        error = {"code": "lost", "message": "its runner is gone, and nobody knows how it ended"}
        if found.attempt is None:
            crew.store.stall_lost(
                found.item.item_id, rev=found.item.rev, at=now, error=error, attempt=None, began=False
            )
            return
        if found.elsewhere is not None:
            stall_elsewhere(crew, found, found.attempt, found.elsewhere, error=error, now=now)
            return
        carried = self._carry_again(found, found.attempt)
        if began:
            ending = self._judge(carried, None, now, keeping=True)
        else:
            ending = self._refuse(carried, "its runner was gone before the agent was started", FailureClass.LOST, now)
        answer = crew.store.stall_lost(
            found.item.item_id,
            rev=found.item.rev,
            at=now,
            error=error,
            attempt=ending.attempt,
            files=ending.files,
            began=began,
        )
        crew.delivery.deliver(answer.rows)
        if answer.refusal is None:
            self._spools.take_back(carried.places.spool, files=carried.scratch_files)

    def _carry_again(self, found: Left, attempt: Attempt) -> Carried:
        """Take an attempt under care whose event log somebody else has begun."""
        crew = self._crew
        log = crew.root.at(attempt_file(attempt.directory, AttemptFile.EVENTS))
        carried = carry(
            found.item,
            attempt,
            root=crew.root,
            agents=crew.agents,
            settings=crew.settings,
            lines_kept=keep_whole_lines(log),
        )
        carried.cancel_requested = found.item.cancel_requested
        crew.logins.adopt(carried)
        return carried


_ADOPTABLE: Final = frozenset({Liveness.ALIVE, Liveness.RECORDED})
