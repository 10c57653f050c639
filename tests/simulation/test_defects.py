"""The state machine finds what somebody could get wrong: each planted defect fails it, quickly and each time."""

from __future__ import annotations

import pytest

from simulation.defects import FOUND_BY_MACHINE
from simulation.engines import ENGINES
from simulation.machine import run_machine


@pytest.mark.req("DC-cas", "DC-own")
@pytest.mark.parametrize("name", FOUND_BY_MACHINE)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that can't fail proves nothing. The very run that the store passes fails with each of these."""
    FOUND_BY_MACHINE[name](monkeypatch.setattr)
    engine = ENGINES["sqlite"]

    with pytest.raises(AssertionError):
        run_machine(engine, examples=engine.examples, shrink=False)
