"""The history of a record: contiguous, ended once, and of one mind with the record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from teamster.model import (
    Event,
    EventType,
    ItemId,
    ItemStatus,
    Record,
    RequestId,
    Target,
    history_faults,
)

S = ItemStatus
NOW = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)


def event(number: int, kind: str, source: ItemStatus | None, to: ItemStatus) -> Event:
    """Return one event."""
    return Event(
        event_id=f"e{number}", type=EventType(kind), from_status=source, to_status=to, at=NOW, actor="worker",
        request_id=RequestId(f"r{number}"),
    )  # fmt: skip


WHOLE = Record(
    job_id=ItemId("job-1"),
    dedupe_key="k",
    target=Target(inbox_path="p"),
    status=S.SUCCEEDED,
    attempt=1,
    rev=4,
    result={},
    events=(
        event(1, "enqueued", None, S.QUEUED),
        event(2, "claimed", S.QUEUED, S.CLAIMED),
        event(3, "started", S.CLAIMED, S.RUNNING),
        event(4, "succeeded", S.RUNNING, S.SUCCEEDED),
    ),
)
LATE = event(5, "failed", S.RUNNING, S.FAILED)


@pytest.mark.req("DC-events", "DC-life")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"events": ()}, ["$.events: it does not begin with `enqueued`", "$.attempt: it is 1, with 0 claims"]),
        ({"events": WHOLE.events[1:]}, ["$.events: it does not begin with `enqueued`"]),
        ({"events": WHOLE.events[:2] + WHOLE.events[3:]}, ["$.events[2]: it leaves running, and the job was claimed"]),
        ({"events": WHOLE.events[:3]}, ["$.status: it is succeeded, and its last event says running"]),
        ({"attempt": 2}, ["$.attempt: it is 2, with 1 claims"]),
        (
            {"events": (*WHOLE.events, LATE)},
            [
                "$.events[4]: it comes after the end, succeeded",
                "$.events[4]: it leaves running, and the job was succeeded",
                "$.status: it is succeeded, and its last event says failed",
            ],
        ),
        (
            {"events": (*WHOLE.events[:3], replace(WHOLE.events[3], event_id="e1", request_id=RequestId("r2")))},
            ["$.events: the event_id e1 stands more than once", "$.events: the request_id r2 stands more than once"],
        ),
    ],
)
def test_a_history_that_contradicts_itself_or_its_record_is_told(change: dict[str, Any], expected: list[str]) -> None:
    """An auditor needs no store: the record with its events says it."""
    assert [f"{fault.path}: {fault.fact}" for fault in history_faults(replace(WHOLE, **change))] == expected
