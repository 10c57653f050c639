"""What every store promises. `tests/store/test_memory.py` and `test_sqlite.py` subclass it and supply `open_store`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contracts.store_choice import FairnessContract, LimitContract, RoutingContract
from contracts.store_claims import ClaimContract, ShiftContract
from contracts.store_collections import CollectionContract, FeedContract
from contracts.store_intake import (
    DependencyContract,
    IntakeContract,
    OutboxContract,
    ReadingContract,
)
from contracts.store_moves import MoveContract, RepeatContract
from contracts.store_steering import AdoptionContract, LostOwnerContract, SteeringContract
from contracts.store_vectors import VectorContract
from contracts.store_world import World
from teamster.store import Store


class StoreContract(
    ShiftContract,
    ClaimContract,
    MoveContract,
    RepeatContract,
    LostOwnerContract,
    AdoptionContract,
    SteeringContract,
    IntakeContract,
    DependencyContract,
    ReadingContract,
    OutboxContract,
    RoutingContract,
    LimitContract,
    FairnessContract,
    CollectionContract,
    FeedContract,
    VectorContract,
):
    """One suite for all; `open_store` gives another connection to the same state with each call."""

    @pytest.fixture
    def world(self, open_store: Callable[[], Store]) -> World:
        """Return a world with an empty store."""
        return World(open_store)
