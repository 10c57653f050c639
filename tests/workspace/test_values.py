from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from teamster.workspace import Baseline

BASELINE = Baseline(
    working_directory=Path(os.fsdecode(b"/w/caf\xe9/sub")),
    top=Path(os.fsdecode(b"/w/caf\xe9")),
    visit="visit_00000001",
    head="a" * 40,
    tree="b" * 64,
    is_shared=True,
    left_out={b"big\xff.bin": "1:2:3:4"},
    gaps=("something",),
)


def test_a_baseline_survives_a_file() -> None:
    """An adopter reads it after the harness that wrote it has died; names are bytes."""
    assert Baseline.from_json(json.loads(json.dumps(BASELINE.to_json()))) == BASELINE


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"tree": "--output=/etc/passwd"},
        {"head": "HEAD"},
        {"visit": "../../../etc/passwd"},
        {"visit": 7},
        {"top": "relative"},
        {"top": 7},
        {"left_out": []},
        {"gaps": None},
    ],
    ids=str,
)
def test_a_baseline_that_was_tampered_with_is_refused(change: dict[str, Any]) -> None:
    """It lies where an agent without a sandbox could write: nothing in it may name an option or another file."""
    with pytest.raises(ValueError, match=r"baseline|object id|visit|absolute"):
        Baseline.from_json({**BASELINE.to_json(), **change})


@pytest.mark.parametrize("name", sorted(BASELINE.to_json()))
def test_a_baseline_that_lacks_something_is_refused(name: str) -> None:
    """A half-written one must not look like a clean start."""
    value = BASELINE.to_json()
    del value[name]

    with pytest.raises(ValueError, match="baseline"):
        Baseline.from_json(value)
