"""What every store promises: one queue of items, fenced, replayed, audited, with the files that follow from it.

Each mutation is one transaction. It checks status, rev and token, appends the event, releases what depends on it and
keeps the promised files (the outbox) - or it changes nothing. Moments come in as `Instant`: leases are judged by
boot time on one host, so that a wall clock that steps ends no lease.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from teamster.kit import Instant
from teamster.model import (
    Attempt,
    BatchId,
    Event,
    FileDraft,
    Item,
    ItemId,
    JobId,
    JsonObject,
    OutboxRow,
    Shift,
    ShiftId,
    StepKey,
)
from teamster.store.values import (
    ANY_ITEM,
    Adoption,
    Answer,
    Batch,
    BatchDraft,
    Change,
    Claimed,
    ClaimFilter,
    Drafter,
    ItemDraft,
    Noticed,
    Released,
    Submission,
    Waiting,
)


class Store(Protocol):
    """The queue. Safe to use from one thread per instance; open another one for another thread."""

    # shifts

    def begin_shift(self, shift: Shift) -> None:
        """Make the right to claim. The id must be new.

        Raises:
            UsageError: it isn't.
        """
        ...

    def renew_shift(self, shift_id: ShiftId, *, at: Instant) -> Shift:
        """Move the end of the lease to `at` + its TTL: one narrow update, no event, no rev.

        Raises:
            LeaseLost: it expired, ended, or belongs to another boot. It never comes back.
        """
        ...

    def end_shift(self, shift_id: ShiftId, *, at: Instant) -> None:
        """Give the lease back; what the shift still owns can be recovered at once. A repeat does nothing.

        Takers call it for another one's shift too, before its lease runs out, when its lock tells them that it is
        dead: from then on nobody writes in its name, and its items can be adopted or stalled.

        Raises:
            UsageError: there is no such shift.
        """
        ...

    def moment(self, at: Instant) -> Instant:
        """Return the moment by which leases of other hosts are judged: `at`, and where many hosts share it, its clock.

        Read it before `shifts`: what had run out then was not renewed since.
        """
        ...

    def shifts(self, *, ended: bool = False) -> Sequence[Shift]:
        """Return the shifts that own something or were not ended (`ended=True`: all of them), oldest first."""
        ...

    # what comes in

    def submit(self, batch: BatchDraft, *, at: Instant) -> Submission:
        """Enqueue a batch. The same batch id again changes nothing, whatever it carries: the caller compares.

        A large one goes in in chunks that nobody sees before the last one; after a death in between the same batch
        can be submitted again, with other ids too.

        Raises:
            UsageError: an item id or a dedupe key is taken.
            StoreUnavailable: another process is submitting the same batch right now.
        """
        ...

    def enqueue(self, draft: ItemDraft, *, at: Instant) -> Item | None:
        """Enqueue one item: of a known batch (a next generation), or of a collection, which is made by its first item.

        A known dedupe key answers the existing record, a terminal one too, and changes nothing.

        None where it waits: it has no record yet. `Needs.FINAL` is met by an end whose last attempt left a whole base
        (the fact `session_sha256`), `Needs.SUCCEEDED` by any success of the step, in whichever generation.

        Raises:
            UsageError: there is no such batch, or the item id is taken.
        """
        ...

    def enqueue_many(self, drafts: Sequence[ItemDraft], *, at: Instant) -> Sequence[Answer]:
        """Enqueue many items, each with its own answer: `replayed` for a known dedupe key, a refusal, or the record.

        Many transactions make it up, each of some hundred items; a repeat after a death enqueues what is missing. What
        must come into view at once is a batch: `submit` it.
        """
        ...

    # limits

    def set_limit(self, limit_key: str, maximum: int | None) -> None:
        """Say how many items that name a key may be owned at once: 0 holds them back, None lifts the limit.

        `directory:/srv/shop` limits one key, `directory:*` each key of that kind that has no limit of its own, `*` all
        items together. It holds for all who share the database, from the next claim on.

        Raises:
            UsageError: no item can name such a key, or the maximum is negative.
        """
        ...

    def limits(self) -> Mapping[str, int]:
        """Return all limits that were set."""
        ...

    def held(self) -> Mapping[str, int]:
        """Return how many owned items name each key, and under `*` how many there are in all."""
        ...

    # the owner's moves

    def claim(
        self,
        shift_id: ShiftId,
        *,
        limit: int,
        at: Instant,
        wanted: ClaimFilter = ANY_ITEM,
        begin: Drafter | None = None,
    ) -> Sequence[tuple[Claimed, tuple[OutboxRow, ...]]]:
        """Take up to `limit` items that may run: by priority, then fairly between batches, then the oldest first.

        Fair means that the batch goes first that has the fewest items owned, and among equals the one whose last turn
        is the longest ago. No more are owned at once than each batch's concurrency and the limits of `set_limit`
        allow. One claim meets 500 items at most that a full limit holds back; later ones start behind these.

        With `begin`, each is started in the same transaction. `Claimed.parents` has every step that the item waited
        for, also one without attempts.

        Raises:
            LeaseLost: the shift is over.
            UsageError: `limit` is negative; `begin` used a request id again, or drafted another item's attempt. Nothing
                was claimed.
        """
        ...

    def apply(self, changes: Sequence[Change], *, at: Instant, delivered: Sequence[int] = ()) -> Sequence[Answer]:
        """Carry out owners' moves in one transaction, each with its own answer; drop delivered outbox rows too.

        Refusals (`LeaseLost`: another token, rev or status, or the shift is over; `UsageError`: a request id with
        another payload, an attempt of another item) change nothing for that item and leave the others alone. A shift
        that is over is refused even with the right token and rev, unless a heartbeat of the item's own still holds it.

        A repeat gets the first answer, with those of its files that were not delivered yet: by its request id, and
        for an end also by the same claim token and payload. Where somebody asked to cancel an item that a `Stall`
        would requeue, it fails with code `canceled` in place of that.
        """
        ...

    def adopt(self, shift_id: ShiftId, adoptions: Sequence[Adoption], *, at: Instant) -> Sequence[Answer]:
        """Take over items whose shift is over and whose agent lives: stall, claim and start in one step.

        `attempt` and `fence` grow, the token is fresh; run, directory, consumption and recoveries stay. Refused
        (`LeaseLost`) while the other shift may still write: its lease has not run out on this boot and it was not
        ended. Who knows that it is dead ends it first (`end_shift`). A request to cancel goes over to the adopter.
        """
        ...

    def together(self) -> AbstractContextManager[None]:
        """Make the owner's moves of a block one transaction, with one flush: all of them, or none if the block raises.

        A refusal that the block catches leaves the others alone, as long as it came before its move wrote anything:
        `LeaseLost` of `claim` does.
        """
        ...

    # moves that nobody owns

    def stall_lost(
        self,
        item_id: ItemId,
        *,
        rev: int,
        at: Instant,
        error: JsonObject,
        attempt: Attempt | None,
        files: Sequence[FileDraft] = (),
        began: bool = True,
    ) -> Answer:
        """Stall an item whose shift is over and whose agent is gone. `began` False: the attempt never was.

        A lost owner consumes no attempt and counts as a recovery, whether its attempt began or not. Where it never
        was and `attempt` is None, an open attempt of the item is removed. The files belong to no shift: the caller
        may write them, and any harness does (`orphaned_outbox`); those of another root a harness there.
        """
        ...

    def requeue(self, item_id: ItemId, *, rev: int, at: Instant, not_before: datetime | None) -> Answer:
        """Requeue a stalled item, by policy or an operator.

        Where somebody asked to cancel it, it fails with code `canceled` in place of that.
        """
        ...

    def abandon(
        self, item_id: ItemId, *, rev: int, at: Instant, error: JsonObject, files: Sequence[FileDraft] = ()
    ) -> Answer:
        """Give up on a stalled item, by policy or an operator."""
        ...

    def request_cancel(
        self,
        item_id: ItemId,
        *,
        at: Instant,
        actor: str,
        draft: Callable[[Item], tuple[Attempt | None, tuple[FileDraft, ...]]],
    ) -> Released:
        """Cancel an item, or leave a request for its owner.

        A queued, stalled or waiting one fails with code `canceled` at once, with the attempt and files of `draft` (one
        that waits gets its record first). An owned one gets a request beside it, without event or rev, which its owner
        carries out. A final one stays as it is.

        Raises:
            UsageError: there is no such item.
        """
        ...

    def cancel_requests(self, shift_id: ShiftId) -> Sequence[ItemId]:
        """Return the owned items of a shift for which somebody asked to cancel."""
        ...

    # reading; a negative `limit` is a `UsageError`

    def get(self, item_id: ItemId) -> Item | None:
        """Return one item."""
        ...

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from: its priority, whom it is for, which limits it names."""
        ...

    def find(self, *, dedupe_key: str) -> Item | None:
        """Return the item of a dedupe key, if it has a record."""
        ...

    def items(
        self,
        *,
        batch_id: BatchId | None = None,
        job_id: JobId | None = None,
        shift_id: ShiftId | None = None,
        status: str | None = None,
        limit: int = 1000,
        after: str = "",
    ) -> Sequence[Item]:
        """Return items in the order of their enqueueing (`after`: an item id), at most `limit`."""
        ...

    def waiting(self, *, batch_id: BatchId | None = None, limit: int = 1000) -> Sequence[Waiting]:
        """Return the items that have no record yet, in the order of their drafts, with what they wait for."""
        ...

    def events(self, item_id: ItemId) -> Sequence[Event]:
        """Return an item's history, oldest first."""
        ...

    def events_after(self, cursor: str = "", *, limit: int = 1000) -> Sequence[Noticed]:
        """Return what happened to all items after a cursor, in the order in which it came into view.

        Each event is met once by whoever goes on from the last cursor that it was given, however long ago that was.
        An empty cursor stands before all events.

        Raises:
            UsageError: this is no cursor.
        """
        ...

    def attempts(
        self, *, step: StepKey | None = None, job: tuple[BatchId, JobId] | None = None, item_id: ItemId | None = None
    ) -> Sequence[Attempt]:
        """Return attempts of a step, a job or an item, oldest first."""
        ...

    def batch(self, batch_id: BatchId) -> Batch | None:
        """Return one batch."""
        ...

    def batches(self) -> Sequence[Batch]:
        """Return all batches, newest first; collections are none."""
        ...

    def counts(self, *, batch_id: BatchId | None = None) -> Mapping[str, int]:
        """Return how many items have each status, and `waiting` for those without a record."""
        ...

    def next_due(self, *, batch_id: BatchId | None = None) -> datetime | None:
        """Return when the next queued item may run, None without one.

        A moment that has passed means now. Limits of concurrency are not looked at.
        """
        ...

    # the outbox

    def outbox(self, *, limit: int = 1000, after: int = 0) -> Sequence[OutboxRow]:
        """Return promised files in order, those of living shifts too: the caller leaves these alone."""
        ...

    def orphaned_outbox(self, *, at: Instant, limit: int = 1000) -> Sequence[OutboxRow]:
        """Return promised files that nobody's living shift will write: those of dead shifts and of operators."""
        ...

    def delivered(self, seqs: Sequence[int]) -> None:
        """Drop rows whose files were flushed."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
