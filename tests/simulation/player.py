"""Plays acts on one store, as runners, operators and other programs would, and keeps what it was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from contracts.store_world import ERROR, PLANS, World, draft, file, loose, waits
from teamster.kit import Instant
from teamster.model import (
    OWNED_STATUSES,
    Attempt,
    AttemptStatus,
    BatchId,
    ClaimToken,
    Event,
    FileDraft,
    Item,
    OutboxRow,
    ShiftId,
    TeamsterError,
)
from teamster.store import (
    Adoption,
    Answer,
    Change,
    ClaimFilter,
    Complete,
    Fail,
    Heartbeat,
    ItemDraft,
    Needs,
    Stall,
    Start,
    Submission,
)

NAMES: Final = [f"n{number}" for number in range(6)]
SHIFTS: Final = ("s0", "s1", "s2")
HEARTBEAT_SECONDS: Final = 120.0
SOME_TOKEN: Final = ClaimToken("some")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an act asked for, and what it was told."""

    act: str
    asked: Any
    answer: Any
    raised: TeamsterError | None = None


CLAIMS: Final = MappingProxyType(
    {
        "any": ClaimFilter(),
        "labelled": ClaimFilter(labels=frozenset({"gpu"})),
        "early": ClaimFilter(batch_ids=frozenset({BatchId("early")})),
        "stalled": ClaimFilter(stalled=True, labels=frozenset({"gpu"})),
        "plans": ClaimFilter(batch_ids=frozenset({PLANS, BatchId("late")}), commands=frozenset({"code", "fix"})),
    }
)


class Player:
    """Deterministic: two players that play the same acts ask for the same things, byte for byte."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.held: list[Item] = []  # every record that a worker was given, stale ones too
        self.changes: list[Change] = []
        self.adoptions: list[tuple[ShiftId, Adoption]] = []
        self.incarnations: Counter[str] = Counter()
        self.boots = 1
        self._asked: Any = None

    def play(self, act: str, *values: Any) -> Told:
        """Play one act; a refusal is an answer too."""
        self._asked = None
        try:
            answer = getattr(self, act)(*values)
        except TeamsterError as refusal:
            return Told(act=act, asked=self._asked, answer=None, raised=refusal)
        return Told(act=act, asked=self._asked, answer=answer)

    def memory(self) -> Any:
        """Return what a player remembers, to be put back after an act that never was."""
        lists = (list(self.held), list(self.changes), list(self.adoptions))
        return (*lists, self.incarnations.copy(), self.world._requests)

    def forget(self, memory: Any) -> None:
        """Put back what `memory` returned."""
        self.held, self.changes, self.adoptions, self.incarnations, self.world._requests = memory

    # time and shifts

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.world.clock.advance(seconds)

    def reboot(self) -> None:
        """Let the host start again: another boot id, its clock near zero."""
        self.boots += 1
        now: Instant = self.world.clock.advance(1)
        self.world.clock._now = replace(now, boot_id=f"boot-{self.boots}", boot_seconds=1000.0)

    def shift_id(self, shift: str) -> ShiftId:
        """Return the newest incarnation of a shift."""
        return ShiftId(f"{shift}-{self.incarnations[shift]}")

    def begin(self, shift: str) -> ShiftId:
        """Begin another incarnation."""
        self.incarnations[shift] += 1
        self._asked = self.shift_id(shift)
        return self.world.shift(self._asked)

    def end(self, shift: str) -> None:
        """End it."""
        self._asked = self.shift_id(shift)
        self.world.store.end_shift(self._asked, at=self.world.now)

    def renew(self, shift: str) -> Any:
        """Renew it."""
        self._asked = self.shift_id(shift)
        return self.world.store.renew_shift(self._asked, at=self.world.now)

    # intake

    def submit(self, batch: str, links: list[tuple[int, Needs]], concurrency: int) -> Any:
        """Submit a batch whose steps wait for earlier ones, or for those of the other batch."""
        drafts = [draft(name, batch=batch, priority=number % 2) for number, name in enumerate(NAMES)]
        for number, (target, need) in enumerate(links):
            where = "early" if target == number + 1 else batch
            drafts[number + 1] = draft(NAMES[number + 1], waits(NAMES[min(target, number)], need, where), batch=batch)
        drafts = [_aimed(number, made) for number, made in enumerate(drafts)]
        files = (file(f"{batch}/meta"),)
        self._asked = (drafts, files, concurrency or None)
        return self.world.submit(*drafts, batch=batch, concurrency=concurrency or None, files=files)

    def enqueue(self, number: int, generation: int, batch: str) -> Any:
        """Enqueue a next generation, or one that is known."""
        on = () if generation < 3 else (waits("n0", batch=batch),)
        self._asked = draft(NAMES[number], *on, batch=batch, generation=generation)
        return self.world.store.enqueue(self._asked, at=self.world.now)

    def plan(self, number: int, count: int) -> Any:
        """Enqueue items that are no steps; some are known."""
        self._asked = [replace(loose(f"p{number + n}"), priority=number % 2) for n in range(count)]
        return self.world.store.enqueue_many(self._asked, at=self.world.now)

    def limit(self, limit_key: str, maximum: int | None) -> None:
        """Limit how many may be owned at once."""
        self._asked = (limit_key, maximum)
        self.world.store.set_limit(limit_key, maximum)

    # owners

    def claim(self, shift: str, limit: int, started: bool, kind: str) -> Any:  # noqa: FBT001 - drawn by position
        """Claim, with or without a start."""
        wanted, started = CLAIMS[kind], started and kind != "plans"
        self._asked = (self.shift_id(shift), limit, wanted, started)
        begin = self.world.begin if started else None
        taken = self.world.store.claim(self.shift_id(shift), limit=limit, at=self.world.now, wanted=wanted, begin=begin)
        self.held += [claimed.item for claimed, _ in taken]
        return taken

    def owner(self, verb: str, number: int, mode: str, base: bool) -> Any:  # noqa: FBT001 - as above
        """Write as an owner, or as one who was: with an old rev, or an old token and the rev of now."""
        item = self._owned(number) if mode == "right" else self._overslept(number)
        if item is None:
            return None
        self.changes.append(self._change(verb, item, number=number, mode=mode, base=base))
        self._asked = [self.changes[-1]]
        answer = self.world.apply(self.changes[-1])
        self.held += [answer.item] if answer.item is not None else []
        return [answer]

    def _change(self, verb: str, item: Item, *, number: int, mode: str, base: bool) -> Change:
        fresh = self.world.fresh(item)
        guard = self.world.guard(fresh if mode == "right" else item, rev=item.rev if mode == "stale" else fresh.rev)
        status = AttemptStatus.SUCCEEDED if verb == "complete" else AttemptStatus.FAILED
        attempt = None
        if item.step is not None:
            attempt = self.world.attempt(item, status, **({"session_sha256": "0"} if base else {}))
        end: dict[str, Any] = {"guard": guard, "attempt": attempt, "files": (file(f"runs/{verb}"),)}
        stall = {**end, "error": ERROR, "recovery": base, "consumes_attempt": number % 2 == 0}
        changes: dict[str, Callable[[], Change]] = {
            "start": lambda: Start(guard=guard, attempt=None if attempt is None else self.world.attempt(item)),
            "beat": lambda: Heartbeat(guard=guard, ttl_seconds=HEARTBEAT_SECONDS),
            "complete": lambda: Complete(result={"n": number}, **end),
            "fail": lambda: Fail(error=ERROR, **end),
            "stall": lambda: Stall(requeue_at=None, **stall),
            "requeue": lambda: Stall(requeue_at=self.world.now.after(30 * number).wall, **stall),
        }
        return changes[verb]()

    def again(self, number: int, mode: str) -> Any:
        """Say something twice more: as it was, with another payload, or under another request id."""
        if not self.changes:
            return None
        change = self.changes[-1 - number % len(self.changes)]
        if mode == "other payload":
            change = _altered(change)
        if mode == "other id":
            change = replace(change, guard=replace(change.guard, request_id=self.world.request()))
        self._asked = [change, change]
        return self.world.store.apply([change, change], at=self.world.now)

    def adopt(self, number: int, shift: str) -> Any:
        """Take over a living agent."""
        item = self._owned(number)
        if item is None:
            return None
        rev = self.world.fresh(item).rev
        adoption = Adoption(item_id=item.item_id, rev=rev, request_id=self.world.request(), facts={"by": shift})
        self.adoptions.append((self.shift_id(shift), adoption))
        return self._adopt(self.shift_id(shift), adoption)

    def adopt_again(self, number: int) -> Any:
        """Say an adoption once more."""
        if not self.adoptions:
            return None
        return self._adopt(*self.adoptions[-1 - number % len(self.adoptions)])

    def _adopt(self, shift_id: ShiftId, adoption: Adoption) -> Any:
        self._asked = (shift_id, adoption)
        (answer,) = self.world.store.adopt(shift_id, [adoption], at=self.world.now)
        self.held += [answer.item] if answer.item is not None else []
        return answer

    # moves that nobody owns

    def lost(self, number: int, began: bool, stale: bool) -> Any:  # noqa: FBT001 - as above
        """Say that an owner is gone."""
        item = self._one(number) if stale else self._owned(number)
        if item is None:
            return None
        found = item if stale else self.world.fresh(item)
        files = (file("lost"),)
        self._asked = (found.item_id, found.rev, files)
        return self.world.stall_lost(found, began=began, files=files)

    def steer(self, verb: str, number: int, seconds: int, stale: bool, final: bool) -> Any:  # noqa: FBT001 - as above
        """Requeue a stalled item, or give up on it; try it with one that has ended, too."""
        status = "failed" if final else "stalled"
        found = self.world.store.items(status=status)
        item = found[number % len(found)] if found else self._one(number)
        if item is None:
            return None
        rev = item.rev - stale if found else self.world.fresh(item).rev
        files = (file("abandoned"),) if verb == "abandon" else ()
        self._asked = (verb, item.item_id, rev, files)
        if verb == "abandon":
            return self.world.store.abandon(item.item_id, rev=rev, at=self.world.now, error=ERROR, files=files)
        due = self.world.now.after(seconds).wall if seconds else None
        return self.world.store.requeue(item.item_id, rev=rev, at=self.world.now, not_before=due)

    def cancel(self, number: int, batch: str) -> Any:
        """Ask to cancel the first generation of a step, or something that somebody works on."""
        item = self._owned(number) if batch == "owned" else None
        self._asked = f"{batch}-{NAMES[number]}-1" if item is None else item.item_id
        return self.world.store.request_cancel(
            self._asked, at=self.world.now, actor="operator", draft=self._draft_canceled
        )

    def _draft_canceled(self, item: Item) -> tuple[Attempt | None, tuple[FileDraft, ...]]:
        return (None, (file("canceled"),)) if item.step is None else self.world.canceled(item)

    def delivered(self, number: int, step: int) -> Any:
        """Say that some files are safe: the disk has an order of its own."""
        self._asked = [row.seq for row in self.world.store.outbox()][number::step]
        self.world.store.delivered(self._asked)

    def _owned(self, number: int) -> Item | None:
        """Return an item that somebody owns, what is to be canceled first; or another one where nobody owns any."""
        found = [item for item in self.world.store.items() if item.status in OWNED_STATUSES]
        found.sort(key=lambda item: not item.cancel_requested)
        return found[number % len(found)] if found else self._one(number)

    def _overslept(self, number: int) -> Item | None:
        """Return a record that a worker still has of an item which somebody else owns now, or any record."""
        owned = {item.item_id: item.claim_token for item in self.world.store.items() if item.status in OWNED_STATUSES}
        found = [item for item in self.held if owned.get(item.item_id, item.claim_token) != item.claim_token]
        return found[-1 - number % len(found)] if found else self._one(number)

    def _one(self, number: int) -> Item | None:
        return self.held[-1 - number % len(self.held)] if self.held else None


def _aimed(number: int, made: ItemDraft) -> ItemDraft:
    """Let some steps name limits, and one ask for a label."""
    named = {0: {"key:0"}, 1: {"key:0", "key:1"}, 3: {"key:1"}, 4: {"key:0"}}.get(number, set[str]())
    return replace(made, limit_keys=frozenset(named), labels=frozenset({"gpu"} if number == 5 else ()))


def _altered(change: Change) -> Change:
    match change:
        case Complete():
            return replace(change, result={"another": True})
        case Heartbeat():
            return replace(change, ttl_seconds=change.ttl_seconds + 1)
        case Start():
            return replace(change, files=(*change.files, file("another")))
        case _:
            return replace(change, error={"message": "another"})


def plain(value: Any) -> Any:  # noqa: C901 - one case for each kind of value
    """Return a value without what is random, and without the difference between lists and tuples."""
    match value:
        case Told():
            return (type(value.raised), plain(value.answer))
        case Item():
            return value if value.claim_token is None else replace(value, claim_token=SOME_TOKEN)
        case Event():
            return replace(value, event_id="", data={**value.data, "claim_token": None})
        case OutboxRow():
            return replace(value, seq=0)  # a sequence may have gaps where a transaction was rolled back
        case Answer(refusal=refusal) if refusal is not None:
            return type(refusal)
        case Answer():
            return (plain(value.item), value.replayed, plain(value.rows))
        case list() | tuple():
            return [plain(each) for each in value]
        case Submission():
            return (value.batch, value.created, plain(value.rows))
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case _ if hasattr(value, "item"):
            return [plain(value.item), getattr(value, "parents", None), plain(getattr(value, "rows", None))]
        case _:
            return value
