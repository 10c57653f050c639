"""The PostgreSQL store keeps the contract, across connections, threads, deaths and restarts of the server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contracts.store_contract import StoreContract
from teamster.store import Store


class TestPostgresStore(StoreContract):
    """The store for many machines."""

    @pytest.fixture
    def open_store(self, open_postgres_store: Callable[[], Store]) -> Callable[[], Store]:
        """Open connections to one schema."""
        return open_postgres_store
