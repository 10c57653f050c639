"""What the tests of real processes share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from process.stage import LocalStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[LocalStage]:
    """Give real processes a folder; nothing of them is left afterwards."""
    stage = LocalStage(tmp_path)
    yield stage
    stage.close()
    complaints = stage.log.read_text()
    assert complaints == "", complaints
