"""A full store for each test to read and damage; it is made once, and copied."""

from __future__ import annotations

import shutil
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from artifacts.samples import Writer, full_store


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    """Return a store that nobody may change."""
    return full_store(tmp_path_factory.mktemp("made") / "root")


@pytest.fixture
def writer(made: Writer, tmp_path: Path) -> Writer:
    """Return a store of the test's own."""
    shutil.copytree(made.root.path, tmp_path / "root")
    copied = deepcopy(made)
    copied.root = replace(made.root, path=tmp_path / "root")
    return copied
