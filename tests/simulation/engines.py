"""The engines that the rigs drive. Another one joins by one entry in `ENGINES`; nothing else names an engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

from simulation.breaking import Breaker
from simulation.postgres_place import PostgresPlace
from teamster.kit import CountedNames, Instant
from teamster.store import MemoryStore, Store
from teamster.store.connection import Database
from teamster.store.engine import Row, Values
from teamster.store.ledger import Turn
from teamster.store.sqlite import SqliteStore


class Place(Protocol):
    """Where one store lies: opened, broken in the middle, opened again."""

    breaker: Breaker

    def open(self) -> Store:
        """Open a connection."""
        ...

    def faults(self) -> list[str]:
        """Say what is wrong below the store: the file's own checks."""
        ...


class MemoryPlace:
    """Dictionaries; a crash comes before a transaction takes them over."""

    def __init__(self, folder: Path) -> None:
        del folder
        self.breaker = Breaker()
        self._first = _BreakableMemory(self.breaker)

    def open(self) -> Store:
        """Open a handle on the same state."""
        another = _BreakableMemory(self.breaker)
        another._shared = self._first._shared
        another._names = self._first._names
        return another

    def faults(self) -> list[str]:
        """Say nothing: there is nothing below."""
        return []


class _BreakableMemory(MemoryStore):
    def __init__(self, breaker: Breaker) -> None:
        super().__init__(names=CountedNames())
        self._breaker = breaker

    @contextmanager
    def _turn(self, at: Instant) -> Iterator[Turn]:
        with super()._turn(at) as turn:
            yield turn
            self._breaker.step()
        self._breaker.committed()


class SqlitePlace:
    """A file, copied from one whose schema was made once; a crash comes before any of its statements."""

    def __init__(self, folder: Path) -> None:
        self.breaker = Breaker()
        self._names = CountedNames()
        self._path = folder / "teamster.db"
        self._path.write_bytes(_empty_file())

    def open(self) -> Store:
        """Open a connection."""
        database = _BreakableDatabase(self._path, self.breaker)
        database.rows("PRAGMA synchronous = OFF")  # nobody cuts the power here
        return SqliteStore(database, names=self._names)

    def faults(self) -> list[str]:
        """Let SQLite look through the file."""
        database = Database(self._path)
        try:
            checks = [f"PRAGMA {name}" for name in ("integrity_check", "foreign_key_check")]
            return [str(row) for check in checks for row in database.rows(check) if row != ("ok",)]
        finally:
            database.close()


@lru_cache(maxsize=1)
def _empty_file() -> bytes:
    """Make the schema once; each example gets a copy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "teamster.db"
        Database(path).close()
        return path.read_bytes()


class _BreakableDatabase(Database):
    def __init__(self, path: Path, breaker: Breaker) -> None:
        self._breaker = breaker
        super().__init__(path)

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        self._breaker.step()
        return super().rows(sql, values)

    def row(self, sql: str, values: Values = ()) -> Row | None:
        self._breaker.step()
        return super().row(sql, values)

    def run(self, sql: str, values: Values = ()) -> int:
        self._breaker.step()
        changed = super().run(sql, values)
        if sql == "COMMIT":
            self._breaker.committed()
        return changed

    def run_many(self, sql: str, values: Any) -> None:
        self._breaker.step()
        super().run_many(sql, values)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An engine, and how much of the suite's time it gets: examples of the state machine."""

    place: Callable[[Path], Place]
    examples: int


ENGINES: Final[Mapping[str, Engine]] = MappingProxyType(
    {
        "memory": Engine(place=MemoryPlace, examples=60),
        "sqlite": Engine(place=SqlitePlace, examples=60),
        "postgres": Engine(place=PostgresPlace, examples=12),
    }
)
