"""What the tests of runners share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Give a root, a store and a machine on paper."""
    scene = Scene(tmp_path)
    yield scene
    scene.close()
