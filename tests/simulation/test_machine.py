"""Every store keeps every promise of the contract, whatever is done to it, and in whichever order."""

from __future__ import annotations

import pytest

from simulation.engines import ENGINES
from simulation.machine import run_machine


@pytest.mark.req(
    "DC-rec",
    "DC-life",
    "DC-own",
    "DC-lease",
    "DC-events",
    "DC-enq",
    "DC-claim",
    "DC-beat",
    "DC-end",
    "DC-result",
    "DC-stall",
    "DC-cas",
)
@pytest.mark.parametrize("name", ENGINES)
def test_no_history_breaks_a_promise(name: str) -> None:
    """Runners, operators, crashes and clocks in any order: answers like the model's, states that the oracle allows."""
    run_machine(ENGINES[name], examples=ENGINES[name].examples)
