"""The memory store keeps the contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contracts.store_contract import StoreContract
from teamster.store import MemoryStore, Store


class TestMemoryStore(StoreContract):
    """The test twin, and the reference model."""

    @pytest.fixture
    def open_store(self) -> Callable[[], Store]:
        """Open handles on one state."""
        first = MemoryStore()
        return lambda: MemoryStore.open(first)
