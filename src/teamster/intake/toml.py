"""Reads TOML with the standard parser; where a field stands is looked up only when there is a problem to tell."""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from teamster.intake.bounds import INT_MAX, check_values, refuse_depth
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Parsed, Problems, refuse
from teamster.intake.places import NEWLINE, Found, Grammar, at, placed

_PLACE: Final = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")
_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\n\[\]{},=.]"
    r"""|[^\s\[\]{},=."'#]+""",
    re.DOTALL,
)


def parse_toml(text: str, *, source: str, limits: Limits) -> Parsed:
    """Parse a table in TOML.

    Raises:
        TableProblems: it is not TOML, or too deep or too large.
    """
    try:
        value = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        _refuse_syntax(text, source, str(error))
    except RecursionError:
        refuse_depth(source, limits)
    # The parser takes a carriage return for a blank; we count lines as it does.
    place = placed(text, source, lambda: _Scan(text).found())
    problems = Problems(source, place)
    check_values(value, problems, limits, note=_note)
    return Parsed(source=source, value=value, place=place, noted=tuple(problems.found()))


def _refuse_syntax(text: str, source: str, message: str) -> NoReturn:
    match = _PLACE.search(message)
    fact, place = message, source
    if match is not None:
        fact = message[: match.start()]
        place = f"{source}:{match[1]}:{match[2]}" if match[1] else at(text, source, len(text))
    refuse(source, place, f"it is not TOML: {fact:.200}", "check quotes, brackets and `=` there: text stands in quotes")


def _note(path: FieldPath, value: Any, problems: Problems) -> None:
    match value:
        case dt.date() | dt.time():
            problems.add(path, f"{value} is a date or a time, which no field is", "quote it")
        case float() if not math.isfinite(value):
            problems.add(path, f"{value} is no number that can be kept exactly", "write it as text, or smaller")
        case int() if abs(value) > INT_MAX:
            problems.add(path, "it is no number that can be kept exactly", "write it as text, or smaller")
        case _:
            pass


class _Scan:
    """Goes through a text that the parser has taken, header by header and line by line."""

    def __init__(self, text: str) -> None:
        self._tokens = ((match[0], match.start()) for match in _TOKEN.finditer(text) if match[0][0] != "#")
        self._rows: dict[FieldPath, int] = {}  # how many tables an array of tables has so far

    def found(self) -> Iterator[Found]:
        """Yield each path and its offset."""
        above: FieldPath = ()
        for token in self._tokens:
            if token[0] == "[":
                above = self._header()
                yield above, token[1]
            elif token[0] != NEWLINE:
                path = (*above, *_GRAMMAR.keys(self._tokens, token))
                yield from ((path[:length], token[1]) for length in range(len(above) + 1, len(path) + 1))
                yield from _GRAMMAR.value(self._tokens, path)

    def _header(self) -> FieldPath:
        """Read `[a.b]` or `[[a.b]]` from behind its first bracket."""
        token = next(self._tokens)
        many = token[0] == "["
        keys = _GRAMMAR.keys(self._tokens, next(self._tokens) if many else token, end="]")
        if many:
            next(self._tokens)
        path: FieldPath = ()
        for key in keys[:-1]:
            path = self._newest((*path, key))
        path = (*path, keys[-1])
        if many:
            self._rows[path] = self._rows.get(path, 0) + 1
        return self._newest(path)

    def _newest(self, path: FieldPath) -> FieldPath:
        return (*path, self._rows[path] - 1) if path in self._rows else path


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"k = {key}")["k"]) if key[0] in "\"'" else key


_GRAMMAR: Final = Grammar(equals="=", unquoted=_unquoted)
