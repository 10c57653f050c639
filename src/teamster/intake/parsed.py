"""A table that was read and not yet understood, and the problems that are found in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from teamster.kit import one_line
from teamster.model import Problem, TableProblems, is_id

FieldPath = tuple[str | int, ...]
# Looking for what a person may have meant takes time: it is done only for problems that are kept.
Hint = str | Callable[[], str]
WHOLE = "the table"
PROBLEMS_MAX = 500
ROWS_SHOWN_MAX = 5
FIELD_CHARACTERS_MAX = 200
FACT_CHARACTERS_MAX = 500
_LINE_AND_COLUMN = re.compile(r":([0-9]{1,9}):([0-9]{1,9})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Plain values as a person wrote them. `place` looks up where a field stands, and is asked only for problems.

    `noted` is what is wrong with the writing, where the rest could be read all the same.
    """

    source: str
    value: Any
    place: Callable[[FieldPath], str]
    noted: tuple[Problem, ...] = ()


@dataclass(slots=True)
class Problems:
    """Gathers what is wrong, so that a person hears of everything at once."""

    source: str
    place: Callable[[FieldPath], str]
    noted: tuple[Problem, ...] = ()
    row: int | None = None
    rows_total: int = 0
    _found: dict[tuple[FieldPath, str], str] = field(default_factory=dict)
    _rows: dict[tuple[FieldPath, str], tuple[list[int], int]] = field(default_factory=dict)
    _dropped: Counter[str] = field(default_factory=Counter)

    def of_row(self, row: int, total: int) -> Problems:
        """Return the same gathering for one row of a template: what holds for some rows alone names them."""
        return replace(self, row=row, rows_total=total)

    def everywhere(self) -> Problems:
        """Return the same gathering for what is not about one row, or names its rows itself."""
        return replace(self, row=None)

    def __len__(self) -> int:
        return len(self.noted) + len(self._found)

    def add(self, path: FieldPath, fact: str, hint: Hint = "") -> None:
        """Note a fact about a field; the same one twice is one problem."""
        if (path, fact) not in self._found and len(self._found) >= PROBLEMS_MAX:
            self._dropped[self.source] += 1
            return
        if self.row is not None:
            rows, _ = self._rows.setdefault((path, fact), ([], self.rows_total))
            if self.row not in rows[-1:]:
                rows.append(self.row)
        if (path, fact) in self._found:
            return
        self._found[path, fact] = hint() if callable(hint) else hint

    def raise_if_any(self) -> None:
        """End the reading where there was a problem.

        Raises:
            TableProblems: all of them.
        """
        if self.noted or self._found:
            raise TableProblems(self.source, self.found())

    def found(self) -> list[Problem]:
        """Return what was noted, in the order of the text where there are lines.

        A field that is badly written is not looked at further.
        """
        written_badly = {problem.field for problem in self.noted}
        problems = list(self.noted)
        for (path, fact), hint in self._found.items():
            name = written(path)
            if name not in written_badly:
                problems.append(
                    Problem(
                        place=self.place(path),
                        field=name,
                        fact=one_line(fact + self._where((path, fact)), characters_max=FACT_CHARACTERS_MAX),
                        hint=one_line(hint, characters_max=FACT_CHARACTERS_MAX),
                    )
                )
        problems.sort(key=_line_of)  # stable: without lines the order of reading stays
        if self._dropped.total():
            more = f"{self._dropped.total()} more problems are not shown"
            problems.append(Problem(place=self.source, field=WHOLE, fact=more, hint="mend these first"))
        return problems

    def _where(self, key: tuple[FieldPath, str]) -> str:
        """Name the rows that a fact is about, unless it is about all."""
        rows, total = self._rows.get(key, ([], 0))
        if len(rows) == total:
            return ""
        more = f" and {len(rows) - ROWS_SHOWN_MAX} more" if len(rows) > ROWS_SHOWN_MAX else ""
        shown = ", ".join(map(str, rows[:ROWS_SHOWN_MAX]))
        return f" (row{'s' if len(rows) > 1 else ''} {shown}{more})"


def refuse(source: str, place: str, fact: str, hint: str = "", *, path: FieldPath = ()) -> NoReturn:
    """Give up on a table that can't be read on.

    Raises:
        TableProblems: with this one problem.
    """
    raise TableProblems(source, [Problem(place=place, field=written(path), fact=fact, hint=hint)])


def _line_of(problem: Problem) -> tuple[int, ...]:
    match = _LINE_AND_COLUMN.search(problem.place)
    return (int(match[1]), int(match[2])) if match else ()


def written(path: FieldPath) -> str:
    """Write a path as people do: `jobs[0].steps[1].prompt`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif is_id(part):
            text += f".{part}" if text else part
        else:
            text += f"[{one_line(repr(part), characters_max=64)}]"
    return one_line(text, characters_max=FIELD_CHARACTERS_MAX) or WHOLE
