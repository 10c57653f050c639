"""What goes into a store and what comes out: drafts, changes with their guards, answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from teamster.model import (
    Attempt,
    BatchId,
    ClaimToken,
    Event,
    FileDraft,
    Item,
    ItemId,
    JsonObject,
    OutboxRow,
    RequestId,
    RunnerId,
    StepKey,
    TeamsterError,
    is_collection,
    is_id,
)
from teamster.store.limits import is_limit_key

_ROUTED_BY: Final = ("workflow_command", "role", "runtime")


class Needs(StrEnum):
    """What a dependant needs of the step that it waits for."""

    SUCCEEDED = "succeeded"
    FINAL = "final"  # any end, and a whole base: for resumes of failed attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """One dependency: on a step, never on an item."""

    step: StepKey
    needs: Needs


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDraft:
    """An item to be enqueued; one that waits has no record until its dependencies are met.

    It is a step of a batch, or lies in a collection such as `_plans`. Its target says by `workflow_command`, `role` and
    `runtime` whom it is for; it goes to claimers that have all its `labels`, and to the runner of its `runner_affinity`
    alone. No more than the limits allow are owned at once of those that name one of its `limit_keys`.
    """

    item_id: ItemId
    dedupe_key: str
    step: StepKey | None
    generation: int
    target: JsonObject
    spec: JsonObject
    waits: tuple[Waits, ...] = ()
    priority: int = 0
    collection: BatchId | None = None
    labels: frozenset[str] = frozenset()
    runner_affinity: RunnerId | None = None
    limit_keys: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if wrong := self._wrong_name() or self._wrong_routing():
            raise ValueError(f"{self.item_id if is_id(self.item_id) else 'item'}: {wrong}")
        if self.generation < 1:
            raise ValueError(f"{self.item_id}: generation {self.generation}, the first one is 1")

    def _wrong_name(self) -> str | None:
        if not is_id(self.item_id):
            return f"{self.item_id!r} is not an id of an item"
        if not self.dedupe_key or not self.dedupe_key.isprintable():
            return f"the dedupe key {self.dedupe_key!r} is empty or not printable"
        if (self.step is None) is (self.collection is None):
            return "it is a step or lies in a collection, one of the two"
        if self.collection is not None and not is_collection(self.collection):
            return f"{self.collection!r} is not the name of a collection, like `_plans`"
        return None

    def _wrong_routing(self) -> str | None:
        for name in _ROUTED_BY:
            if not isinstance(value := self.target.get(name), str | None):
                return f"target.{name} is {value!r}, not a text"
        if wrong := [key for key in self.limit_keys if not is_limit_key(key)]:
            return f"{wrong[0]!r} is not a key of a limit, like `directory:/srv/shop`"
        if wrong := [label for label in self.labels if not is_id(label)]:
            return f"{wrong[0]!r} is not a label: it has the grammar of ids"
        if self.runner_affinity is not None and not is_id(self.runner_affinity):
            return f"{self.runner_affinity!r} is not an id of a runner"
        return None

    @property
    def home(self) -> BatchId:
        """Return the batch or the collection that it belongs to."""
        if self.step is not None:
            return self.step.batch_id
        assert self.collection is not None
        return self.collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An item without a record, and what it still waits for."""

    draft: ItemDraft
    unmet: tuple[Waits, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDraft:
    """A batch: its items become visible at once. `meta` is what a reader of the store may want to know of it."""

    batch_id: BatchId
    concurrency: int | None
    meta: JsonObject
    items: tuple[ItemDraft, ...]
    files: tuple[FileDraft, ...] = ()

    def __post_init__(self) -> None:
        if not is_id(self.batch_id):
            raise ValueError(f"{self.batch_id!r} is not an id of a batch")
        if self.concurrency is not None and self.concurrency < 1:
            raise ValueError(f"{self.batch_id}: concurrency {self.concurrency} lets nothing run")
        for draft in self.items:
            if draft.home != self.batch_id:
                raise ValueError(f"{self.batch_id}: item {draft.item_id} belongs to batch {draft.home}")
        for name, values in (
            ("item id", [draft.item_id for draft in self.items]),
            ("dedupe key", [draft.dedupe_key for draft in self.items]),
        ):
            if len(set(values)) != len(values):
                raise ValueError(f"{self.batch_id}: two items have the same {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A submitted batch."""

    batch_id: BatchId
    submitted_at: datetime
    concurrency: int | None
    meta: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The answer to a submission. `created` is False for a repeat, which changes nothing."""

    batch: Batch
    created: bool
    rows: tuple[OutboxRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFilter:
    """Which items a runner may take. `None` asks for nothing in particular.

    What lies in a collection is taken by who names it in `batch_ids`. `runtimes` and `runners` are those that the
    claimer speaks for beside its own; `labels` are what it has.
    """

    batch_ids: frozenset[BatchId] | None = None
    commands: frozenset[str] | None = None
    roles: frozenset[str] | None = None
    runtimes: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    runners: frozenset[RunnerId] = frozenset()
    stalled: bool = False  # stalled items too: contract v1 allows it, our policy requeues first


ANY_ITEM: Final = ClaimFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """An item that was just taken, and the attempts of the steps that it waited for (oldest first)."""

    item: Item
    parents: Mapping[StepKey, tuple[Attempt, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """What the runner adds to a claim so that claim, identity and start are one commit."""

    request_id: RequestId
    attempt: Attempt
    files: tuple[FileDraft, ...] = ()

    def __post_init__(self) -> None:
        _require_request(self.request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """One event of all that the store has seen. Its cursor leads to what came after it."""

    cursor: str
    item_id: ItemId
    event: Event


Drafter = Callable[[Claimed, int], Begin]
"""Pure; called inside the transaction with the claimed item and its place in this claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What an owner's write expects to find."""

    item_id: ItemId
    claim_token: ClaimToken
    rev: int
    request_id: RequestId

    def __post_init__(self) -> None:
        _require_request(self.request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """claimed to running."""

    guard: Guard
    attempt: Attempt | None = None
    files: tuple[FileDraft, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """An owner that can't renew its shift renews the lease of one item for `ttl_seconds`, a day at most.

    The item is then held until the later of both ends; a shift that was ended holds nothing.
    """

    guard: Guard
    ttl_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """running to succeeded: releases the dependants."""

    guard: Guard
    result: JsonObject
    attempt: Attempt | None = None
    files: tuple[FileDraft, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """running to failed, for good: releases those that need `final` alone."""

    guard: Guard
    error: JsonObject
    attempt: Attempt | None = None
    files: tuple[FileDraft, ...] = ()
    consumes_attempt: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """claimed or running to stalled, by the owner; then to queued in the same transaction if `requeue_at` is given."""

    guard: Guard
    error: JsonObject
    requeue_at: datetime | None
    attempt: Attempt | None = None
    files: tuple[FileDraft, ...] = ()
    consumes_attempt: bool = True
    recovery: bool = False  # counts as a lost owner, not as progress


Change = Start | Heartbeat | Complete | Fail | Stall


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A living agent changes its owner: stall, claim and start at once; run, directory and consumption stay.

    `rev` is what the adopter read; another one's move in between refuses it.
    """

    item_id: ItemId
    rev: int
    request_id: RequestId
    facts: Mapping[str, Any] = field(default_factory=dict)  # merged into the attempt's facts

    def __post_init__(self) -> None:
        _require_request(self.request_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one of several writes: the item after it, or why it was refused.

    `replayed` marks a repeat: the first answer again, nothing was written; `rows` are then those not delivered yet.
    """

    item: Item | None
    refusal: TeamsterError | None = None
    replayed: bool = False
    rows: tuple[OutboxRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What an operator's verb changed."""

    item: Item
    changed: bool
    rows: tuple[OutboxRow, ...] = ()


def _require_request(request_id: RequestId) -> None:
    if not request_id or not request_id.isprintable():
        raise ValueError(f"{request_id!r} is not an id of a request: it is empty or not printable")
