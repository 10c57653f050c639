"""Defects that somebody could build into the store, each by a narrow patch of our own code.

A rig that finds none of them proves nothing. `patch` is `setattr`, or one that is undone afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from teamster.model import MOVES, ItemStatus, Shift, Verb
from teamster.store import course, leases, memory, owning, releasing, sql, steering
from teamster.store.connection import Database
from teamster.store.ledger import Entry
from teamster.store.memory_ledger import MemoryLedger
from teamster.store.sql_ledger import SqlLedger
from teamster.store.sql_store import SqlStore

Patch = Callable[[Any, str, Any], None]
EARLY_PART: Final = 0.7
ACKNOWLEDGED_PER_LOST: Final = 40


def token_unchecked(patch: Patch) -> None:
    """Believe everybody who knows the rev."""
    check = leases.no_owner

    def believe(entry: Entry | None, guard: Any, **more: Any) -> Any:
        known = guard if entry is None else replace(guard, claim_token=entry.item.claim_token)
        return check(entry, known, **more)

    patch(owning, "no_owner", believe)


def rev_unchecked(patch: Patch) -> None:
    """Let an owner write with a record that it read long ago."""
    check = leases.no_owner

    def believe(entry: Entry | None, guard: Any, **more: Any) -> Any:
        return check(entry, guard if entry is None else replace(guard, rev=entry.item.rev), **more)

    patch(owning, "no_owner", believe)


def lease_unchecked(patch: Patch) -> None:
    """Let an owner write whose lease ran out, as long as nobody took over."""
    patch(leases, "has_owner", lambda entry, **more: entry.shift is not None)  # noqa: ARG005 - the seam's shape


def _judge_shifts_by(patch: Patch, is_over: Callable[..., bool]) -> None:
    for module in (leases, owning, memory):
        patch(module, "is_over", is_over)


def expiry_off_by_one(patch: Patch) -> None:
    """Let a lease live at its very end, when others may take over."""

    def is_over(shift: Shift, *, at: Any, **_: Any) -> bool:
        ended = shift.ended_at is not None or shift.boot_id != at.boot_id
        return ended or at.boot_seconds > shift.expires_boot_seconds

    _judge_shifts_by(patch, is_over)


def expiry_too_early(patch: Patch) -> None:
    """Take over before the lease is at its end."""

    def is_over(shift: Shift, *, at: Any, **_: Any) -> bool:
        ended = shift.ended_at is not None or shift.boot_id != at.boot_id
        return ended or at.boot_seconds >= shift.expires_boot_seconds - shift.ttl_seconds * EARLY_PART

    _judge_shifts_by(patch, is_over)


def boot_forgotten(patch: Patch) -> None:
    """Honour the leases of a boot that is gone."""
    _judge_shifts_by(
        patch, lambda shift, *, at, **_: shift.ended_at is not None or at.boot_seconds >= shift.expires_boot_seconds
    )


def heartbeat_ignored(patch: Patch) -> None:
    """Take an item that a heartbeat of its own still holds."""
    patch(owning, "has_owner", lambda entry, **more: entry.shift and not leases.is_over(entry.shift, **more))


def replay_forgotten(patch: Patch) -> None:
    """Take a repeat for another request."""
    for ledger in (MemoryLedger, SqlLedger):
        patch(ledger, "repeat", lambda self, request_id: None)  # noqa: ARG005 - as above


def payload_unchecked(patch: Patch) -> None:
    """Answer another request under the same id with the first answer."""
    answer = owning._again
    patch(owning, "_again", lambda repeat, request: answer(repeat, replace(request, digest=repeat.digest)))


def release_after_commit(patch: Patch) -> None:
    """Release the dependants in a transaction of its own."""
    ended: list[Any] = []
    release, apply = releasing.release, SqlStore.apply

    def later(turn: Any, item: Any) -> None:
        ended.append(item) if isinstance(turn.ledger, SqlLedger) else release(turn, item)

    def in_two(self: Any, changes: Any, *, at: Any, delivered: Any = ()) -> Any:
        ended.clear()
        answers = apply(self, changes, at=at, delivered=delivered)
        self._turn(at, lambda turn: [release(turn, item) for item in ended])
        return answers

    patch(owning, "release", later)
    patch(SqlStore, "apply", in_two)


def outbox_after_commit(patch: Patch) -> None:
    """Write the promises once the move is committed."""
    late: list[Any] = []
    flush, transaction = SqlLedger.flush, Database.transaction

    def without_promises(self: Any) -> None:
        late.extend(self._promises)
        self._promises = []
        flush(self)

    @contextmanager
    def in_two(self: Any) -> Iterator[None]:
        late.clear()
        with transaction(self):
            yield
        if late:
            with transaction(self):
                self.run_many(sql.ADD_PROMISE, late)

    patch(SqlLedger, "flush", without_promises)
    patch(Database, "transaction", in_two)


def too_much_delivered(patch: Patch) -> None:
    """Drop older promises together with the one whose file is safe."""
    patch(sql, "DROP_PROMISE", "DELETE FROM outbox WHERE seq <= ?")


def rev_stays_with_a_heartbeat(patch: Patch) -> None:
    """Let a move grow no rev."""
    move = course.Course.move

    def quiet(self: Any, verb: Verb, **more: Any) -> None:
        rev = self.item.rev
        move(self, verb, **more)
        if verb is Verb.HEARTBEAT:
            self.item = replace(self.item, rev=rev)

    patch(course.Course, "move", quiet)


def fence_stays_with_an_adoption(patch: Patch) -> None:
    """Let a change of owners keep the fence."""
    take = owning._take

    def same_fence(course: Any, turn: Any, shift: Any) -> None:
        fence, moves = course.item.fence, len(course.events)
        take(course, turn, shift)
        course.item = replace(course.item, fence=fence) if moves else course.item

    patch(owning, "_take", same_fence)


def tally_not_kept(patch: Patch) -> None:
    """Forget to count what stalls."""
    record = SqlLedger.record

    def forgetful(self: Any, before: Any, after: Any, *rest: Any, **more: Any) -> None:
        counts = self._counts.copy()
        record(self, before, after, *rest, **more)
        if after.status is ItemStatus.STALLED:
            self._counts = counts

    patch(SqlLedger, "record", forgetful)


def cancel_lost_on_adoption(patch: Patch) -> None:
    """Let a change of owners forget that somebody asked to cancel."""
    take = owning._take

    def forgetful(course: Any, turn: Any, shift: Any) -> None:
        take(course, turn, shift)
        course.item = replace(course.item, cancel_requested=False)

    patch(owning, "_take", forgetful)


def cancel_lost_on_requeue(patch: Patch) -> None:
    """Queue an item again that somebody asked to cancel."""
    requeue = owning.requeue

    def forgetful(course: Any, turn: Any, **more: Any) -> None:
        course.item = replace(course.item, cancel_requested=False)
        requeue(course, turn, **more)

    for module in (owning, steering):
        patch(module, "requeue", forgetful)


def terminal_overwritten(patch: Patch) -> None:
    """Give up once more on what has succeeded or failed."""
    abandon = replace(MOVES[Verb.ABANDON], sources=MOVES[Verb.ABANDON].sources | {ItemStatus.FAILED})
    for module in (course, steering):
        patch(module, "MOVES", MappingProxyType({**MOVES, Verb.ABANDON: abandon}))


def acknowledged_before_the_commit(patch: Patch) -> None:
    """Answer now and then what was never committed."""
    run, count = Database.run, [0]

    def forgetful(self: Any, statement: str, values: Any = ()) -> int:
        if statement == "COMMIT":
            count[0] += 1
            statement = "ROLLBACK" if count[0] % ACKNOWLEDGED_PER_LOST == 0 else statement
        return run(self, statement, values)

    patch(Database, "run", forgetful)


FOUND_BY_MACHINE: Final[Mapping[str, Callable[[Patch], None]]] = MappingProxyType(
    {
        defect.__name__: defect
        for defect in (
            token_unchecked,
            rev_unchecked,
            lease_unchecked,
            expiry_off_by_one,
            boot_forgotten,
            heartbeat_ignored,
            replay_forgotten,
            payload_unchecked,
            release_after_commit,
            outbox_after_commit,
            too_much_delivered,
            rev_stays_with_a_heartbeat,
            fence_stays_with_an_adoption,
            tally_not_kept,
            cancel_lost_on_adoption,
            cancel_lost_on_requeue,
            terminal_overwritten,
        )
    }
)
FOUND_BY_HISTORIES: Final[Mapping[str, Callable[[Patch], None]]] = MappingProxyType(
    {defect.__name__: defect for defect in (token_unchecked, expiry_too_early, acknowledged_before_the_commit)}
)
