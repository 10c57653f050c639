"""Contract v1 at the border: what is read comes back whole, and what can't be read is told by its path."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.records import PATIENT, anything, damaged, events, records
from teamster.model import (
    STATUS_FIELDS,
    ClaimToken,
    Item,
    ItemId,
    ItemStatus,
    JobError,
    Lease,
    Owner,
    Record,
    RecordProblems,
    Target,
    UsageError,
    event_from_json,
    read_record,
    record_from_json,
)

NOW = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)
OWNER = {"worker_id": "worker-1", "runtime": "cursor"}
LEASE = {"expires_at": "2026-01-14T17:31:30.000000Z"}
QUEUED: dict[str, Any] = {
    "contract_version": 1,
    "job_id": "job-1",
    "dedupe_key": "plan:plan//login/01-form/2/code//",
    "target": {"plan_id": "01-form", "plan_iteration": 2, "workflow_command": "code"},
    "status": "queued",
    "attempt": 0,
    "rev": 1,
    "events": [],
}
RUNNING = {**QUEUED, "status": "running", "attempt": 1, "rev": 3, "owner": OWNER, "lease": LEASE}
FAILED = {**QUEUED, "status": "failed", "error": {"message": "no"}}
EVENT = {
    "event_id": "e1",
    "type": "claimed",
    "from_status": "queued",
    "to_status": "claimed",
    "at": "2026-01-14T17:30:00Z",
    "actor": "worker-1",
}


def problems(value: Any) -> list[str]:
    """Return what is told about a record that is refused."""
    with pytest.raises(RecordProblems) as caught:
        read_record(json.dumps(value))
    assert all(problem.place == "record" and problem.hint for problem in caught.value.problems)
    return [f"{problem.field}: {problem.fact}" for problem in caught.value.problems]


def taken(read: Callable[[Any], Record], content: Any) -> Record | None:
    """Read a record; None where it was refused as it should be."""
    try:
        return read(content)
    except RecordProblems as error:
        told = error.problems
    assert told
    assert all(problem.field.startswith("$") and problem.fact for problem in told)
    assert all(str(problem).isprintable() for problem in told)
    return None


@pytest.mark.req("DC-ver", "DC-rec")
@settings(max_examples=60, **PATIENT)
@given(records)
def test_a_record_is_written_back_as_it_was_read_with_all_that_is_not_ours(value: dict[str, Any]) -> None:
    """A later version, or another program, put it there; it must not be lost on the way through us."""
    record = read_record(json.dumps(value))

    assert record.to_json() == value
    assert record_from_json(record.to_json()) == record


@pytest.mark.req("DC-events")
@settings(max_examples=60, **PATIENT)
@given(events)
def test_an_event_is_written_back_as_it_was_read(value: dict[str, Any]) -> None:
    """History is append-only: a reader that dropped a member would have changed it."""
    assert event_from_json(value).to_json() == value


@pytest.mark.req("DC-ver")
@settings(max_examples=150, **PATIENT)
@given(damaged() | anything | st.text(max_size=40) | st.binary(max_size=40))
def test_whatever_comes_in_a_record_comes_out_or_the_one_error_with_paths(content: Any) -> None:
    """A worker that we did not write must not be able to end us."""
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    for record in (taken(read_record, text), taken(record_from_json, content)):
        assert record is None or record_from_json(record.to_json()) == record


@pytest.mark.req("DC-ver", "DC-rec", "DC-lease", "DC-target", "DC-result")
def test_all_problems_of_a_record_are_told_at_once() -> None:
    """Each names the member by its path."""
    broken = {
        **RUNNING,
        "job_id": "no id",
        "attempt": 1.0,
        "rev": True,
        "target": {"workflow_command": "code", "plan_iteration": -1},
        "owner": {"worker_id": "", "pid": 2**53 - 1},
        "lease": {"expires_at": "2026-01-14T17:31:30+01:00", "renewed_at": 5},
        "result": {},
    }

    assert problems(broken) == [
        "$.job_id: 'no id' is no id",
        "$.target.plan_iteration: -1 is not within 0 and 9007199254740991",
        "$.target.plan_id: it is missing",
        "$.owner.worker_id: '' is no name",
        "$.owner.runtime: it is missing",
        "$.lease.expires_at: '2026-01-14T17:31:30+01:00' is no moment",
        "$.lease.renewed_at: it is a number, not a text",
        "$.attempt: it is a number with a fraction, not a whole number",
        "$.rev: it is a boolean, not a whole number",
        "$.result: it is there, and `status` is `running`",
    ]


@pytest.mark.req("DC-ver")
@pytest.mark.parametrize("version", [2, 0, "1", 1.0, True])
def test_another_version_is_told_and_nothing_else(version: Any) -> None:
    """What its members mean is not ours to say."""
    assert problems({"contract_version": version, "job": "other"}) == [
        "$.contract_version: it is another version of the contract"
    ]


@pytest.mark.req("DC-ver")
@pytest.mark.parametrize("field", list(QUEUED))
def test_each_required_member_is_missed(field: str) -> None:
    """Absent or null: both mean that it is not there."""
    without = {name: value for name, value in QUEUED.items() if name != field}

    assert problems(without) == [f"$.{field}: it is missing"]
    assert problems({**QUEUED, field: None}) == [f"$.{field}: it is null"]


@pytest.mark.req("DC-ver")
def test_an_optional_member_that_is_null_is_absent() -> None:
    """Some languages can't leave a member out."""
    nulls = dict.fromkeys(("owner", "lease", "result", "error"))

    assert read_record(json.dumps({**QUEUED, **nulls})) == read_record(json.dumps(QUEUED))


@pytest.mark.req("DC-own", "DC-lease", "DC-result", "DC-life")
@pytest.mark.parametrize("status", list(ItemStatus))
@pytest.mark.parametrize("field", ["owner", "lease", "result", "error"])
def test_each_status_has_exactly_its_members(status: ItemStatus, field: str) -> None:
    """queued, stalled: none; claimed, running: owner and lease; succeeded: a result; failed: an error."""
    parts: dict[str, Any] = {"owner": OWNER, "lease": LEASE, "result": {}, "error": {"message": "no"}}
    whole = {**QUEUED, "status": status.value, **{name: parts[name] for name in STATUS_FIELDS[status]}}
    read_record(json.dumps(whole))

    wrong = {**whole, field: parts[field]} if field not in whole else {k: v for k, v in whole.items() if k != field}

    fact = "it is missing" if field in whole else f"it is there, and `status` is `{status}`"
    assert problems(wrong) == [f"$.{field}: {fact}"]
    expected = {
        "queued": set(), "stalled": set(), "claimed": {"owner", "lease"}, "running": {"owner", "lease"},
        "succeeded": {"result"}, "failed": {"error"},
    }  # fmt: skip
    assert set(STATUS_FIELDS[status]) == expected[status]


@pytest.mark.req("DC-result")
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({}, "$.error.message: it is missing"),
        ({"message": 1}, "$.error.message: it is a number, not a text"),
        ({"message": "no", "code": ""}, "$.error.code: '' is no name"),
        ({"message": "no", "stack": []}, "$.error.stack: it is a list, not a text"),
        ("no", "$.error: it is a text, not an object"),
    ],
)
def test_an_error_has_a_message_at_least(error: Any, expected: str) -> None:
    assert problems({**FAILED, "error": error}) == [expected]


@pytest.mark.req("DC-events")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"type": "cancelled"}, "$.events[0].type: 'cancelled' is none of its words"),
        ({"from_status": "running"}, "$.events[0]: type 'claimed', from_status 'running', to_status 'claimed'"),
        ({"from_status": None}, "$.events[0]: type 'claimed', from_status nothing, to_status 'claimed'"),
        ({"type": "enqueued"}, "$.events[0]: type 'enqueued', from_status 'queued', to_status 'claimed'"),
        ({"at": "2026-02-30T00:00:00Z"}, "$.events[0].at: '2026-02-30T00:00:00Z' is no moment"),
        ({"actor": "a\nb"}, "$.events[0].actor: 'a\\nb' is no name"),
        ({"data": []}, "$.events[0].data: it is a list, not an object"),
    ],
)
def test_an_event_tells_a_move_that_there_is(change: dict[str, Any], expected: str) -> None:
    """The table of moves is the contract's."""
    told = problems({**QUEUED, "events": [{**EVENT, **change}]})

    assert told[0].startswith(expected)


@pytest.mark.req("DC-ver", "DC-lease")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-14T17:30:00Z", NOW),
        ("2026-01-14T17:30:00.000Z", NOW),
        ("2026-01-14T17:30:00+00:00", NOW),
        ("2024-02-29T23:59:59.999999Z", datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_a_moment_in_utc_is_read_in_the_ways_in_which_languages_write_it(text: str, moment: datetime) -> None:
    record = read_record(json.dumps({**RUNNING, "lease": {"expires_at": text}}))

    assert record.lease == Lease(expires_at=moment)


@pytest.mark.req("DC-ver")
@pytest.mark.parametrize(
    "text",
    [
        "2026-01-14T17:30:00", "2026-01-14 17:30:00Z", "2026-01-14T17:30Z", "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z", "20260114T173000Z", "٢٠٢٦-01-14T17:30:00Z",
        "2026-01-14T24:00:00Z", "2026-01-14T17:30:60Z", "2026-01-14T17:30:00-00:00", "2026-01-14T17:30:00.1234567Z",
        "0000-01-01T00:00:00Z", "2026-01-14T17:30:00z", "2026-01-14T17:30:00Z\n",
    ],
)  # fmt: skip
def test_what_is_no_moment_in_utc_is_refused(text: str) -> None:
    """A lease whose end two programs read differently has two owners."""
    told = problems({**RUNNING, "lease": {"expires_at": text}})

    assert [problem.partition(": ")[0] for problem in told] == ["$.lease.expires_at"]


def test_it_is_a_usage_error_that_names_its_source() -> None:
    """A surface turns trunks into exit codes."""
    with pytest.raises(UsageError, match=r"job-7\.json has 1 problem"):
        read_record("[]", source="job-7.json")


@pytest.mark.req("DC-rec", "DC-own", "DC-result")
@pytest.mark.parametrize("status", list(ItemStatus))
def test_a_record_that_contradicts_itself_is_not_made(status: ItemStatus) -> None:
    """Illegal values cannot be built, in our own code either."""
    parts: dict[str, Any] = {
        "owner": Owner(worker_id="w", runtime="r"),
        "lease": Lease(expires_at=NOW),
        "result": {},
        "error": JobError(message="no"),
    }
    there = {name: parts[name] for name in STATUS_FIELDS[status]}
    target = Target(inbox_path="repo/main/fix.prompt.md")
    whole = Record(job_id=ItemId("job-1"), dedupe_key="k", target=target, status=status, attempt=0, rev=1, **there)

    for name, part in parts.items():
        changed: dict[str, Any] = {name: None if name in there else part}
        with pytest.raises(ValueError, match="contradict"):
            replace(whole, **changed)


@pytest.mark.req("DC-rec", "DC-ver")
@pytest.mark.parametrize("status", list(ItemStatus))
def test_what_our_items_write_reads_back(status: ItemStatus) -> None:
    """Our own records are contract v1 too."""
    owned = "owner" in STATUS_FIELDS[status]
    item = Item(
        item_id=ItemId("item_1"),
        dedupe_key="step:batch/job/step/1",
        step=None,
        generation=1,
        target={"batch_id": "batch", "job_id": "job", "step_id": "step"},
        status=status,
        owner=Owner(worker_id="runner_1", runtime="teamster", host="host", pid=7) if owned else None,
        lease=Lease(expires_at=NOW, renewed_at=NOW) if owned else None,
        attempt=1,
        rev=4,
        result={"ok": True} if status is ItemStatus.SUCCEEDED else None,
        error={"message": "no", "code": "lost", "details": {"at": 1}} if status is ItemStatus.FAILED else None,
        spec={},
        shift_id=None,
        claim_token=ClaimToken("token") if owned else None,
        fence=1,
        attempts_consumed=0,
        recoveries=0,
        not_before=None,
        cancel_requested=False,
        enqueued_at=NOW,
    )

    assert read_record(json.dumps(item.to_record())).to_json() == item.to_record()
