"""Scripted models for tests: each in a folder of its own, ended with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from teamster.process import spawn_daemon
from teamster.rehearsal import Model, start_model, stop_model

IDLE_SECONDS_MAX = 60.0
"""A model whose test was killed ends soon by itself."""

StartModel = Callable[[str], Model]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartModel]:
    """Return what starts a model that plays a scenario, given as text."""
    folder = tmp_path / "model"

    def started(scenario: str) -> Model:
        written = tmp_path / "scenario.yaml"
        written.write_text(scenario, encoding="utf-8")
        return start_model(folder=folder, scenario=written, spawn=spawn_daemon, idle_seconds_max=IDLE_SECONDS_MAX)

    yield started
    stop_model(folder)
