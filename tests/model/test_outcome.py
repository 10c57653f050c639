"""How a process ended, as a shim writes it and a later harness reads it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from teamster.model import (
    Exited,
    ExitRecord,
    Lost,
    NotStarted,
    Orphaned,
    Outcome,
    OutputLimit,
    ProcessIdentity,
    Signalled,
    Stopped,
    TimedOut,
    exit_record_from_json,
    exit_record_to_json,
    outcome_from_json,
    outcome_to_json,
)

NOW: Final = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)
OUTCOMES: Final = (
    Exited(0),
    Exited(137),
    Signalled(9),
    TimedOut(3600.0),
    OutputLimit(1024),
    Stopped(),
    Orphaned(),
    NotStarted("no such file"),
    Lost("the host was started again"),
)
WRITTEN: Final = {
    "run_id": "run_1",
    "kind": "exited",
    "exit_code": 0,
    "started_at": "2026-01-14T17:30:00.000000Z",
    "ended_at": "2026-01-14T17:31:00.000000Z",
    "stragglers_ended": 2,
}


def test_every_kind_is_listed_here() -> None:
    """A new one must read back too."""
    assert {type(outcome) for outcome in OUTCOMES} == set(Outcome.__args__)


@pytest.mark.parametrize("outcome", OUTCOMES, ids=repr)
def test_an_outcome_reads_back(outcome: Outcome) -> None:
    """It is judged after a restart as it would have been before."""
    assert outcome_from_json(json.loads(json.dumps(outcome_to_json(outcome)))) == outcome


def test_an_exit_record_is_one_flat_object() -> None:
    """The shim writes it without importing us: the names are a contract."""
    record = ExitRecord(
        run_id="run_1", outcome=Exited(0), started_at=NOW, ended_at=NOW + timedelta(seconds=60), stragglers_ended=2
    )

    assert exit_record_to_json(record) == WRITTEN
    assert exit_record_from_json(dict(WRITTEN)) == record


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"kind": "vanished"},
        {"kind": "exited"},
        {"kind": "exited", "exit_code": "0"},
        {"kind": "signalled", "signal": None},
        {"kind": "timed_out", "after_seconds": "long"},
        {"kind": ["exited"]},
    ],
    ids=repr,
)
def test_what_is_no_outcome_is_refused(broken: dict[str, Any]) -> None:
    """A torn or foreign record must not be taken for an end."""
    with pytest.raises(ValueError, match="not an outcome"):
        outcome_from_json(broken)


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": None},
        {"started_at": None},
        {"started_at": "yesterday"},
        {"ended_at": 7},
        {"ended_at": "0001-01-01T00:00:00+23:00"},
        {"stragglers_ended": "many"},
        {"stragglers_ended": -1},
        {"exit_code": None},
    ],
    ids=repr,
)
def test_what_is_no_exit_record_is_refused(change: dict[str, Any]) -> None:
    """Always by the same exception: who reads a record catches one."""
    with pytest.raises(ValueError, match=r".+"):
        exit_record_from_json({**WRITTEN, **change})


@pytest.mark.parametrize("name", WRITTEN)
def test_an_exit_record_without_a_field_is_refused(name: str) -> None:
    """Each is needed."""
    with pytest.raises(ValueError, match="not an"):
        exit_record_from_json({key: value for key, value in WRITTEN.items() if key != name})


def test_an_identity_reads_back_and_tells_a_reused_pid_apart() -> None:
    """The same pid on another boot, or started later, is somebody else."""
    identity = ProcessIdentity(boot_id="boot_1", pid=4711, start_ticks=99)

    assert ProcessIdentity.from_json(identity.to_json()) == identity
    assert identity != ProcessIdentity(boot_id="boot_2", pid=4711, start_ticks=99)
    assert identity != ProcessIdentity(boot_id="boot_1", pid=4711, start_ticks=100)
