from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from bench.parts.figures import Figure, as_table, publish, read_options
from rich.console import Console

RATE = Figure(name="jobs_per_second", value=123.456, unit="1/s", floor=1000.0, target=0.15)
SECONDS = Figure(name="start_seconds", value=0.5, unit="s")


def test_a_figure_is_met_when_its_part_of_the_floor_reaches_the_target() -> None:
    """The ratio is what can be compared between machines."""
    assert RATE.to_json() == {
        "value": 123.5,
        "unit": "1/s",
        "floor": 1000.0,
        "ratio": 0.1235,
        "target": 0.15,
        "met": False,
    }
    assert Figure(name="as_good", value=150.0, unit="1/s", floor=1000.0, target=0.15).met is True
    assert SECONDS.to_json() == {"value": 0.5, "unit": "s", "floor": None, "ratio": None, "target": None, "met": None}


def test_a_target_without_a_floor_is_refused() -> None:
    """It would say something about the machine, not about us."""
    with pytest.raises(ValueError, match="there is none"):
        Figure(name="bare", value=1.0, unit="s", target=0.5)


def test_programs_get_one_object_and_people_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The shape is the same for every program under bench/."""
    publish("batch", [RATE, SECONDS], options=read_options("x", ["--json"]), results=tmp_path)

    assert json.loads(capsys.readouterr().out) == {figure.name: figure.to_json() for figure in (RATE, SECONDS)}
    assert list(tmp_path.iterdir()) == []
    text = io.StringIO()
    Console(width=200, file=text).print(as_table("batch", [RATE, SECONDS]))
    (row,) = [line for line in text.getvalue().splitlines() if "jobs_per_second" in line]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == ["jobs_per_second", "123.5 1/s", "1000.0 1/s", "0.123", ">= 0.15", "no"]


def test_figures_are_kept_when_asked_for_with_what_they_were_measured_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Docs state figures from these files, and nothing in them names a machine."""
    publish("batch", [RATE], options=read_options("x", ["--write", "--quick"]), results=tmp_path / "results")

    kept = json.loads((tmp_path / "results" / "batch.json").read_bytes())
    assert kept["figures"] == {"jobs_per_second": RATE.to_json()}
    assert kept["quick"] is True
    assert kept["machine"].keys() == {"measured_at", "cpus", "system", "python"}
    assert "jobs_per_second" in capsys.readouterr().out
