"""A process that is killed in the middle of anything leaves a store in which all that was acknowledged stands once."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.kill_store import kill_loop

KILLS = 300
SEED = 1


@pytest.mark.req("DC-cas", "DC-own", "DC-end")
def test_whatever_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """SIGKILL at random moments: while the file is made, in transactions, between them, in recoveries."""
    faults, happened = kill_loop(tmp_path, engine="sqlite", base=str(tmp_path), count=KILLS, seed=SEED)

    assert faults == []
    seldom = ("claim", "start", "complete", "ends", "submitted", "lost")
    assert {name: happened[name] for name in seldom if not happened[name]} == {}, happened
