"""The table of failures: the page must show it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.policy import TREATMENTS, FailureClass

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"


def shown() -> dict[str, str]:
    """Return each class on the page with the treatment that stands beside it."""
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[2].strip(" `") for row in rows if len(row) == 5 and row[2].strip(" `") in words()}


def words() -> set[str]:
    """Return every treatment."""
    return {treatment.value for treatment in TREATMENTS.values()}


@pytest.mark.parametrize("failure_class", FailureClass)
def test_the_page_shows_each_class_with_its_treatment(failure_class: FailureClass) -> None:
    """An operator reads there why a step was tried again, or not."""
    assert shown().get(failure_class) == TREATMENTS[failure_class]


def test_the_page_shows_no_class_that_is_gone() -> None:
    """A page that promises more than the code is worse than none."""
    assert set(shown()) == set(FailureClass)
