"""Reads JSON: keys once, numbers that stay what they are, text that can be written again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final

from teamster.intake.bounds import INT_DIGITS_MAX, check_values, refuse_depth
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Parsed, Problems, refuse
from teamster.intake.places import Found, Grammar, placed


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
        where = f"{source}:{error.lineno}:{error.colno}"
        refuse(source, where, f"it is not JSON: {error.msg}", "check commas, quotes and brackets there")
    except RecursionError:
        refuse_depth(source, limits)
    place = placed(text, source, lambda: _places(text))
    problems = Problems(source, place)
    check_values(value, problems, limits, note=_note)
    return Parsed(source=source, value=value, place=place, noted=tuple(problems.found()))


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


def _note(path: FieldPath, value: Any, problems: Problems) -> None:
    if isinstance(value, _BadNumber):
        problems.add(path, f"{value:.40} is no number that can be kept exactly", "write it as text, or smaller")
    elif isinstance(value, _Twins):
        for name in value.repeated:
            problems.add((*path, name), "the key stands more than once", "keep one of them")


def _places(text: str) -> Iterator[Found]:
    """Yield where the values of a text stand that the parser has taken; of twins the first."""
    tokens = ((match[0], match.start()) for match in _TOKEN.finditer(text))
    return _GRAMMAR.value(tokens, ())


def _unquoted(key: str) -> str:
    return str(json.loads(key))


_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_GRAMMAR: Final = Grammar(equals=":", unquoted=_unquoted)
