"""Templates: one job for each row of a list or of a CSV file, and what `{column}` becomes in it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Problems

ITEM: Final = "item"  # what an entry is called that is no mapping
NUMBER: Final = "row"  # the number of the row, from 1
COLUMNS_SHOWN_MAX: Final = 10
_BRACES: Final = re.compile(r"\{\{([^{}\n]+)\}\}|\{([^{}\n]+)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ALONE: Final = re.compile(r"\{[^{}\n]+\}")
_SINGLE: Final = re.compile(r"\{([a-z_]+)\}")
_LATER: Final = re.compile(r"[a-z_]+")  # what a placeholder of a command looks like
_NO_ID: Final = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one job of a template has instead of placeholders."""

    number: int
    values: Mapping[str, str]

    def filled(
        self, text: str, unknown: Callable[[str], None], *, fit: Callable[[str], str] = str, later: Collection[str] = ()
    ) -> str:
        """Put values in, each made to fit. Doubled braces become single ones; a name that is unknown is told.

        Braces around something that looks like no name, as in JSON or in code, are left alone. Names that are filled
        in `later` stay as they are, and so does what is doubled for that time.
        """

        def filled(match: re.Match[str]) -> str:
            doubled, name = match.groups()
            if doubled is not None:
                stays = bool(later) and _LATER.fullmatch(doubled)
                return match[0] if stays or not self._is_name(doubled) else f"{{{doubled}}}"
            if name in later or not self._is_name(name):
                return match[0]
            if name not in self.values:
                unknown(name)
                return match[0]
            return fit(self.values[name])

        return _BRACES.sub(filled, text)

    def _is_name(self, text: str) -> bool:
        return text in self.values or _NAME.fullmatch(text) is not None

    def note_unknown(self, name: str, path: FieldPath, problems: Problems) -> None:
        """Note a placeholder that no column fills in."""
        columns = ", ".join(f"{{{column}}}" for column in list(self.values)[:COLUMNS_SHOWN_MAX])
        fact = f"{{{name}}} is no column of `for_each`"
        problems.add(path, fact, f"columns are {columns}; {{{{{name}}}}} passes the braces on")


def as_id(value: str) -> str:
    """Make a value fit into an id: what an id can't have becomes `-`."""
    return _NO_ID.sub("-", value).strip("-")


def fit_for(reference: str) -> Callable[[str], str]:
    """Return how a value fits into a reference: one that fills all of it is a reference, any other a part of an id."""
    return str if _ALONE.fullmatch(reference) else as_id


def as_argument(value: str) -> str:
    """Keep a value from being read as a placeholder of a command, whatever stands in it."""
    return _SINGLE.sub(r"{{\1}}", value)


def rows_of_list(items: Sequence[Any], path: FieldPath, problems: Problems, limits: Limits) -> list[Row]:
    """Read rows that stand in the table: mappings with the same keys, or single values, which are called `item`."""
    if not items:
        problems.add(path, "it is empty", "write one entry at least")
    rows = []
    names = list(items[0]) if items and isinstance(items[0], dict) else [ITEM]
    for index, item in enumerate(items):
        entry = item if isinstance(item, dict) else {ITEM: item}
        here = (*path, index)
        if sorted(map(str, entry)) != sorted(map(str, names)):
            fact = f"its keys are {_shown(entry)}, those of the first entry are {_shown(names)}"
            problems.add(here, fact, "give all entries the same keys")
            continue
        values = {str(name): _text(value, (*here, name), problems, limits) for name, value in entry.items()}
        rows.append(_row(index + 1, values, here, problems))
    return rows


def rows_of_csv(text: str, name: str, path: FieldPath, problems: Problems, limits: Limits) -> list[Row]:
    """Read rows from a CSV file: the first line names the columns; lines with nothing in them are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[Row] = []
    header: list[str] | None = None
    try:
        for cells in reader:
            if not any(cells):
                continue
            if header is None:
                header = _header(cells, name, path, problems)
            elif len(cells) != len(header):
                fact = f"{name}:{reader.line_num}: it has {len(cells)} cells, the first line has {len(header)}"
                problems.add(path, fact, "quote cells with commas, double the quotes in them")
            elif len(rows) >= limits.jobs_max:
                problems.add(path, f"{name} has more than {limits.jobs_max} rows", "split it into several tables")
                break
            else:
                values = {column: cell for column, cell in zip(header, cells, strict=True) if column}
                rows.append(_row(len(rows) + 1, values, path, problems))
    except csv.Error as error:
        problems.add(path, f"{name}:{reader.line_num}: it is no CSV: {error}", "check the quotes there")
    if not rows:
        problems.add(path, f"{name} has no rows", "the first line names the columns, each further one makes a job")
    return rows


def _row(number: int, values: dict[str, str], path: FieldPath, problems: Problems) -> Row:
    if NUMBER in values:
        problems.add(path, f"a column can't be called `{NUMBER}`: that is the number of the row", "call it otherwise")
    return Row(number=number, values={**values, NUMBER: str(number)})


def _header(cells: Sequence[str], name: str, path: FieldPath, problems: Problems) -> list[str]:
    header = [cell.strip() for cell in cells]
    for column in dict.fromkeys(column for column in header if column and header.count(column) > 1):
        problems.add(path, f"{name}: the column {column!r} stands more than once", "give each column its own name")
    if any(sign in cell for cell in header for sign in (";", "\t")):
        problems.add(path, f"{name}: its cells are not divided by commas", "save it with commas")
    return header


def _text(value: Any, path: FieldPath, problems: Problems, limits: Limits) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str() if len(value) <= limits.prompt_bytes_max and "\0" not in value:
            return value
        case float():
            problems.add(path, f"{value} may not be what was written", "quote it: 1.10 would become 1.1")
        case _:
            problems.add(path, "it is no text, whole number or boolean", "write one value for each column")
    return ""


def _shown(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in list(names)[:COLUMNS_SHOWN_MAX]) or "none"
