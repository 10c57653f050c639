from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.batch import CONCURRENCY, PROGRAM, RunFailed, figures, measure_floor, quarter_rates, read_states, table

from teamster.intake import read_table
from teamster.kit import iso
from teamster.model import TableDefaults

BEGAN = datetime(2026, 1, 14, 17, 30, tzinfo=UTC)


def states(*seconds: float) -> list[dict[str, Any]]:
    """Return attempts that started at once and ended after so many seconds."""
    return [
        {"status": "succeeded", "started_at": iso(BEGAN), "ended_at": iso(BEGAN + timedelta(seconds=after))}
        for after in seconds
    ]


def test_rates_come_from_the_recorded_moments() -> None:
    """A batch that slows down with what is finished shows it in its last quarter."""
    found = figures(jobs=8, run_seconds=10.0, floors=(1.0, 3.0), states=states(1, 2, 2.5, 3, 4, 5, 6, 8))
    by_name = {figure.name: figure for figure in found}

    overall, last = by_name["jobs_per_second"], by_name["last_quarter_per_second"]
    assert (overall.value, overall.floor, overall.met) == (0.8, 2.0, True)
    assert by_name["running_jobs_per_second"].value == 1.0
    assert last.value == pytest.approx(2 / 3)
    assert (last.floor, last.met) == (2.0, False)


def test_quarters_are_of_jobs_and_not_of_time() -> None:
    """Each holds the same number of jobs, so that a slow end weighs as much as a quick start."""
    moments = [BEGAN + timedelta(seconds=after) for after in (1, 2, 4, 8)]

    assert quarter_rates(moments, began_at=BEGAN) == [1.0, 1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(states(1, 2, 3), id="one-is-missing"),
        pytest.param(states(1, 2, 3, 4, 5), id="one-ran-twice"),
        pytest.param([*states(1, 2, 3), {"status": "failed"}], id="one-failed"),
    ],
)
def test_a_batch_that_did_not_go_through_has_no_figures(found: list[dict[str, Any]]) -> None:
    """A harness that drops jobs is fast."""
    with pytest.raises(RunFailed):
        figures(jobs=4, run_seconds=1.0, floors=(1.0,), states=found)


def test_the_table_asks_for_as_many_jobs_as_are_measured(tmp_path: Path) -> None:
    """Each runs the same program as the floor, in a folder outside of any repository's cost."""
    (tmp_path / "work").mkdir()
    (tmp_path / "batch.json").write_text(json.dumps(table(jobs=3, folder=tmp_path / "work")), encoding="utf-8")

    read = read_table(tmp_path / "batch.json", defaults=TableDefaults(), root=tmp_path / "root")

    assert [job.job_id for job in read.jobs] == ["job00000", "job00001", "job00002"]
    assert {step.agent.command for job in read.jobs for step in job.steps} == {(PROGRAM,)}
    assert read.concurrency == CONCURRENCY


def test_the_floor_is_measured_by_running_the_program() -> None:
    """No number in the file stands for it."""
    assert measure_floor(4) > 0


def test_states_are_read_wherever_an_attempt_lies(tmp_path: Path) -> None:
    """The tree of the runs store is not this program's business."""
    place = tmp_path / "runs/a/b/c"
    place.mkdir(parents=True)
    (place / "state.json").write_text('{"status": "running"}', encoding="utf-8")

    assert read_states(tmp_path) == [{"status": "running"}]
