"""One batch at a glance, as a value: no terminal is needed to know what it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from operations.place import Place, step
from teamster.model import BatchId, JobId, StepId, StepKey, StepStatus
from teamster.operations import Control, cancel, retry, work
from teamster.runner import Happened
from teamster.store import Store
from teamster.views import Scoreboard, StepRow

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOBS = {
    "z": [step("first", "echo all is well"), step("second", "exit 4", depends_on=["first"])],
    "a": [
        step("doubt", """echo '{"status": "needs_attention"}'"""),
        step("after", "true", depends_on=["doubt"]),
    ],
}


@pytest.fixture
def board(place: Place) -> Scoreboard:
    """Look at a batch with a success, a failure, a doubt and a step that waits."""
    batch_id = place.submit(JOBS)
    place.work(batch_id)
    return place.board(batch_id)


def test_steps_stand_in_the_order_of_the_table(board: Scoreboard) -> None:
    """People know their table by heart, not the alphabet."""
    assert [str(row.step) for row in board.steps] == ["z.first", "z.second", "a.doubt", "a.after"]


def test_each_step_says_where_it_is_and_why(board: Scoreboard) -> None:
    rows = {str(row.step): row for row in board.steps}

    assert {name: row.status for name, row in rows.items()} == {
        "z.first": StepStatus.SUCCEEDED,
        "z.second": StepStatus.FAILED,
        "a.doubt": StepStatus.NEEDS_ATTENTION,
        "a.after": StepStatus.BLOCKED,
    }
    assert rows["z.second"].note == "exit code 4"
    assert rows["a.after"].note == "waits for a.doubt (needs_attention)"
    assert board.is_settled
    assert [str(row.step) for row in board.attention] == ["a.doubt", "z.second"]
    assert {name: number for name, number in board.counts.items() if number} == {
        "succeeded": 1,
        "failed": 1,
        "needs_attention": 1,
        "blocked": 1,
    }


def test_the_order_needs_no_record(place: Place) -> None:
    """A damaged file must not keep anybody from looking."""
    batch_id = place.submit(JOBS)
    (place.root / "runs" / batch_id / "batch_meta.json").write_bytes(b"{}")

    assert [str(row.step) for row in place.board(batch_id).steps] == ["a.after", "a.doubt", "z.first", "z.second"]


def test_a_step_that_runs_says_what_it_does_for_how_long_and_when_it_was_seen(place: Place) -> None:
    """Somebody who looks wants to know whether anything still happens."""
    batch_id = place.submit({"a": [step("slow", "echo busy; while ! test -f go; do sleep 0.05; done")]})
    seen: list[Scoreboard] = []

    def watch(happened: Happened, store: Store) -> None:
        del happened, store
        board = place.board(batch_id)
        if board.steps[0].note:
            seen.append(board)
            (place.folder / "work" / "go").touch()

    work(place.harness, batch_id=batch_id, versions={}, control=Control(), watch=watch)

    value = seen[0].to_json()["steps"][0]
    assert (value["status"], value["note"], value["attempts"]) == ("running", "busy", 1)
    assert 0 < value["run_duration_seconds"] < 60
    assert 0 <= value["seconds_since_last_heartbeat"] < 60
    assert value["run_id"] in value["attempt_dir"]


def test_a_canceled_step_names_who_did_it_and_where_its_files_lie(place: Place) -> None:
    batch_id = place.submit({"a": [step("only", "true")]})
    cancel(place.harness, batch_id, actor="operator:me")

    (row,) = place.board(batch_id).steps

    assert row.note.startswith("canceled by operator:me at ")
    assert row.attempts == 1
    assert row.attempt_dir is not None
    assert (place.root / row.attempt_dir).is_dir()


def test_a_step_that_waits_again_after_a_retry_is_blocked_not_canceled(place: Place) -> None:
    """The newest generation is what a person asks about, unless an earlier one has succeeded."""
    batch_id = place.submit({"a": [step("first", "true"), step("second", "true", depends_on=["first"])]})
    cancel(place.harness, batch_id, actor="operator:me")
    retry(place.harness, batch_id, job_id=JobId("a"))

    assert place.statuses(batch_id) == {"a.first": "ready", "a.second": "blocked"}


def test_spans_are_measured_at_the_moment_of_the_look() -> None:
    row = StepRow(
        step=StepKey(BatchId("b"), JobId("j"), StepId("s")),
        status=StepStatus.RUNNING,
        started_at=NOON,
        last_heartbeat_at=NOON + timedelta(seconds=20),
        due_at=NOON,
    )
    value = row.to_json(NOON + timedelta(seconds=50))

    assert (value["run_duration_seconds"], value["seconds_since_last_heartbeat"]) == (50.0, 30.0)
    assert (value["started_at"], value["due_at"]) == ("2026-01-01T12:00:00.000000Z",) * 2
    assert replace(row, started_at=None).running_seconds(NOON) is None
    assert row.running_seconds(NOON - timedelta(seconds=5)) == 0.0  # a wall clock that stepped back
