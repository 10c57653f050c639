"""Contract v1: the record of one item, its events, owner, lease, result and error, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from teamster.kit import from_iso, iso
from teamster.model.ids import BatchId, ClaimToken, ItemId, RequestId, RunnerId, ShiftId, StepKey
from teamster.model.states import FINAL_STATUSES, OWNED_STATUSES, EventType, ItemStatus

CONTRACT_VERSION: Final = 1

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who is responsible for an item now. `extra`, here and below, are members that are not ours: they are kept."""

    worker_id: str
    runtime: str
    host: str | None = None
    pid: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> JsonObject:
        """Write it as contract v1 wants it."""
        optional = {"host": self.host, "pid": self.pid}
        return {
            "worker_id": self.worker_id,
            "runtime": self.runtime,
            **{name: value for name, value in optional.items() if value is not None},
            **self.extra,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write about one item, until it runs out."""

    expires_at: datetime
    renewed_at: datetime | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> JsonObject:
        """Write it as contract v1 wants it."""
        value: JsonObject = {"expires_at": iso(self.expires_at)}
        if self.renewed_at is not None:
            value["renewed_at"] = iso(self.renewed_at)
        return {**value, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of an item's history; never changed, never removed."""

    event_id: str
    type: EventType
    from_status: ItemStatus | None
    to_status: ItemStatus
    at: datetime
    actor: str
    request_id: RequestId | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> JsonObject:
        """Write it as contract v1 wants it."""
        value: JsonObject = {
            "event_id": self.event_id,
            "type": self.type.value,
            "from_status": None if self.from_status is None else self.from_status.value,
            "to_status": self.to_status.value,
            "at": iso(self.at),
            "actor": self.actor,
        }
        if self.request_id is not None:
            value["request_id"] = self.request_id
        if self.data:
            value["data"] = dict(self.data)
        return {**value, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One schedulable unit as the store keeps it: the contract's record and what our runners need beside it.

    `fence` grows with every claim; `claim_token` is fresh for each. `attempts_consumed` is what limits count:
    `attempt` grows with adoptions too. `recoveries` counts lost owners since the last progress. An item that is no
    step of a batch lies in a `collection`.
    """

    item_id: ItemId
    dedupe_key: str
    step: StepKey | None
    generation: int
    target: JsonObject
    status: ItemStatus
    owner: Owner | None
    lease: Lease | None
    attempt: int
    rev: int
    result: JsonObject | None
    error: JsonObject | None
    spec: JsonObject
    shift_id: ShiftId | None
    claim_token: ClaimToken | None
    fence: int
    attempts_consumed: int
    recoveries: int
    not_before: datetime | None
    cancel_requested: bool
    enqueued_at: datetime
    collection: BatchId | None = None

    def __post_init__(self) -> None:
        owned = self.status in OWNED_STATUSES
        held = (self.owner, self.lease, self.claim_token, self.shift_id)
        if owned and any(part is None for part in held[:3]):
            raise ValueError(f"{self.item_id}: {self.status} without owner, lease or token")
        if not owned and any(part is not None for part in held):
            raise ValueError(f"{self.item_id}: {self.status} with an owner")
        if (self.result is not None) != (self.status is ItemStatus.SUCCEEDED):
            raise ValueError(f"{self.item_id}: a result belongs to `succeeded` alone")
        if (self.error is not None) != (self.status is ItemStatus.FAILED):
            raise ValueError(f"{self.item_id}: an error belongs to `failed` alone")

    @property
    def is_final(self) -> bool:
        """Nothing can happen to it any more."""
        return self.status in FINAL_STATUSES

    def to_record(self, events: tuple[Event, ...] = ()) -> JsonObject:
        """Write the record of contract v1."""
        value: JsonObject = {
            "contract_version": CONTRACT_VERSION,
            "job_id": self.item_id,
            "dedupe_key": self.dedupe_key,
            "target": self.target,
            "status": self.status.value,
            "attempt": self.attempt,
            "rev": self.rev,
            "events": [event.to_json() for event in events],
        }
        if self.owner is not None:
            value["owner"] = self.owner.to_json()
        if self.lease is not None:
            value["lease"] = self.lease.to_json()
        if self.result is not None:
            value["result"] = self.result
        if self.error is not None:
            value["error"] = self.error
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """One incarnation of a runner. It holds the lease of all that it claimed; expired, it never comes back."""

    shift_id: ShiftId
    runner_id: RunnerId
    runtime: str
    host_id: str
    root_id: str
    boot_id: str
    pid: int
    start_ticks: int
    ttl_seconds: float
    began_at: datetime
    renewed_at: datetime
    expires_at: datetime
    expires_boot_seconds: float
    ended_at: datetime | None

    def to_json(self) -> JsonObject:
        """Write it for a reader."""
        return {
            "shift_id": self.shift_id,
            "runner_id": self.runner_id,
            "runtime": self.runtime,
            "host_id": self.host_id,
            "root_id": self.root_id,
            "boot_id": self.boot_id,
            "pid": self.pid,
            "start_ticks": self.start_ticks,
            "ttl_seconds": self.ttl_seconds,
            "began_at": iso(self.began_at),
            "renewed_at": iso(self.renewed_at),
            "expires_at": iso(self.expires_at),
            "expires_boot_seconds": self.expires_boot_seconds,
            "ended_at": None if self.ended_at is None else iso(self.ended_at),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Shift:
        """Read what `to_json` wrote."""
        ended_at = value["ended_at"]
        moments = {name: from_iso(value[name]) for name in ("began_at", "renewed_at", "expires_at")}
        return cls(**{**value, **moments, "ended_at": None if ended_at is None else from_iso(ended_at)})
