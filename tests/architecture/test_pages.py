"""Pages that must match the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.conformance import read_requirements, report
from scripts.states import PAGE, render

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_states_is_the_generated_one() -> None:
    """`make docs` writes it again."""
    assert PAGE.read_text(encoding="utf-8") == render()


@pytest.mark.parametrize("room", sorted(path.parent.name for path in (ROOT / "src" / "teamster").glob("*/__init__.py")))
def test_the_map_of_the_house_names_every_room(room: str) -> None:
    """A room that the map doesn't show can't be found."""
    assert f"`{room}`" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_that_the_map_names_is_there() -> None:
    """A map that points at nothing is worse than none."""
    words = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("`")[1::2]
    paths = [word for word in words if word.endswith((".py", ".md")) and " " not in word]

    assert paths
    assert [path for path in paths if not any((base / path).is_file() for base in (ROOT, ROOT / "src/teamster"))] == []


def test_decisions_are_numbered_without_a_gap() -> None:
    """The number is how people name a decision."""
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))

    assert numbers == list(range(1, len(numbers) + 1))


def test_the_report_of_requirements_lists_each_with_its_tests_and_counts() -> None:
    """A report, not a gate: open rows are shown, not hidden."""
    text = report({"PH-1": "First", "PH-2": "Second"}, {"PH-1": {"tests/a.py::test_b"}})

    assert text.splitlines() == [
        "proven  PH-1        First",
        "                    tests/a.py::test_b",
        "open    PH-2        Second",
        "",
        "2 requirements: 1 proven, 1 open",
    ]


def test_every_document_of_origin_has_rows() -> None:
    """A row that the reader of the page overlooks would never be proven."""
    assert {name.partition("-")[0] for name in read_requirements()} == {"PH", "PV1", "PV2", "PVQ", "DC"}
