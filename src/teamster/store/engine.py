"""The small face of a database connection that the SQL stores work with."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]
Values = Sequence[Any]


class Engine(Protocol):
    """A connection for one thread."""

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """Run one statement and return all its rows."""
        ...

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """Run one statement and return its first row."""
        ...

    def run(self, sql: str, values: Values = ()) -> int:
        """Run one statement and return how many rows it changed."""
        ...

    def write(self, sql: str, values: Values = (), *, rows: int | None = None) -> None:
        """Run a statement whose answer nobody waits for; where it has to change so many rows, it must.

        It happens before the next statement, which may be when it is told that it can't.
        """
        ...

    def run_many(self, sql: str, values: Sequence[Values]) -> None:
        """Run one statement for each set of values; as with `write`, nobody waits for it."""
        ...

    def insert(self, sql: str, values: Values) -> int | None:
        """Run one insert and return the number of its row, None where it stood back from one that is there."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Write at once or not at all."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Let the transactions of a block be parts of one."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Let several reads see one moment."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
