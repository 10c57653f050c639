"""What the tests of the command line are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.teamster import Teamster
from operations.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def teamster(place: Place, capsys: pytest.CaptureFixture[str]) -> Teamster:
    return Teamster(place, capsys)
