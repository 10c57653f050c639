"""What the tests of this room share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def in_a_repository(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let every folder of the tests lie in a git repository: Codex works nowhere else."""
    (tmp_path_factory.getbasetemp() / ".git").mkdir(exist_ok=True)
