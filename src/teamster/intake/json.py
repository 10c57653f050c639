"""Reads JSON: keys once, numbers that stay what they are, text that can be written again."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Parsed, Problems, refuse

INT_DIGITS_MAX = 18


class _Twins(dict[str, Any]):
    """An object in which keys stand more than once; where it lies is known only after the parse."""

    repeated: tuple[str, ...] = ()


class _BadNumber(str):
    """A number that JSON does not have, or that no program agrees on."""

    __slots__ = ()


def parse_json(text: str, *, source: str, limits: Limits) -> Parsed:
    """Parse a table in JSON.

    What doesn't mean the same everywhere is noted: keys that stand twice, numbers that can't be kept.

    Raises:
        TableProblems: it is not JSON, or too deep or too large.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_BadNumber
        )
    except json.JSONDecodeError as error:
        place = f"{source}:{error.lineno}:{error.colno}"
        refuse(source, place, f"it is not JSON: {error.msg}", "check commas, quotes and brackets there")
    except RecursionError:
        _refuse_depth(source, limits)
    problems = Problems(source, lambda _: source)
    _check(value, problems, limits)
    return Parsed(source=source, value=value, place=lambda _: source, noted=tuple(problems.found()))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    twins = _Twins(value)
    names = [name for name, _ in pairs]
    twins.repeated = tuple(name for name in value if names.count(name) > 1)
    return twins


def _int(text: str) -> int | _BadNumber:
    return int(text) if len(text.lstrip("-")) <= INT_DIGITS_MAX else _BadNumber(text)


def _float(text: str) -> float | _BadNumber:
    number = float(text)
    return number if math.isfinite(number) else _BadNumber(text)


def _check(root: Any, problems: Problems, limits: Limits) -> None:
    """Walk all values once, without recursion: depth, count, twins, numbers."""
    waiting: list[tuple[FieldPath, Any]] = [((), root)]
    nodes = 0
    while waiting:
        path, value = waiting.pop()
        nodes += 1
        if nodes > limits.nodes_max:
            fact = f"it has more than {limits.nodes_max} values"
            refuse(problems.source, problems.source, fact, "split the batch into several tables")
        if len(path) > limits.depth_max:
            _refuse_depth(problems.source, limits)
        if isinstance(value, _BadNumber):
            problems.add(path, f"{value:.40} is no number that can be kept exactly", "write it as text, or smaller")
        elif isinstance(value, dict):
            for name in value.repeated if isinstance(value, _Twins) else ():
                problems.add((*path, name), "the key stands more than once", "keep one of them")
            waiting.extend(((*path, name), child) for name, child in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend(((*path, index), child) for index, child in reversed(list(enumerate(value))))


def _refuse_depth(source: str, limits: Limits) -> NoReturn:
    refuse(source, source, f"it is nested deeper than {limits.depth_max} levels", "a launch table needs five or six")
