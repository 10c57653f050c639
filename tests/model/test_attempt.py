"""An attempt and its end time agree."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pytest

from teamster.model import (
    FINAL_ATTEMPT_STATUSES,
    Attempt,
    AttemptStatus,
    BatchId,
    FileClass,
    ItemId,
    JobId,
    RunId,
    StepId,
    StepKey,
)

NOW: Final = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)


def attempt(status: AttemptStatus, ended_at: datetime | None) -> Attempt:
    """Return an attempt."""
    return Attempt(
        run_id=RunId("run_1"),
        item_id=ItemId("item_1"),
        step=StepKey(BatchId("batch_1"), JobId("job_1"), StepId("step1")),
        number=1,
        directory="runs/x",
        status=status,
        started_at=NOW,
        ended_at=ended_at,
    )


@pytest.mark.parametrize("status", AttemptStatus)
def test_an_end_has_a_time_and_a_run_has_none(status: AttemptStatus) -> None:
    """`ended_at` when terminal, and only then."""
    ended = status in FINAL_ATTEMPT_STATUSES

    assert attempt(status, NOW if ended else None).status is status
    with pytest.raises(ValueError, match="disagree"):
        attempt(status, None if ended else NOW)


def test_the_classes_of_files_are_those_of_the_contract() -> None:
    """Each kept file has one."""
    assert [kind.value for kind in FileClass] == ["write-once", "append-only", "atomic snapshot", "mutable index"]
