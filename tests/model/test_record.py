"""Contract v1: the record as other runtimes read it, and what an item can never be."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from teamster.model import (
    CONTRACT_VERSION,
    OWNED_STATUSES,
    WORKFLOW_COMMANDS,
    ClaimToken,
    Event,
    EventType,
    Item,
    ItemId,
    ItemStatus,
    Lease,
    Owner,
    RequestId,
    RunnerId,
    Shift,
    ShiftId,
)

NOW: Final = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)
QUEUED: Final = Item(
    item_id=ItemId("item_1"),
    dedupe_key="repo/plan-01/2/code",
    step=None,
    generation=0,
    target={"repo_id": "repo", "plan_id": "plan-01", "plan_iteration": 2, "workflow_command": "code"},
    status=ItemStatus.QUEUED,
    owner=None,
    lease=None,
    attempt=0,
    rev=1,
    result=None,
    error=None,
    spec={"private": "to our runners"},
    shift_id=None,
    claim_token=None,
    fence=0,
    attempts_consumed=0,
    recoveries=0,
    not_before=None,
    cancel_requested=False,
    enqueued_at=NOW,
)
OWNER: Final = Owner(worker_id="runner_1", runtime="opencode", host="host-1", pid=4711)
LEASE: Final = Lease(expires_at=NOW + timedelta(seconds=90), renewed_at=NOW)
RUNNING: Final = replace(
    QUEUED,
    status=ItemStatus.RUNNING,
    owner=OWNER,
    lease=LEASE,
    claim_token=ClaimToken("token_1"),
    shift_id=ShiftId("shift_1"),
    attempt=1,
    rev=3,
)
EVENT: Final = Event(
    event_id="event_1",
    type=EventType.CLAIMED,
    from_status=ItemStatus.QUEUED,
    to_status=ItemStatus.CLAIMED,
    at=NOW,
    actor="runner_1",
    request_id=RequestId("request_1"),
)


@pytest.mark.req("DC-rec", "DC-ver", "DC-lease", "DC-events")
def test_an_owned_item_is_written_as_the_contract_wants_it() -> None:
    """Field by field; what is ours alone is not in it."""
    record = RUNNING.to_record((EVENT,))

    assert json.loads(json.dumps(record)) == {
        "contract_version": 1,
        "job_id": "item_1",
        "dedupe_key": "repo/plan-01/2/code",
        "target": {"repo_id": "repo", "plan_id": "plan-01", "plan_iteration": 2, "workflow_command": "code"},
        "status": "running",
        "owner": {"worker_id": "runner_1", "runtime": "opencode", "host": "host-1", "pid": 4711},
        "lease": {"expires_at": "2026-01-14T17:31:30.000000Z", "renewed_at": "2026-01-14T17:30:00.000000Z"},
        "attempt": 1,
        "rev": 3,
        "events": [
            {
                "event_id": "event_1",
                "type": "claimed",
                "from_status": "queued",
                "to_status": "claimed",
                "at": "2026-01-14T17:30:00.000000Z",
                "actor": "runner_1",
                "request_id": "request_1",
            }
        ],
    }


@pytest.mark.req("DC-rec", "DC-result")
def test_owner_lease_result_and_error_are_there_where_they_hold() -> None:
    """An optional field is absent, not null."""
    ends = {"result": {"summary": "done"}, "error": {"message": "no", "code": "canceled"}}
    succeeded = replace(QUEUED, status=ItemStatus.SUCCEEDED, result=ends["result"]).to_record()
    failed = replace(QUEUED, status=ItemStatus.FAILED, error=ends["error"]).to_record()

    assert {"owner", "lease", "result", "error"} & set(QUEUED.to_record()) == set()
    assert (succeeded["result"], "error" in succeeded) == (ends["result"], False)
    assert (failed["error"], "result" in failed) == (ends["error"], False)


def test_optional_parts_of_parts_are_left_out() -> None:
    """A worker may not want to say on which host it runs."""
    first = Event(
        event_id="event_0", type=EventType.ENQUEUED, from_status=None, to_status=ItemStatus.QUEUED, at=NOW, actor="me"
    )

    assert Owner(worker_id="w", runtime="cursor").to_json() == {"worker_id": "w", "runtime": "cursor"}
    assert set(Lease(expires_at=NOW).to_json()) == {"expires_at"}
    assert "request_id" not in first.to_json()
    assert first.to_json()["from_status"] is None
    assert replace(first, data={"reason": "lost"}).to_json()["data"] == {"reason": "lost"}


@pytest.mark.req("DC-own", "DC-lease", "DC-result")
@pytest.mark.parametrize(
    "broken",
    [
        {"owner": None},
        {"lease": None},
        {"claim_token": None},
        {"status": ItemStatus.QUEUED},
        {"status": ItemStatus.STALLED},
        {"status": ItemStatus.SUCCEEDED, "result": {}},
        {"result": {}},
        {"error": {"message": "no"}},
    ],
    ids="-".join,
)
def test_an_item_that_contradicts_itself_is_not_made(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match="item_1"):
        replace(RUNNING, **broken)


@pytest.mark.parametrize("left", ["owner", "lease", "claim_token", "shift_id"])
@pytest.mark.parametrize("status", sorted(set(ItemStatus) - OWNED_STATUSES))
def test_nobody_owns_an_item_that_nobody_works_on(status: ItemStatus, left: str) -> None:
    """A token that stays behind would be the right to write."""
    fields: dict[str, Any] = {
        "status": status,
        "result": {} if status is ItemStatus.SUCCEEDED else None,
        "error": {"message": "no"} if status is ItemStatus.FAILED else None,
    }
    with pytest.raises(ValueError, match="with an owner"):
        replace(QUEUED, **fields, **{left: getattr(RUNNING, left)})


@pytest.mark.parametrize(
    ("status", "fields"),
    [(ItemStatus.SUCCEEDED, {}), (ItemStatus.FAILED, {}), (ItemStatus.FAILED, {"result": {}, "error": {}})],
    ids=["no-result", "no-error", "both"],
)
def test_an_end_says_what_came_of_it(status: ItemStatus, fields: dict[str, Any]) -> None:
    """A result belongs to a success, an error to a failure."""
    with pytest.raises(ValueError, match="belongs to"):
        replace(QUEUED, status=status, **fields)


def test_an_outside_worker_has_no_shift() -> None:
    """Contract v1 knows no shifts: its workers hold an item by token alone."""
    assert not replace(RUNNING, shift_id=None).is_final


def test_only_ends_are_final() -> None:
    """Nothing can happen to them any more."""
    assert replace(QUEUED, status=ItemStatus.FAILED, error={"message": "no"}).is_final
    assert not QUEUED.is_final


@pytest.mark.req("DC-target")
def test_the_commands_are_those_of_the_contract() -> None:
    """Plans of other runtimes name them."""
    assert WORKFLOW_COMMANDS == ("plan", "code", "finish-code", "review", "fix", "done", "verify")
    assert CONTRACT_VERSION == 1


@pytest.mark.parametrize("ended_at", [None, NOW + timedelta(hours=1)], ids=["running", "ended"])
def test_a_shift_reads_back(ended_at: datetime | None) -> None:
    """It crosses databases and files as JSON."""
    shift = Shift(
        shift_id=ShiftId("shift_1"),
        runner_id=RunnerId("runner_1"),
        runtime="teamster",
        host_id="host_1",
        root_id="root_1",
        boot_id="boot_1",
        pid=4711,
        start_ticks=99,
        ttl_seconds=90.0,
        began_at=NOW,
        renewed_at=NOW,
        expires_at=NOW + timedelta(seconds=90),
        expires_boot_seconds=1090.0,
        ended_at=ended_at,
    )

    assert Shift.from_json(json.loads(json.dumps(shift.to_json()))) == shift
