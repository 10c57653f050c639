"""Contract v1 at the border: its JSON read strictly, each problem by its path, and written back with all it had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar

from teamster.kit import ROOT_PATH, Fault, below, exact_faults, from_iso, parse_exactly
from teamster.model.errors import Problem, RecordProblems
from teamster.model.forms import CONDITIONAL_FIELDS, ERROR, EVENT, LEASE, OWNER, RECORD, STATUS_FIELDS
from teamster.model.ids import ItemId, RequestId
from teamster.model.record import CONTRACT_VERSION, Event, JsonObject, Lease, Owner
from teamster.model.shapes import Form
from teamster.model.states import EventType, ItemStatus
from teamster.model.target import Target

PROBLEMS_MAX: Final = 50
_VERSION: Final = "contract_version"
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why an item failed: the `error` of a record."""

    message: str
    code: str | None = None
    stack: str | None = None
    details: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> JsonObject:
        """Write it as contract v1 wants it."""
        known = {name: getattr(self, name) for name in ERROR.fields}
        return {**{name: value for name, value in known.items() if value is not None}, **self.extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of contract v1, as other runtimes exchange it. Our store keeps an `Item`, which knows more."""

    job_id: ItemId
    dedupe_key: str
    target: Target
    status: ItemStatus
    attempt: int
    rev: int
    owner: Owner | None = None
    lease: Lease | None = None
    events: tuple[Event, ...] = ()
    result: JsonObject | None = None
    error: JobError | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in CONDITIONAL_FIELDS:
            if (getattr(self, name) is not None) != (name in STATUS_FIELDS[self.status]):
                raise ValueError(f"{self.job_id}: `{name}` and the status {self.status} contradict each other")

    def to_json(self) -> JsonObject:
        """Write it as contract v1 wants it, with what was not ours."""
        parts = {"owner": self.owner, "lease": self.lease, "error": self.error}
        there = {name: part.to_json() for name, part in parts.items() if part is not None}
        return {
            "contract_version": CONTRACT_VERSION,
            "job_id": self.job_id,
            "dedupe_key": self.dedupe_key,
            "target": self.target.to_json(),
            "status": self.status.value,
            "attempt": self.attempt,
            "rev": self.rev,
            "events": [event.to_json() for event in self.events],
            **there,
            **({} if self.result is None else {"result": self.result}),
            **self.extra,
        }


def read_record(content: str | bytes, *, source: str = "record") -> Record:
    """Read the JSON text of one record.

    Raises:
        RecordProblems: it is none; all its problems are told, each with its path. Nothing else is ever raised.
    """
    value, faults = parse_exactly(content)
    return _read(value, faults, RECORD, _record, source)


def record_from_json(value: Any, *, source: str = "record") -> Record:
    """Read one record that was parsed already.

    Raises:
        RecordProblems: it is none.
    """
    return _read(value, exact_faults(value), RECORD, _record, source)


def event_from_json(value: Any, *, source: str = "event") -> Event:
    """Read one event that was parsed already: a line of a stream.

    Raises:
        RecordProblems: it is none.
    """
    return _read(value, exact_faults(value), EVENT, _event, source)


def _read(
    value: Any, faults: tuple[Fault, ...], form: Form, build: Callable[[JsonObject], _Value], source: str
) -> _Value:
    found = faults or tuple(_version_faults(value, form)) or tuple(islice(form.faults(value, ROOT_PATH), PROBLEMS_MAX))
    if found:
        once = {(each.path, each.fact): each for each in found}.values()  # two rules may miss the same member
        told = [Problem(place=source, field=each.path, fact=each.fact, hint=each.hint) for each in once]
        raise RecordProblems(source, told)
    return build(value)


def _version_faults(value: Any, form: Form) -> Iterator[Fault]:
    """Tell of another version alone: what else its members mean is not ours to say."""
    version = value.get(_VERSION) if form is RECORD and isinstance(value, dict) else None
    if version is not None:
        yield from RECORD.fields[_VERSION].shape.faults(version, below(ROOT_PATH, _VERSION))


def _record(value: JsonObject) -> Record:
    known = RECORD.known(value)
    owner, lease, error = known.get("owner"), known.get("lease"), known.get("error")
    return Record(
        job_id=ItemId(known["job_id"]),
        dedupe_key=known["dedupe_key"],
        target=Target.from_json(known["target"]),
        status=ItemStatus(known["status"]),
        attempt=known["attempt"],
        rev=known["rev"],
        owner=None if owner is None else Owner(**OWNER.known(owner), extra=OWNER.unknown(owner)),
        lease=None if lease is None else _lease(lease),
        events=tuple(_event(event) for event in known["events"]),
        result=known.get("result"),
        error=None if error is None else JobError(**ERROR.known(error), extra=ERROR.unknown(error)),
        extra=RECORD.unknown(value),
    )


def _lease(value: JsonObject) -> Lease:
    moments = {name: from_iso(text) for name, text in LEASE.known(value).items()}
    return Lease(**moments, extra=LEASE.unknown(value))


def _event(value: JsonObject) -> Event:
    known = EVENT.known(value)
    source, request_id = known.get("from_status"), known.get("request_id")
    return Event(
        event_id=known["event_id"],
        type=EventType(known["type"]),
        from_status=None if source is None else ItemStatus(source),
        to_status=ItemStatus(known["to_status"]),
        at=from_iso(known["at"]),
        actor=known["actor"],
        request_id=None if request_id is None else RequestId(request_id),
        data=known.get("data", {}),
        extra=EVENT.unknown(value),
    )
