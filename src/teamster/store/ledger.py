"""What a transaction can look up and write: the seam between the rules and where things are kept.

The rules (`owning.py`, `steering.py`, `releasing.py`) stand once; each store brings a ledger for one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from teamster.kit import Instant, Names
from teamster.model import (
    Attempt,
    BatchId,
    ClaimToken,
    Event,
    FileDraft,
    Item,
    ItemId,
    ItemStatus,
    OutboxRow,
    RequestId,
    Shift,
    ShiftId,
    StepKey,
)
from teamster.store.values import ItemDraft, Needs, Waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item as a transaction finds it, its owner's shift, and until when heartbeats of its own hold it."""

    item: Item
    shift: Shift | None
    held_until_boot_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What makes a write repeatable: its id, and the digest of all that it asked for."""

    request_id: RequestId
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The first answer to a request, with those of its files that were not delivered yet."""

    item: Item
    digest: str
    rows: tuple[OutboxRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Who ended an item, and with what: the same owner may say it again, without a request id too."""

    claim_token: ClaimToken
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A draft that waits for a step."""

    item_id: ItemId
    needs: Needs
    number: int = 0  # where the ledger numbers its drafts


class Ledger(Protocol):
    """One open transaction."""

    def shift(self, shift_id: ShiftId) -> Shift | None:
        """Return a shift."""
        ...

    def entry(self, item_id: ItemId) -> Entry | None:
        """Return an item that has a record."""
        ...

    def record(
        self,
        before: Entry,
        after: Item,
        events: Sequence[Event],
        *,
        request: Request | None = None,
        held_until_boot_seconds: float | None = None,
    ) -> None:
        """Replace an item and append its events; the last one carries the request and its answer."""
        ...

    def repeat(self, request_id: RequestId) -> Repeat | None:
        """Return the first answer to a request."""
        ...

    def ending(self, item_id: ItemId) -> Ending | None:
        """Return who ended an item, if an owner did."""
        ...

    def put_attempt(self, attempt: Attempt) -> None:
        """Add an attempt, or replace it."""
        ...

    def last_attempt(self, item_id: ItemId) -> Attempt | None:
        """Return the newest attempt of an item."""
        ...

    def drop_attempt(self, attempt: Attempt) -> None:
        """Remove an attempt that never was."""
        ...

    def attempts_of(self, step: StepKey) -> tuple[Attempt, ...]:
        """Return the attempts of a step, oldest first."""
        ...

    def promise(
        self,
        files: Sequence[FileDraft],
        *,
        about: StepKey | BatchId | None,
        shift_id: ShiftId | None,
        request: Request | None = None,
    ) -> tuple[OutboxRow, ...]:
        """Add files to the outbox, with what they are about and who will write them; return those of this root."""
        ...

    def draft(self, item_id: ItemId) -> ItemDraft | None:
        """Return what an item was drafted from, whether it has a record or waits."""
        ...

    def waits_of(self, item_id: ItemId) -> tuple[Waits, ...]:
        """Return all that an item waited for at first."""
        ...

    def expect(self, drafts: Sequence[ItemDraft]) -> None:
        """Hear which drafts are about to come: where each question takes its time, they can be asked at once."""
        ...

    def known(self, dedupe_key: str) -> ItemId | None:
        """Return the item that has a dedupe key, with a record or without."""
        ...

    def has_home(self, home: BatchId) -> bool:
        """Tell whether a batch is there; a collection is made where it isn't."""
        ...

    def add_draft(self, draft: ItemDraft, *, unmet: Sequence[Waits]) -> None:
        """Keep a draft with what it still waits for.

        Raises:
            UsageError: its item id or dedupe key is taken.
        """
        ...

    def enqueue(self, item: Item, event: Event) -> None:
        """Give a draft its record; what it still waited for is forgotten."""
        ...

    def ends_of(self, step: StepKey) -> Sequence[tuple[ItemId, ItemStatus]]:
        """Return the items of a step that have ended."""
        ...

    def waiters(self, step: StepKey) -> Sequence[Waiter]:
        """Return who waits for a step, in the order of their drafts."""
        ...

    def meet(self, step: StepKey, waiters: Sequence[Waiter]) -> Sequence[ItemDraft]:
        """Strike out what these waited for; return the drafts that wait for nothing any more, in their order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One transaction: what it can see and write, where fresh names come from, and what time it is."""

    ledger: Ledger
    names: Names
    at: Instant
    host: str | None = None  # that the store works for, where it has many


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a transaction is about to touch. A database without one lock for all takes these first, in one order."""

    items: tuple[ItemId, ...] = ()
    requests: tuple[RequestId, ...] = ()  # that will be looked up
    ends: tuple[ItemId, ...] = ()  # items that may end, and let others go
    shift_id: ShiftId | None = None  # in whose name it claims
    claims: bool = False
    admits: bool = False


NOTHING: Final = Reach()
