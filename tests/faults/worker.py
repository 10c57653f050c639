"""A worker that hammers one store with real clocks, and keeps what it was told in a file of its own.

Each line is one `write` on a file opened to append: what a line says was acknowledged, however the worker ends. The
worker is careless on purpose: it writes without looking at its own lease, repeats itself, and tries with old tokens.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

from contracts.store_world import draft, file, waits
from faults.openers import OPENERS
from simulation.defects import FOUND_BY_HISTORIES
from teamster.artifacts import attempt_folder, batch_meta_path, superseded_folder
from teamster.kit import SystemClock, sha256
from teamster.model import (
    OWNED_STATUSES,
    Attempt,
    AttemptStatus,
    BatchId,
    FileDraft,
    Item,
    ItemStatus,
    LeaseLost,
    OutboxRow,
    RequestId,
    RunId,
    RunnerId,
    Shift,
    ShiftId,
    StoreUnavailable,
)
from teamster.store import (
    Adoption,
    Answer,
    BatchDraft,
    Begin,
    Change,
    Claimed,
    Complete,
    Fail,
    Guard,
    Heartbeat,
    ItemDraft,
    Stall,
    Start,
    Store,
)

TTL_SECONDS: Final = 1.0
BATCH_ITEMS: Final = 6
RENEWALS_PER_TTL: Final = 3
LOOKED_AT_MAX: Final = 20
REMEMBERED_MAX: Final = 20
ZOMBIE_TRIES: Final = 5
ERROR: Final = {"message": "it broke"}


def drafts_of(batch_id: str) -> tuple[ItemDraft, ...]:
    """Return the items of a batch: two that run at once, two chains, and one that waits for both."""
    on = {2: ("n0",), 3: ("n1",), 4: ("n2",), 5: ("n3", "n4")}
    return tuple(
        draft(f"n{number}", *(waits(name, batch=batch_id) for name in on.get(number, ())), batch=batch_id)
        for number in range(BATCH_ITEMS)
    )


def work(
    *,
    engine: str,
    place: str,
    log: str,
    name: str,
    seed: int,
    seconds: float,
    dead: Sequence[str] = (),
    defect: str = "",
) -> None:
    """Hammer until the time is over. `dead`: shifts that are known to be dead, to be ended first."""
    if defect:
        FOUND_BY_HISTORIES[defect](setattr)
    stops: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stops.append(number))  # noqa: ARG005 - the seam's shape
    store = OPENERS[engine](place)
    try:
        Worker(store, log=Path(log), name=name, random=Random(seed)).run(  # noqa: S311
            seconds=seconds, dead=dead, stops=stops
        )
    finally:
        store.close()


class Worker:
    """One process's work."""

    def __init__(self, store: Store, *, log: Path, name: str, random: Random) -> None:
        self.store, self.name, self.random = store, name, random
        self.clock = SystemClock()
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._count = 0
        self.shift_id: ShiftId | None = None
        self.renewed_at = 0.0
        self.held: list[Item] = []
        self.old: list[Item] = []
        self.said: list[Change] = []

    def run(self, *, seconds: float, dead: Sequence[str] = (), stops: Sequence[int] = ()) -> None:
        """Do one thing after the other, until the time is over or somebody says stop."""
        until = self.clock.now().boot_seconds + seconds
        for shift in dead:
            self.end(ShiftId(shift))
        acts = {self.claim: 6, self.owner: 14, self.again: 2, self.zombie: 3, self.recover: 3, self.steer: 2}
        acts |= {self.cancel: 1, self.deliver: 3, self.submit: 1}
        while not stops and self.clock.now().boot_seconds < until:
            try:
                self.keep_shift()
                self.random.choices(list(acts), weights=list(acts.values()))[0]()
            except LeaseLost as lost:
                self.tell("refused", why=str(lost))
                self.drop_shift()
            except StoreUnavailable as trouble:  # its outcome is unknown, and is looked up by nobody
                self.tell("unavailable", why=str(trouble))

    def tell(self, what: str, **facts: Any) -> None:
        """Append one line."""
        line = {"what": what, "by": self.name, "told_at": self.clock.now().boot_seconds, **facts}
        os.write(self._log, json.dumps(line).encode() + b"\n")

    def fresh(self, kind: str) -> str:
        """Return a name that nobody used."""
        self._count += 1
        return f"{kind}-{self.name}-{self._count}"

    # shifts

    def keep_shift(self) -> None:
        """Begin a shift, or renew it when it is due, most of the time."""
        now = self.clock.now()
        if self.shift_id is None:
            end = now.after(TTL_SECONDS)
            shift = Shift(
                shift_id=ShiftId(self.fresh("shift")),
                runner_id=RunnerId(self.name),
                runtime="teamster",
                host_id="host",
                root_id="root",
                boot_id=now.boot_id,
                pid=os.getpid(),
                start_ticks=0,
                ttl_seconds=TTL_SECONDS,
                began_at=now.wall,
                renewed_at=now.wall,
                expires_at=end.wall,
                expires_boot_seconds=end.boot_seconds,
                ended_at=None,
            )
            self.tell("begins", shift=shift.shift_id)
            self.store.begin_shift(shift)
            self.shift_id, self.renewed_at = shift.shift_id, now.boot_seconds
            self.tell("holds", shift=shift.shift_id, until=end.boot_seconds)
        elif now.boot_seconds - self.renewed_at > TTL_SECONDS / RENEWALS_PER_TTL and self.random.random() < 0.5:
            renewed = self.store.renew_shift(self.shift_id, at=now)
            self.renewed_at = now.boot_seconds
            self.tell("holds", shift=self.shift_id, until=renewed.expires_boot_seconds)

    def drop_shift(self) -> None:
        """Go on with a new shift; what the old one held is tried again with its old token."""
        self.old = (self.old + self.held)[-REMEMBERED_MAX:]
        self.held, self.shift_id = [], None

    def end(self, shift_id: ShiftId) -> None:
        """End the shift of one that is dead."""
        self.tell("ends", shift=shift_id)
        self.store.end_shift(shift_id, at=self.clock.now())

    # owners

    def claim(self) -> None:
        """Claim a few, often with a start."""
        assert self.shift_id is not None
        begin = self.begin if self.random.random() < 0.6 else None
        now = self.clock.now()
        for claimed, rows in self.store.claim(self.shift_id, limit=self.random.randint(1, 4), at=now, begin=begin):
            self.held.append(claimed.item)
            self.wrote("claim", claimed.item, rows=rows, at=now.boot_seconds)

    def begin(self, claimed: Claimed, place: int) -> Begin:
        """Draft a start."""
        del place
        attempt = self.attempt(claimed.item, AttemptStatus.RUNNING)
        files = (self.file(attempt, "meta.json"), self.file(attempt, "state.json"))
        return Begin(request_id=RequestId(self.fresh("request")), attempt=attempt, files=files)

    def owner(self) -> None:
        """Go on with something that is held."""
        if not self.held:
            return
        item = self.random.choice(self.held)
        change = self.change(item)
        (answer,) = self.apply([change])
        self.held.remove(item)
        self.held += [answer.item] if answer.item is not None and answer.item.status in OWNED_STATUSES else []
        self.old = [*self.old, item][-REMEMBERED_MAX:]
        self.said = [*self.said, change][-REMEMBERED_MAX:]

    def change(self, item: Item) -> Change:
        """Draft what an owner would do next."""
        assert item.claim_token is not None
        guard = Guard(
            item_id=item.item_id,
            claim_token=item.claim_token,
            rev=item.rev,
            request_id=RequestId(self.fresh("request")),
        )
        if item.status is ItemStatus.CLAIMED:
            return Start(guard=guard, attempt=self.attempt(item, AttemptStatus.RUNNING))
        kind = self.random.choices(("beat", "complete", "fail", "stall"), weights=(3, 5, 1, 1))[0]
        if kind == "beat":
            return Heartbeat(guard=guard, ttl_seconds=TTL_SECONDS * 1.5)
        status = AttemptStatus.SUCCEEDED if kind == "complete" else AttemptStatus.FAILED
        attempt = self.attempt(item, status)
        files = (self.file(attempt, "final.json"),)
        if kind == "complete":
            return Complete(guard=guard, result={"by": self.name}, attempt=attempt, files=files)
        if kind == "fail":
            return Fail(guard=guard, error=ERROR, attempt=attempt, files=files)
        due = self.clock.now().wall if self.random.random() < 0.7 else None
        return Stall(guard=guard, error=ERROR, requeue_at=due, attempt=attempt, files=files)

    def again(self) -> None:
        """Repeat something, as after a lost reply."""
        if self.said:
            self.apply([self.random.choice(self.said)])

    def zombie(self) -> None:
        """Write with an old token and the rev of now, best about something that somebody else owns."""
        for item in self.random.sample(self.old, min(len(self.old), ZOMBIE_TRIES)):
            fresh = self.store.get(item.item_id)
            assert fresh is not None, f"{item.item_id} was acknowledged and is gone"
            if fresh.status in OWNED_STATUSES and fresh.claim_token != item.claim_token:
                self.apply([self.change(replace(fresh, claim_token=item.claim_token))])
                return
        if self.old:
            self.apply([self.change(self.random.choice(self.old))])

    def apply(self, changes: Sequence[Change]) -> Sequence[Answer]:
        """Write, and tell each answer."""
        now = self.clock.now()
        answers = self.store.apply(changes, at=now)
        for change, answer in zip(changes, answers, strict=True):
            facts = {"request": change.guard.request_id, "at": now.boot_seconds}
            if answer.item is None:
                self.tell("refused", item=change.guard.item_id, why=str(answer.refusal))
                continue
            if isinstance(change, Heartbeat) and not answer.replayed:
                facts["held_until"] = now.boot_seconds + change.ttl_seconds
            verb, token = type(change).__name__.lower(), change.guard.claim_token
            self.wrote(verb, answer.item, rows=answer.rows, replayed=answer.replayed, **facts, token=token)
        return answers

    # takers, operators, the disk

    def recover(self) -> None:
        """Take what others left behind, or seem to have."""
        assert self.shift_id is not None
        status = self.random.choice(("claimed", "running"))
        found = [
            item for item in self.store.items(status=status, limit=LOOKED_AT_MAX) if item.shift_id != self.shift_id
        ]
        for item in found:
            if item.lease is not None and item.lease.expires_at > self.clock.now().wall and self.random.random() < 0.7:
                continue  # mostly what is over; but whether it is, is for the store to say
            if self.random.random() < 0.5:
                self.take(item)

    def take(self, item: Item) -> None:
        """Adopt an item, or say that its owner is lost."""
        assert self.shift_id is not None
        now = self.clock.now()
        if self.random.random() < 0.5:
            answer = self.store.stall_lost(
                item.item_id, rev=item.rev, at=now, error=ERROR, attempt=None, files=(self.evidence(item),)
            )
            verb = "lost"
        else:
            adoption = Adoption(item_id=item.item_id, rev=item.rev, request_id=RequestId(self.fresh("request")))
            (answer,) = self.store.adopt(self.shift_id, [adoption], at=now)
            verb = "adopt"
        if answer.item is None:
            self.tell("refused", item=item.item_id, why=str(answer.refusal))
            return
        self.held += [answer.item] if verb == "adopt" else []
        facts = {"from_shift": item.shift_id, "from_token": item.claim_token, "at": now.boot_seconds}
        self.wrote(verb, answer.item, rows=answer.rows, **facts)

    def steer(self) -> None:
        """Requeue what stalled, or give up on it."""
        for item in self.store.items(status="stalled", limit=LOOKED_AT_MAX):
            now = self.clock.now()
            if self.random.random() < 0.8:
                answer = self.store.requeue(item.item_id, rev=item.rev, at=now, not_before=None)
            else:
                answer = self.store.abandon(item.item_id, rev=item.rev, at=now, error=ERROR)
            if answer.item is not None:
                self.wrote("steer", answer.item, rows=answer.rows, at=now.boot_seconds)

    def cancel(self) -> None:
        """Cancel something that is on its way."""
        found = [*self.store.items(status=self.random.choice(("queued", "running")), limit=LOOKED_AT_MAX)]
        if not found:
            return
        item, now = self.random.choice(found), self.clock.now()
        run = self.fresh("run")
        released = self.store.request_cancel(
            item.item_id,
            at=now,
            actor=self.name,
            draft=lambda item: (replace(self.attempt(item, AttemptStatus.CANCELED), run_id=RunId(run)), ()),
        )
        if released.changed and released.item.is_final:
            self.wrote("cancel", released.item, rows=released.rows, at=now.boot_seconds)

    def deliver(self) -> None:
        """Say that the oldest promises are safe."""
        seqs = [row.seq for row in self.store.outbox(limit=self.random.randint(1, LOOKED_AT_MAX))]
        self.tell("delivers", seqs=seqs)
        self.store.delivered(seqs)

    def submit(self) -> None:
        """Submit another batch."""
        batch_id = BatchId(self.fresh("batch"))
        made = BatchDraft(
            batch_id=batch_id,
            concurrency=self.random.choice((None, 3)),
            meta={},
            items=drafts_of(batch_id),
            files=(file(batch_meta_path(batch_id), self.fresh("text").encode()),),
        )
        self.tell("submits", batch=batch_id)
        submitted = self.store.submit(made, at=self.clock.now())
        self.tell("submitted", batch=batch_id, rows=_told(submitted.rows))

    def wrote(self, verb: str, item: Item, *, rows: Sequence[OutboxRow], **facts: Any) -> None:
        """Tell what a write was answered."""
        known = {"item": item.item_id, "rev": item.rev, "status": item.status.value, "fence": item.fence}
        token = {} if item.claim_token is None else {"token": item.claim_token}
        self.tell("wrote", verb=verb, **known, **{**token, **facts}, shift=self.shift_id, rows=_told(rows))

    def attempt(self, item: Item, status: AttemptStatus) -> Attempt:
        """Return the attempt of an item."""
        assert item.step is not None
        now = self.clock.now().wall
        run_id = RunId(f"run-{item.item_id}-{item.attempt}")
        ended = None if status is AttemptStatus.RUNNING else now
        return Attempt(
            run_id=run_id,
            item_id=item.item_id,
            step=item.step,
            number=item.attempt,
            directory=attempt_folder(item.step, run_id, item.enqueued_at),
            status=status,
            started_at=now,
            ended_at=ended,
            facts={},
        )

    def evidence(self, item: Item) -> FileDraft:
        """Draft what a taker keeps of what it found."""
        assert item.step is not None
        folder = superseded_folder(item.step.batch_id, RunId(f"run-{item.item_id}"), item.fence)
        return file(f"{folder}/{self.fresh('found')}.json", self.fresh("text").encode())

    def file(self, attempt: Attempt, name: str) -> FileDraft:
        """Draft a file that no other one equals."""
        return file(f"{attempt.directory}/{name}", self.fresh("text").encode())


def _told(rows: Sequence[OutboxRow]) -> list[list[Any]]:
    return [[row.seq, row.path, sha256(row.content)] for row in rows]
