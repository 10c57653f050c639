"""The hand-written statements in PostgreSQL's spelling.

`sql.py` holds them once, as SQLite reads them. Most differ by their placeholders alone; the few that say something else
stand here, beside what they replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

ROWS_PER_MESSAGE_MAX: Final = 500
_PLACE: Final = re.compile(r"\?(\d*)")
_MANY: Final = re.compile(r"\A(?P<into>\s*INSERT INTO .*?VALUES )\((?P<places>[?, ]+)\)\s*\Z", re.DOTALL)
_NUMBERS: Final[Mapping[str, str]] = {"batches": "no", "drafts": "no", "items": "seq"}
_WORDS: Final = (
    (" IS ?", " IS NOT DISTINCT FROM ?"),
    ("ORDER BY rowid", "ORDER BY no"),
)
_INSTEAD: Final[Mapping[str, str]] = {}


@lru_cache(maxsize=512)
def _spelled(statement: str) -> tuple[bytes, tuple[int, ...] | None]:
    """Return a statement as PostgreSQL reads it, and the order of its values where places are numbered."""
    text = _INSTEAD.get(statement, statement)
    for ours, theirs in _WORDS:
        text = text.replace(ours, theirs)
    numbers = _PLACE.findall(text)
    order = tuple(int(number) - 1 for number in numbers) if any(numbers) else None
    return _PLACE.sub("%s", text.replace("%", "%%")).encode(), order


def spelled(statement: str, values: Sequence[Any]) -> tuple[bytes, Sequence[Any]]:
    """Return a statement and its values as PostgreSQL wants them. Without values nothing is a placeholder."""
    text, order = _spelled(statement)
    if order is not None:
        values = [values[number] for number in order]
    return (text if values else text.replace(b"%%", b"%")), values


@lru_cache(maxsize=64)
def insert_returning(statement: str) -> str:
    """Return an insert that answers with the number of its row."""
    found = re.match(r"\s*INSERT INTO (\w+)", statement)
    assert found is not None
    return f"{statement} RETURNING {_NUMBERS[found[1]]}"


def many(statement: str, values: Sequence[Sequence[Any]]) -> Iterator[tuple[bytes, Sequence[Any]]]:
    """Yield messages that run one statement for each set of values: one insert of many rows, or one after the other."""
    insert = _MANY.match(statement)
    for start in range(0, len(values), ROWS_PER_MESSAGE_MAX):
        chunk = values[start : start + ROWS_PER_MESSAGE_MAX]
        if insert is not None:
            text = insert["into"] + ", ".join(f"({insert['places']})" for _ in chunk)
            yield _PLACE.sub("%s", text).encode(), [value for row in chunk for value in row]
        else:
            parts = [spelled(statement, row) for row in chunk]
            yield b"; ".join(text for text, _ in parts), [value for _, row in parts for value in row]
