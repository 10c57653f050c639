"""Reads a Run Report: what an agent says about its own work, checked before anybody believes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from teamster.kit import one_line
from teamster.model import REPORT_FIELDS_MIN, REPORT_STATUSES, JsonObject

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

REPORT_CHARACTERS_MAX: Final = 4 * 1024 * 1024
PROBLEMS_MAX: Final = 8
PROBLEM_CHARACTERS_MAX: Final = 300
_MAJOR_VERSION: Final = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report as far as it can be trusted: a value, or what is wrong with it."""

    value: JsonObject | None
    problems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.value is None) == (not self.problems):
            raise ValueError("a report has a value or problems, never both or neither")

    @property
    def status(self) -> str | None:
        """Its own word about the work; None where it can't be trusted."""
        return None if self.value is None else cast("str", self.value["status"])


def report_problems(text: str | None, schema: Mapping[str, Any]) -> Report | None:
    """Read a report and check it against its schema; None where there is none. Pure, and safe on any text."""
    if text is None or not text.strip():
        return None
    if len(text) > REPORT_CHARACTERS_MAX:
        return _bad(f"it is longer than {REPORT_CHARACTERS_MAX} characters")
    try:
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_without_repeats
        )
        json.dumps(value, ensure_ascii=False).encode()
        problems = _minimum_problems(value) or _schema_violations(value, schema)
    except UnicodeEncodeError:
        return _bad("it holds half of a surrogate pair, which no file can keep")
    except ValueError as error:
        return _bad(f"it is not JSON: {error}")
    except (RecursionError, OverflowError):
        return _bad("it is nested too deeply, or holds a number beyond any use")
    return Report(value=None, problems=problems) if problems else Report(value=value)


def schema_problems(schema: Any) -> tuple[str, ...]:
    """Return why a report schema can't be used: it must be one, and ask for the minimum fields of a Run Report."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - 60 ms that most commands need not pay

    if not isinstance(schema, Mapping):
        return ("a schema is an object",)
    try:
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        return (_cut(f"it is not a JSON Schema: {error.message}"),)
    except RecursionError:
        return ("it is nested too deeply",)
    required = schema.get("required", ())
    missing = [field for field in REPORT_FIELDS_MIN if field not in required]
    return (f"it does not require {', '.join(missing)}",) if missing else ()


def _minimum_problems(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return ("it is not a JSON object",)
    version = value.get("schema_version", f"{_MAJOR_VERSION}.0")
    if not isinstance(version, str) or version.split(".")[0] != _MAJOR_VERSION:
        return (_cut(f"schema_version: {version!r:.60} is not known; this harness reads {_MAJOR_VERSION}.x"),)
    if value.get("status") not in REPORT_STATUSES:
        return (f"status: it is none of {', '.join(REPORT_STATUSES)}",)
    return ()


def _schema_violations(value: JsonObject, schema: Mapping[str, Any]) -> tuple[str, ...]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415 - as above
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

    # An empty registry: a schema that points at the network must not make us fetch.
    validator = Draft202012Validator(schema, registry=Registry())
    found: list[str] = []
    try:
        for error in validator.iter_errors(value):
            found.append(_describe(error))
            if len(found) == PROBLEMS_MAX:
                break
    except Unresolvable as error:
        return (_cut(f"its schema points at something that is not there: {error}"),)
    except re.error as error:
        return (_cut(f"its schema has a pattern that can't be read: {error}"),)
    return tuple(found)


def _describe(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path)
    return _cut(f"{place}: {error.message}" if place else error.message)


def _bad(problem: str) -> Report:
    return Report(value=None, problems=(_cut(problem),))


def _cut(text: str) -> str:
    return one_line(text[: 4 * PROBLEM_CHARACTERS_MAX], characters_max=PROBLEM_CHARACTERS_MAX)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is beyond any number that we can keep")
    return number


def _without_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return value
