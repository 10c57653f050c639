"""How a process opens a store by a text: the engines that workers and rigs know. Another one is another entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from teamster.store import Store, open_sqlite
from teamster.store.postgres import open_store
from teamster.store.postgres_pool import PostgresPool


def _sqlite(place: str) -> Store:
    return open_sqlite(Path(place))


def _postgres(place: str) -> Store:
    schema, _, url = place.partition("@")
    pool = PostgresPool(url)
    store = open_store(pool, host="host", root="root", schema=schema)
    store.close = pool.close  # type: ignore[method-assign]  # nobody else uses this pool
    return store


OPENERS: Final[Mapping[str, Callable[[str], Store]]] = MappingProxyType({"sqlite": _sqlite, "postgres": _postgres})


def place_of(engine: str, base: str, number: int) -> str:
    """Name the place of one of several empty stores: a file in a folder, or a schema of a database."""
    return f"store_{number}@{base}" if engine == "postgres" else f"{base}/store-{number}.db"
