"""PostgreSQL for the state machine: one private server for a test process, empty tables for each example."""

from __future__ import annotations

import atexit
import contextlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulation.breaking import Breaker
from store.postgres_stage import empty, private_server
from teamster.kit import CountedNames
from teamster.settings import StoreLimits
from teamster.store import Store
from teamster.store.engine import Values
from teamster.store.postgres import PostgresStore
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_migration import bring_up_to_date
from teamster.store.postgres_pool import PostgresLink, PostgresPool


@lru_cache(maxsize=1)
def _pool() -> PostgresPool:
    """Start the server and make the schema once; both end with the process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    server = stack.enter_context(private_server())
    pool = stack.enter_context(contextlib.closing(PostgresPool(server.url(), limits=StoreLimits(connections_max=8))))
    bring_up_to_date(PostgresDatabase(pool))
    return pool


class PostgresPlace:
    """A schema, emptied first; a crash comes before any of its messages, or in place of a commit."""

    def __init__(self, folder: Path) -> None:
        del folder
        self.breaker = Breaker()
        self._names = CountedNames()
        empty(PostgresDatabase(_pool()))

    def open(self) -> Store:
        """Open a store whose clock is the test's own: the wall clock of a manual clock never steps."""
        database = _BreakableDatabase(_pool(), self.breaker)
        return PostgresStore(database, names=self._names, host="host", clock=lambda told, at: at.wall)  # noqa: ARG005

    def faults(self) -> list[str]:
        """Say nothing: the server looks after its pages."""
        return []


class _BreakableDatabase(PostgresDatabase):
    def __init__(self, pool: PostgresPool, breaker: Breaker) -> None:
        super().__init__(pool, root="root", host="host")
        self._breaker = breaker

    def _send(self, link: PostgresLink, text: bytes, values: Values) -> Any:
        self._breaker.step()
        return super()._send(link, text, values)

    def _commit(self, link: PostgresLink, **more: Any) -> None:
        self._breaker.step()
        super()._commit(link, **more)
        self._breaker.committed()

    def close(self) -> None:
        """Let go of whatever a crash left open."""
        self._link = None
