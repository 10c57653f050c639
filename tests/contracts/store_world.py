"""A small world for the tests of stores: a clock that stands still, shifts, steps, and items in every state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from teamster.kit import Instant, ManualClock
from teamster.model import (
    FINAL_ATTEMPT_STATUSES,
    Attempt,
    AttemptStatus,
    BatchId,
    ClaimToken,
    FileClass,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    JobId,
    OutboxRow,
    RequestId,
    RunId,
    RunnerId,
    Shift,
    ShiftId,
    StepId,
    StepKey,
)
from teamster.store import (
    Answer,
    BatchDraft,
    Begin,
    Change,
    Claimed,
    ClaimFilter,
    Complete,
    Fail,
    Guard,
    ItemDraft,
    Needs,
    Released,
    Stall,
    Start,
    Store,
    Submission,
    Waits,
)

BATCH = BatchId("batch")
PLANS = BatchId("_plans")
TTL_SECONDS = 90.0
ERROR = {"message": "it broke"}
RESULT = {"ok": True}
NO_TOKEN = ClaimToken("none")


def key(name: str, batch: str = BATCH) -> StepKey:
    """Return a step; in these tests each is a job of its own unless the name says `job.step`."""
    job, _, step = name.partition(".")
    return StepKey(BatchId(batch), JobId(job), StepId(step or "step"))


def waits(name: str, needs: Needs = Needs.SUCCEEDED, batch: str = BATCH) -> Waits:
    """Return a dependency."""
    return Waits(step=key(name, batch), needs=needs)


def draft(
    name: str,
    *on: Waits,
    batch: str = BATCH,
    generation: int = 1,
    priority: int = 0,
    item_id: str | None = None,
    limit_keys: frozenset[str] = frozenset(),
) -> ItemDraft:
    """Draft the item of a step."""
    return ItemDraft(
        item_id=ItemId(item_id or f"{batch}-{name.replace('.', '-')}-{generation}"),
        dedupe_key=f"{batch}/{name}#{generation}",
        step=key(name, batch),
        generation=generation,
        target={"plan_id": name, "workflow_command": "code"},
        spec={"prompt": name},
        waits=on,
        priority=priority,
        limit_keys=limit_keys,
    )


def loose(name: str, *, collection: str = PLANS, role: str | None = None, command: str = "code") -> ItemDraft:
    """Draft an item that is no step: an advance of a plan."""
    target = {"plan_id": name, "workflow_command": command, **({} if role is None else {"role": role})}
    return ItemDraft(
        item_id=ItemId(f"plan-{name}"),
        dedupe_key=f"plan/{name}/{command}",
        step=None,
        collection=BatchId(collection),
        generation=1,
        target=target,
        spec={},
    )


def file(path: str, content: bytes = b"text") -> FileDraft:
    """Draft a file."""
    return FileDraft(path=path, file_class=FileClass.WRITE_ONCE, content=content)


class World:
    """One store, the handles that were opened on it, and verbs that tests can read."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self.open = open_store
        self.store = open_store()
        self.clock = ManualClock()
        self._requests = 0

    @property
    def now(self) -> Instant:
        """The present moment."""
        return self.clock.now()

    def request(self) -> RequestId:
        """Return a request id that was not used."""
        self._requests += 1
        return RequestId(f"request-{self._requests}")

    def submit(
        self,
        *drafts: ItemDraft,
        batch: str = BATCH,
        concurrency: int | None = None,
        files: tuple[FileDraft, ...] = (),
    ) -> Submission:
        """Submit a batch."""
        made = BatchDraft(
            batch_id=BatchId(batch), concurrency=concurrency, meta={"of": batch}, items=drafts, files=files
        )
        return self.store.submit(made, at=self.now)

    def shift(self, name: str = "shift-a", *, ttl_seconds: float = TTL_SECONDS) -> ShiftId:
        """Begin a shift."""
        self.store.begin_shift(self.shift_value(name, ttl_seconds=ttl_seconds))
        return ShiftId(name)

    def shift_value(self, name: str, *, ttl_seconds: float = TTL_SECONDS) -> Shift:
        """Return a shift that begins now."""
        end = self.now.after(ttl_seconds)
        return Shift(
            shift_id=ShiftId(name),
            runner_id=RunnerId(f"runner-of-{name}"),
            runtime="teamster",
            host_id="host",
            root_id="root",
            boot_id=self.now.boot_id,
            pid=4711,
            start_ticks=12,
            ttl_seconds=ttl_seconds,
            began_at=self.now.wall,
            renewed_at=self.now.wall,
            expires_at=end.wall,
            expires_boot_seconds=end.boot_seconds,
            ended_at=None,
        )

    def claim(
        self, shift: str = "shift-a", *, limit: int = 1, wanted: ClaimFilter | None = None, store: Store | None = None
    ) -> list[Item]:
        """Claim, without a start."""
        taken = (store or self.store).claim(ShiftId(shift), limit=limit, at=self.now, wanted=wanted or ClaimFilter())
        return [claimed.item for claimed, _ in taken]

    def claim_started(self, shift: str = "shift-a", *, limit: int = 1) -> list[tuple[Claimed, tuple[OutboxRow, ...]]]:
        """Claim and start at once, each with an attempt and two files."""
        return list(self.store.claim(ShiftId(shift), limit=limit, at=self.now, begin=self.begin))

    def begin(self, claimed: Claimed, place: int) -> Begin:
        """Draft a start."""
        del place
        attempt = self.attempt(claimed.item)
        files = (file(f"{attempt.directory}/meta.json"), file(f"{attempt.directory}/state.json"))
        return Begin(request_id=self.request(), attempt=attempt, files=files)

    def attempt(
        self, item: Item, status: AttemptStatus = AttemptStatus.RUNNING, *, run: str | None = None, **facts: Any
    ) -> Attempt:
        """Return an attempt of an item."""
        assert item.step is not None
        run_id = RunId(run or f"run-{item.item_id}-{item.attempt}")
        return Attempt(
            run_id=run_id,
            item_id=item.item_id,
            step=item.step,
            number=item.attempt,
            directory=f"runs/{run_id}",
            status=status,
            started_at=self.now.wall,
            ended_at=self.now.wall if status in FINAL_ATTEMPT_STATUSES else None,
            facts=facts,
        )

    def guard(self, item: Item, *, rev: int | None = None, request: RequestId | None = None) -> Guard:
        """Return the guard of a write about an item as it was read."""
        return Guard(
            item_id=item.item_id,
            claim_token=item.claim_token or NO_TOKEN,
            rev=item.rev if rev is None else rev,
            request_id=request or self.request(),
        )

    def apply(self, change: Change, *, store: Store | None = None) -> Answer:
        """Carry out one change."""
        (answer,) = (store or self.store).apply([change], at=self.now)
        return answer

    def start(self, item: Item) -> Item:
        """Start an item."""
        return accepted(self.apply(Start(guard=self.guard(item), attempt=self.attempt(item))))

    def apply_bare_start(self, item: Item) -> Answer:
        """Start an item without an attempt."""
        return self.apply(Start(guard=self.guard(item)))

    def complete(self, item: Item, **more: Any) -> Item:
        """Complete an item."""
        return accepted(self.apply(Complete(guard=self.guard(item), result=RESULT, **more)))

    def fail(self, item: Item, **more: Any) -> Item:
        """Fail an item for good."""
        return accepted(self.apply(Fail(guard=self.guard(item), error=ERROR, **more)))

    def stall(self, item: Item, *, requeue_at: datetime | None = None, **more: Any) -> Item:
        """Stall an item."""
        return accepted(self.apply(Stall(guard=self.guard(item), error=ERROR, requeue_at=requeue_at, **more)))

    def cancel(self, item_id: str, *, actor: str = "operator") -> Released:
        """Ask to cancel an item."""
        return self.store.request_cancel(ItemId(item_id), at=self.now, actor=actor, draft=self.canceled)

    def cancel_of_new(self, name: str) -> tuple[OutboxRow, ...]:
        """Submit a batch of one item, cancel it, and return the files that follow."""
        self.submit(draft(name, batch=name), batch=name)
        return self.cancel(f"{name}-{name}-1").rows

    def canceled(self, item: Item) -> tuple[Attempt, tuple[FileDraft, ...]]:
        """Draft the attempt of a cancel."""
        attempt = self.attempt(item, AttemptStatus.CANCELED, run=f"canceled-{item.item_id}")
        return attempt, (file(f"{attempt.directory}/state.json"),)

    def stall_lost(self, item: Item, **more: Any) -> Answer:
        """Stall an item whose owner is gone."""
        return self.store.stall_lost(item.item_id, rev=item.rev, at=self.now, error=ERROR, **{"attempt": None, **more})

    def fresh(self, item: Item) -> Item:
        """Read an item again."""
        found = self.store.get(item.item_id)
        assert found is not None
        return found

    def running(self, name: str = "one", *, shift: str = "shift-a") -> Item:
        """Submit a batch of one item and run it."""
        self.submit(draft(name))
        self.shift(shift)
        (item,) = self.claim(shift)
        return self.start(item)

    def claim_of_new(self, name: str) -> RequestId:
        """Submit a batch of one item, start it with its claim, and return the request id of that start."""
        self.submit(draft(name))
        self.shift()
        ((claimed, _),) = self.claim_started()
        last = self.store.events(claimed.item.item_id)[-1]
        assert last.request_id is not None
        return last.request_id

    def item_in(self, status: ItemStatus) -> Item:
        """Bring one item to a state; where it has an owner, that is a living `shift-a`."""
        self.submit(draft("one"))
        self.shift()
        if status is ItemStatus.QUEUED:
            return self.only()
        (item,) = self.claim()
        if status is ItemStatus.CLAIMED:
            return item
        item = self.start(item)
        ways: dict[ItemStatus, Callable[[Item], Item]] = {
            ItemStatus.STALLED: self.stall,
            ItemStatus.SUCCEEDED: self.complete,
            ItemStatus.FAILED: self.fail,
        }
        return ways[status](item) if status in ways else item

    def only(self) -> Item:
        """Return the only item."""
        (item,) = self.store.items()
        return item

    def types(self, item: Item) -> list[str]:
        """Return an item's history in one word each."""
        return [event.type.value for event in self.store.events(item.item_id)]


def accepted(answer: Answer) -> Item:
    """Return the item of an answer that is no refusal."""
    assert answer.refusal is None, answer.refusal
    assert answer.item is not None
    return answer.item


def refused(answer: Answer, kind: type[Exception]) -> str:
    """Return why a write was refused."""
    assert answer.item is None
    assert isinstance(answer.refusal, kind), answer.refusal
    assert not answer.rows
    return str(answer.refusal)


def ids(items: Sequence[Item]) -> list[str]:
    """Return the steps of items, by the names that tests gave them."""
    return [str(item.step).removesuffix(".step") for item in items]
