"""Plays the vectors of `conformance/` on a store: what the README there asks of any implementation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from teamster.kit import Instant, from_iso
from teamster.model import (
    RECORD,
    Attempt,
    AttemptStatus,
    BatchId,
    ClaimToken,
    FileDraft,
    Item,
    ItemId,
    JobId,
    JsonObject,
    LeaseLost,
    RequestId,
    RunId,
    RunnerId,
    Shift,
    ShiftId,
    StepId,
    StepKey,
    UsageError,
    history_faults,
    record_from_json,
)
from teamster.store import (
    Adoption,
    Answer,
    BatchDraft,
    ClaimFilter,
    Complete,
    Fail,
    Guard,
    Heartbeat,
    ItemDraft,
    Stall,
    Start,
    Store,
)

FOLDER = Path(__file__).resolve().parents[2] / "conformance" / "vectors"
VECTORS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
BATCH = BatchId("conformance")
NO_TOKEN = ClaimToken("nobody-has-this-token")
REFUSALS = {"lease_lost": LeaseLost, "usage": UsageError}
PARTLY = ("owner", "lease", "error")  # members that a vector doesn't name are the implementation's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a store said: the items that an operation gave, whether it was a repeat, or why it was refused."""

    items: tuple[Item, ...] = ()
    is_repeat: bool = False
    refusal: Exception | None = None
    changed: bool | None = None


def play(store: Store, vector: Mapping[str, Any]) -> None:
    """Play one vector from its first step to its last, and check each answer."""
    player = Player(store)
    for number, step in enumerate(vector["steps"], 1):
        before = player.records()
        told = player.do(step)
        place = f"{vector['name']}, step {number}, {step['do']}"
        check(told, step["expect"], player=player, place=place)
        if told.refusal is not None or told.is_repeat or step["expect"].get("changed") is False:
            assert player.records() == before, f"{place}: what was refused or repeated changed a record"


class Player:
    """One store on its way through one vector."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens: dict[str | None, ClaimToken] = {None: NO_TOKEN}
        self._jobs: list[ItemId] = []
        self._began: Instant | None = None

    def do(self, step: Mapping[str, Any]) -> Told:
        """Carry out one step."""
        at = self._instant(from_iso(step["at"]))
        operation: Callable[[JsonObject, Instant], Told] = getattr(self, f"_{step['do']}")
        try:
            told = operation(step["with"], at)
        except (LeaseLost, UsageError) as refusal:
            return Told(refusal=refusal)
        for name, item in zip(step.get("save", ()), told.items, strict=False):
            assert item.claim_token is not None
            self._tokens[name] = item.claim_token
        return told

    def record(self, item: Item) -> JsonObject:
        """Write an item as another implementation would read it, with its history."""
        return item.to_record(tuple(self._store.events(item.item_id)))

    def records(self) -> list[JsonObject]:
        """Return all records that there are."""
        items = (self._store.get(item_id) for item_id in self._jobs)
        return [self.record(item) for item in items if item is not None]

    def _instant(self, wall: datetime) -> Instant:
        if self._began is None:
            self._began = Instant(wall=wall, boot_seconds=1000.0, boot_id="boot-1")
            empty = BatchDraft(batch_id=BATCH, concurrency=None, meta={}, items=())
            self._store.submit(empty, at=self._began)
        return self._began.after((wall - self._began.wall).total_seconds())

    # operations, each named as the vectors name it

    def _begin_shift(self, given: JsonObject, at: Instant) -> Told:
        end = at.after(given["ttl_seconds"])
        shift = Shift(
            shift_id=ShiftId(given["shift_id"]),
            runner_id=RunnerId(given["worker_id"]),
            runtime=given["runtime"],
            host_id="host",
            root_id="root",
            boot_id=at.boot_id,
            pid=4711,
            start_ticks=12,
            ttl_seconds=given["ttl_seconds"],
            began_at=at.wall,
            renewed_at=at.wall,
            expires_at=end.wall,
            expires_boot_seconds=end.boot_seconds,
            ended_at=None,
        )
        self._store.begin_shift(shift)
        return Told()

    def _renew_shift(self, given: JsonObject, at: Instant) -> Told:
        self._store.renew_shift(ShiftId(given["shift_id"]), at=at)
        return Told()

    def _end_shift(self, given: JsonObject, at: Instant) -> Told:
        self._store.end_shift(ShiftId(given["shift_id"]), at=at)
        return Told()

    def _enqueue(self, given: JsonObject, at: Instant) -> Told:
        job_id = ItemId(given["job_id"])
        draft = ItemDraft(
            item_id=job_id,
            dedupe_key=given["dedupe_key"],
            step=StepKey(BATCH, JobId(job_id), StepId("step")),
            generation=1,
            target=given["target"],
            spec={},
        )
        item = self._store.enqueue(draft, at=at)
        assert item is not None
        self._jobs += [item.item_id] if item.item_id not in self._jobs else []
        return Told(items=(item,))

    def _claim(self, given: JsonObject, at: Instant) -> Told:
        wanted = ClaimFilter(stalled=given.get("stalled", False))
        taken = self._store.claim(ShiftId(given["shift_id"]), limit=given["limit"], at=at, wanted=wanted)
        return Told(items=tuple(claimed.item for claimed, _ in taken))

    def _start(self, given: JsonObject, at: Instant) -> Told:
        return self._apply(Start(guard=self._guard(given)), at)

    def _heartbeat(self, given: JsonObject, at: Instant) -> Told:
        return self._apply(Heartbeat(guard=self._guard(given), ttl_seconds=given["ttl_seconds"]), at)

    def _complete(self, given: JsonObject, at: Instant) -> Told:
        return self._apply(Complete(guard=self._guard(given), result=given["result"]), at)

    def _fail(self, given: JsonObject, at: Instant) -> Told:
        return self._apply(Fail(guard=self._guard(given), error=given["error"]), at)

    def _stall(self, given: JsonObject, at: Instant) -> Told:
        due = given["requeue_at"]
        requeue_at = None if due is None else from_iso(due)
        return self._apply(Stall(guard=self._guard(given), error=given["error"], requeue_at=requeue_at), at)

    def _stall_lost(self, given: JsonObject, at: Instant) -> Told:
        job_id = ItemId(given["job_id"])
        return _told(self._store.stall_lost(job_id, rev=given["rev"], at=at, error=given["error"], attempt=None))

    def _requeue(self, given: JsonObject, at: Instant) -> Told:
        due = given["not_before"]
        not_before = None if due is None else from_iso(due)
        return _told(self._store.requeue(ItemId(given["job_id"]), rev=given["rev"], at=at, not_before=not_before))

    def _abandon(self, given: JsonObject, at: Instant) -> Told:
        return _told(self._store.abandon(ItemId(given["job_id"]), rev=given["rev"], at=at, error=given["error"]))

    def _cancel(self, given: JsonObject, at: Instant) -> Told:
        draft = _canceled(at)
        released = self._store.request_cancel(ItemId(given["job_id"]), at=at, actor=given["actor"], draft=draft)
        return Told(items=(released.item,), changed=released.changed)

    def _adopt(self, given: JsonObject, at: Instant) -> Told:
        request_id = RequestId(given["request_id"])
        adoption = Adoption(item_id=ItemId(given["job_id"]), rev=given["rev"], request_id=request_id)
        (answer,) = self._store.adopt(ShiftId(given["shift_id"]), [adoption], at=at)
        return _told(answer)

    def _get(self, given: JsonObject, at: Instant) -> Told:
        del at
        item = self._store.get(ItemId(given["job_id"]))
        assert item is not None
        return Told(items=(item,))

    def _guard(self, given: JsonObject) -> Guard:
        return Guard(
            item_id=ItemId(given["job_id"]),
            claim_token=self._tokens[given["claim"]],
            rev=given["rev"],
            request_id=RequestId(given["request_id"]),
        )

    def _apply(self, change: Start | Heartbeat | Complete | Fail | Stall, at: Instant) -> Told:
        (answer,) = self._store.apply([change], at=at)
        return _told(answer)


def check(told: Told, expected: Mapping[str, Any], *, player: Player, place: str) -> None:
    """Compare an answer with what a vector expects."""
    refusal = expected.get("refused")
    if refusal is not None:
        assert isinstance(told.refusal, REFUSALS[refusal]), f"{place}: {told}"
        return
    assert told.refusal is None, f"{place}: {told.refusal}"
    assert told.is_repeat is expected.get("repeat", False), place
    assert told.changed is None or told.changed is expected.get("changed", True), place
    records = expected.get("records", [expected["record"]] if "record" in expected else [])
    assert len(told.items) == len(records), f"{place}: {told.items}"
    for item, record in zip(told.items, records, strict=True):
        check_record(player.record(item), record, place=place)


def check_record(actual: JsonObject, expected: Mapping[str, Any], *, place: str) -> None:
    """Compare a record member by member; it must be a record of contract v1 with a whole history, too."""
    whole = record_from_json(actual, source=place)
    if "events" in expected:  # the first answer of a request that the job has left behind names none
        assert history_faults(whole) == (), place
        assert len(actual["events"]) == len(expected["events"]), f"{place}: {actual['events']}"
        for found, wanted in zip(actual["events"], expected["events"], strict=True):
            assert _holds(found, wanted), f"{place}: {found}"
    for name in PARTLY:
        found, wanted = actual.get(name), expected.get(name)
        assert (found is None) == (wanted is None), f"{place}: {name} {found}"
        assert found is None or _holds(found, wanted), f"{place}: {name} {found}"
    for name in RECORD.fields.keys() - {*PARTLY, "events"}:
        assert actual.get(name) == expected.get(name), f"{place}: {name} {actual.get(name)}"


def _holds(actual: JsonObject, expected: JsonObject | None) -> bool:
    return expected is not None and all(actual.get(name) == member for name, member in expected.items())


def _told(answer: Answer) -> Told:
    items = () if answer.item is None else (answer.item,)
    return Told(items=items, is_repeat=answer.replayed, refusal=answer.refusal)


def _canceled(at: Instant) -> Callable[[Item], tuple[Attempt, tuple[FileDraft, ...]]]:
    def draft(item: Item) -> tuple[Attempt, tuple[FileDraft, ...]]:
        assert item.step is not None
        attempt = Attempt(
            run_id=RunId(f"canceled-{item.item_id}"),
            item_id=item.item_id,
            step=item.step,
            number=item.attempt + 1,
            directory=f"runs/{item.item_id}",
            status=AttemptStatus.CANCELED,
            started_at=at.wall,
            ended_at=at.wall,
        )
        return attempt, ()

    return draft
