"""What the tests of operations are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from operations.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
