"""Walks all values of a table once, without recursion: how deep, how many, and which of them mean nothing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Problems, refuse

INT_DIGITS_MAX: Final = 18
INT_MAX: Final = 10**INT_DIGITS_MAX - 1
# Notes what is wrong with one value.
Note = Callable[[FieldPath, Any, Problems], None]


def check_values(root: Any, problems: Problems, limits: Limits, *, note: Note) -> None:
    """Let `note` see each value.

    Raises:
        TableProblems: there are too many values, or they lie too deep.
    """
    waiting: list[tuple[FieldPath, Any]] = [((), root)]
    nodes = 0
    while waiting:
        path, value = waiting.pop()
        nodes += 1
        if nodes > limits.nodes_max:
            fact = f"it has more than {limits.nodes_max} values"
            refuse(problems.source, problems.source, fact, "split the batch into several tables")
        if len(path) > limits.depth_max:
            refuse_depth(problems.source, limits)
        note(path, value, problems)
        if isinstance(value, dict):
            waiting.extend(((*path, name), child) for name, child in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend(((*path, index), child) for index, child in reversed(list(enumerate(value))))


def refuse_depth(source: str, limits: Limits) -> NoReturn:
    """Give up on what is nested too deeply.

    Raises:
        TableProblems: with this one problem.
    """
    refuse(source, source, f"it is nested deeper than {limits.depth_max} levels", "a launch table needs five or six")
