"""The SQLite store and the reference model agree about whatever is done to them."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.store_world import BATCH, ERROR, PLANS, World, draft, file, loose, waits
from teamster.kit import CountedNames
from teamster.model import AttemptStatus, BatchId, ClaimToken, Event, Item, ShiftId, TeamsterError
from teamster.store import (
    Adoption,
    Answer,
    ClaimFilter,
    Complete,
    Fail,
    Heartbeat,
    ItemDraft,
    MemoryStore,
    Needs,
    Stall,
    Start,
)
from teamster.store.connection import Database
from teamster.store.sqlite import SqliteStore

EXAMPLES = 60
STEPS_MIN = 30
STEPS_MAX = 60
NAMES = [f"n{number}" for number in range(6)]
SOME_TOKEN = ClaimToken("some")
SHIFTS = ["s0", "s1", "s2"]
small = st.integers(min_value=0, max_value=5)
flag = st.booleans()
needs = st.sampled_from(Needs)
Act = tuple[Any, ...]

shift = st.sampled_from(SHIFTS)
claim = st.tuples(st.just("claim"), shift, st.sampled_from([1, 2, 3, 9]), st.sampled_from([True, True, False]), small)
owner = st.tuples(
    st.just("owner"),
    st.sampled_from(["start", "beat", "complete", "complete", "fail", "stall", "requeue"]),
    small,
    st.sampled_from(["right", "right", "stale", "guess"]),
    flag,
)
acts = st.one_of(
    claim,
    claim,
    owner,
    owner,
    owner,
    st.tuples(
        st.just("submit"), st.sampled_from(["early", "late"]), st.lists(st.tuples(small, needs), max_size=4), small
    ),
    st.tuples(st.just("enqueue"), small, st.integers(1, 3), flag),
    st.tuples(st.just("limit"), st.sampled_from(["*", "key:*", "key:0", "key:1"]), st.sampled_from([None, 0, 1, 2, 9])),
    st.tuples(st.just("plan"), small, st.integers(1, 2)),
    st.tuples(st.just("begin"), shift),
    st.tuples(st.just("end"), shift),
    st.tuples(st.just("renew"), shift),
    st.tuples(st.just("wait"), st.sampled_from([1, 1, 10, 40, 95])),
    st.tuples(st.just("again"), small),
    st.tuples(st.just("lost"), small, flag),
    st.tuples(st.just("adopt"), small, shift),
    st.tuples(st.just("steer"), st.sampled_from(["requeue", "abandon"]), small, small),
    st.tuples(st.just("cancel"), small),
    st.tuples(st.just("delivered"), small),
)
FIRST: list[Act] = [
    ("begin", "s0"),
    ("begin", "s1"),
    ("submit", "early", [(0, Needs.SUCCEEDED), (1, Needs.FINAL)], 5),
    ("claim", "s0", 3, True, 0),
]


class Player:
    """Plays acts on one store and writes down, without random names, all that it is told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: list[Item] = []  # every record that was ever claimed, stale ones too
        self.changes: list[Any] = []
        self.incarnations: Counter[str] = Counter()

    def play(self, act: Act) -> Any:
        """Play one act; a refusal is an answer too."""
        name, *values = act
        try:
            return plain(getattr(self, name)(*values))
        except TeamsterError as refusal:
            return type(refusal)

    def submit(self, batch: str, links: list[tuple[int, Needs]], concurrency: int) -> Any:
        drafts = [draft(name, batch=batch, priority=number % 2) for number, name in enumerate(NAMES)]
        for number, (target, need) in enumerate(links):
            where = "early" if target == number + 1 else batch
            drafts[number + 1] = draft(NAMES[number + 1], waits(NAMES[min(target, number)], need, where), batch=batch)
        drafts = [_aimed(number, made) for number, made in enumerate(drafts)]
        return self.world.submit(*drafts, batch=batch, concurrency=concurrency or None, files=(file("meta"),))

    def enqueue(self, number: int, generation: int, late: bool) -> Any:  # noqa: FBT001 - values come as a tuple
        batch = "late" if late else "early"
        made = draft(
            NAMES[number], *(() if generation < 3 else (waits("n0", batch=batch),)), batch=batch, generation=generation
        )
        return self.world.store.enqueue(made, at=self.world.now)

    def limit(self, limit_key: str, maximum: int | None) -> Any:
        return self.world.store.set_limit(limit_key, maximum)

    def plan(self, number: int, count: int) -> Any:
        drafts = [replace(loose(f"p{number + n}"), priority=number % 2) for n in range(count)]
        return self.world.store.enqueue_many(drafts, at=self.world.now)

    def _id(self, shift: str) -> ShiftId:
        return ShiftId(f"{shift}-{self.incarnations[shift]}")

    def begin(self, shift: str) -> Any:
        self.incarnations[shift] += 1
        return self.world.shift(self._id(shift))

    def end(self, shift: str) -> Any:
        return self.world.store.end_shift(self._id(shift), at=self.world.now)

    def renew(self, shift: str) -> Any:
        return self.world.store.renew_shift(self._id(shift), at=self.world.now)

    def wait(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    def claim(self, shift: str, limit: int, started: bool, asked: int) -> Any:  # noqa: FBT001 - as above
        early = frozenset({BatchId("early")}) if limit == 1 else None
        wanted = ClaimFilter(stalled=asked == 5, batch_ids=early, labels=frozenset({"gpu"} if asked > 2 else ()))
        if asked == 4:
            wanted, started = ClaimFilter(batch_ids=frozenset({PLANS, BatchId("late")})), False
        taken = self.world.store.claim(
            self._id(shift), limit=limit, at=self.world.now, wanted=wanted, begin=self.world.begin if started else None
        )
        self.seen += [claimed.item for claimed, _ in taken]
        return taken

    def _one(self, number: int) -> Item | None:
        return self.seen[-1 - number % len(self.seen)] if self.seen else None

    def owner(self, verb: str, number: int, mode: str, base: bool) -> Any:  # noqa: FBT001 - as above
        item = self._one(number)
        if item is None:
            return None
        fresh = self.world.fresh(item)
        guard = self.world.guard(fresh if mode == "right" else item, rev=item.rev if mode == "stale" else fresh.rev)
        status = AttemptStatus.SUCCEEDED if verb == "complete" else AttemptStatus.FAILED
        attempt = self.world.attempt(item, status, **({"session_sha256": "0"} if base else {}))
        end: dict[str, Any] = {"guard": guard, "attempt": attempt, "files": (file(f"runs/{verb}"),)}
        stall = {**end, "error": ERROR, "recovery": base, "consumes_attempt": mode == "right"}
        changes: dict[str, Callable[[], Any]] = {
            "start": lambda: Start(guard=guard, attempt=self.world.attempt(item)),
            "beat": lambda: Heartbeat(guard=guard, ttl_seconds=120.0),
            "complete": lambda: Complete(result={"n": number}, **end),
            "fail": lambda: Fail(error=ERROR, **end),
            "stall": lambda: Stall(requeue_at=None, **stall),
            "requeue": lambda: Stall(requeue_at=self.world.now.after(30 * number).wall, **stall),
        }
        self.changes.append(changes[verb]())
        answer = self.world.apply(self.changes[-1])
        self.seen += [answer.item] if answer.item is not None else []
        return answer

    def again(self, number: int) -> Any:
        if not self.changes:
            return None
        change = self.changes[-1 - number % len(self.changes)]
        return self.world.store.apply([change, change], at=self.world.now)

    def lost(self, number: int, began: bool) -> Any:  # noqa: FBT001 - as above
        item = self._one(number)
        return (
            None if item is None else self.world.stall_lost(self.world.fresh(item), began=began, files=(file("lost"),))
        )

    def adopt(self, number: int, shift: str) -> Any:
        item = self._one(number)
        if item is None:
            return None
        rev = self.world.fresh(item).rev
        adoption = Adoption(item_id=item.item_id, rev=rev, request_id=self.world.request(), facts={"by": shift})
        (answer,) = self.world.store.adopt(self._id(shift), [adoption], at=self.world.now)
        self.seen += [answer.item] if answer.item is not None else []
        return answer

    def steer(self, verb: str, number: int, seconds: int) -> Any:
        found = self.world.store.items(status="stalled")
        item = found[number % len(found)] if found else self._one(number)
        if item is None:
            return None
        if verb == "abandon":
            return self.world.store.abandon(item.item_id, rev=item.rev, at=self.world.now, error=ERROR)
        due = self.world.now.after(seconds).wall if seconds else None
        return self.world.store.requeue(item.item_id, rev=item.rev, at=self.world.now, not_before=due)

    def cancel(self, number: int) -> Any:
        return self.world.cancel(f"early-{NAMES[number]}-1")

    def delivered(self, count: int) -> None:
        self.world.store.delivered([row.seq for row in self.world.store.outbox(limit=count)])

    def state(self) -> Any:
        """Return all that can be read."""
        store, now = self.world.store, self.world.now
        items = store.items()
        batches: list[BatchId | None] = [None, BatchId("early"), BatchId("late")]
        dues = [store.next_due(batch_id=batch) for batch in batches]
        return plain(
            [
                items,
                store.waiting(),
                [store.events(item.item_id) for item in items],
                store.attempts(),
                store.shifts(),
                store.shifts(ended=True),
                store.batches(),
                [store.counts(batch_id=batch) for batch in batches],
                [due if due is None or due > now.wall else "now" for due in dues],
                [store.cancel_requests(self._id(shift)) for shift in SHIFTS],
                store.outbox(),
                store.orphaned_outbox(at=now),
                [store.items(batch_id=BATCH, status=status) for status in ("queued", "stalled")],
                [store.draft(item.item_id) for item in items],
                [(each.item_id, plain(each.event)) for each in store.events_after()],
                [store.limits(), store.held()],
            ]
        )


def _aimed(number: int, made: ItemDraft) -> ItemDraft:
    """Let some steps name limits, and one ask for a label."""
    named = {0: {"key:0"}, 1: {"key:0", "key:1"}, 3: {"key:1"}, 4: {"key:0"}}.get(number, set())
    return replace(made, limit_keys=frozenset(named), labels=frozenset({"gpu"} if number == 5 else ()))


def plain(value: Any) -> Any:
    """Return a value without what is random, and without the difference between lists and tuples."""
    match value:
        case Item():
            return value if value.claim_token is None else replace(value, claim_token=SOME_TOKEN)
        case Event():
            return replace(value, event_id="", data={**value.data, "claim_token": None})
        case Answer(refusal=refusal) if refusal is not None:
            return type(refusal)
        case Answer():
            return (plain(value.item), value.replayed, value.rows)
        case list() | tuple():
            return [plain(each) for each in value]
        case _ if hasattr(value, "item"):
            return [plain(value.item), getattr(value, "parents", None), getattr(value, "rows", None)]
        case _:
            return value


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the schema once; each example gets a copy."""
    path = tmp_path_factory.mktemp("template") / "teamster.db"
    Database(path).close()
    return path


@pytest.mark.req("DC-cas", "DC-life", "DC-own")
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(steps=st.lists(acts, min_size=STEPS_MIN, max_size=STEPS_MAX))
def test_both_stores_answer_alike_whatever_is_done(steps: Sequence[Act], template: Path, tmp_path: Path) -> None:
    """Dictionaries are plainly right; whatever SQL answers otherwise is wrong."""
    path = tmp_path / "copy.db"
    for leftover in tmp_path.glob("copy.db*"):
        leftover.unlink()
    shutil.copy(template, path)
    database = Database(path)
    database.rows("PRAGMA synchronous = OFF")  # nobody cuts the power here
    with contextlib.closing(SqliteStore(database, names=CountedNames())) as sqlite:
        model, real = Player(World(MemoryStore)), Player(World(lambda: sqlite))
        for act in [*FIRST, *steps]:
            assert real.play(act) == model.play(act), act
        assert real.state() == model.state()
        assert database.rows("PRAGMA integrity_check") == [("ok",)]
