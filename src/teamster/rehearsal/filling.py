"""A value that fits a JSON schema: what the author left out is filled in with the plainest thing that is valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

DEPTH_MAX: Final = 32
ITEMS_MAX: Final = 1000
REPORT_VERSION: Final = "1.0.0"
TEXT: Final = "rehearsed"
PREFERRED: Final = ("ok", "1.0.0")
"""Where a list of allowed values has one of these, a good report says it."""

PATTERN_TRIES: Final = ("1.0.0", "1", "a", "A", "0000000", "main", "a/b.md", "A-1", "")
"""What is tried where a text must fit a pattern: versions, numbers, words, hashes, paths, keys of issues."""

_FORMATS: Final = {
    "date-time": "2026-01-14T17:30:00Z",
    "date": "2026-01-14",
    "time": "17:30:00Z",
    "email": "rehearsal@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}

_NOT_GIVEN: Final = object()


class Unfillable(Exception):
    """A schema that nothing plain fits: a reference that leads nowhere or round in a circle."""


def fill(schema: Any, given: Any = _NOT_GIVEN, *, summary: str = TEXT) -> Any:
    """Return a value of the schema that holds what was given; lists of given objects are filled item by item.

    Raises:
        Unfillable: see there.
    """
    return _Filler(root=schema, summary=summary).value(schema, given, name="", depth=0)


class _Filler:
    def __init__(self, *, root: Any, summary: str) -> None:
        self._root = root
        self._summary = summary

    def value(self, schema: Any, given: Any, *, name: str, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise Unfillable(f"the schema is nested deeper than {DEPTH_MAX}")
        schema = self._flat(schema, given, depth)
        kind = _kind(schema, given)
        if isinstance(given, Mapping) or (kind == "object" and given is _NOT_GIVEN):
            return self._object(schema, given if isinstance(given, Mapping) else {}, depth)
        if isinstance(given, list):
            items = schema.get("items", {})
            return [self.value(items, item, name=name, depth=depth + 1) for item in given]
        if given is not _NOT_GIVEN:
            return given
        return self._plain(schema, kind, name=name, depth=depth)

    def _flat(self, schema: Any, given: Any, depth: int) -> Mapping[str, Any]:
        """Follow references, choose among alternatives and join what must hold together."""
        if not isinstance(schema, Mapping):
            return {}
        flat = dict(schema)
        for _ in range(DEPTH_MAX):
            if "$ref" in flat:
                flat = {**self._resolved(flat.pop("$ref")), **flat}
            elif "allOf" in flat:
                for part in flat.pop("allOf"):
                    flat = _joined(flat, self._flat(part, given, depth + 1) if depth < DEPTH_MAX else {})
            elif "anyOf" in flat or "oneOf" in flat:
                choices = flat.pop("anyOf", None) or flat.pop("oneOf")
                flat = _joined(flat, _chosen(choices, given))
            else:
                return flat
        raise Unfillable("the schema refers to itself without an end")

    def _resolved(self, reference: Any) -> Mapping[str, Any]:
        target = self._root
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise Unfillable(f"the schema refers to {reference!r}, outside itself")
        for part in reference.removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                raise Unfillable(f"the schema refers to {reference!r}, which is not there")
            target = target[name]
        return target if isinstance(target, Mapping) else {}

    def _object(self, schema: Mapping[str, Any], given: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        names = [name for name in properties if name in given or name in schema.get("required", ())]
        names += [name for name in schema.get("required", ()) if name not in properties]
        names += [name for name in given if name not in names]
        return {
            name: self.value(properties.get(name, {}), given.get(name, _NOT_GIVEN), name=name, depth=depth + 1)
            for name in names
        }

    def _plain(self, schema: Mapping[str, Any], kind: str, *, name: str, depth: int) -> Any:
        for word in ("const", "default"):
            if word in schema:
                return schema[word]
        if choices := schema.get("enum"):
            return next((choice for choice in choices if choice in PREFERRED), choices[0])
        if examples := schema.get("examples"):
            return examples[0]
        match kind:
            case "string" if name == "schema_version" and "pattern" not in schema:
                return REPORT_VERSION  # a report of any other version is refused
            case "string":
                return _string(schema, self._summary if name == "summary" else TEXT)
            case "integer" | "number":
                return _number(schema, kind)
            case "array":
                count = min(int(schema.get("minItems", 0)), ITEMS_MAX)
                return [self.value(schema.get("items", {}), _NOT_GIVEN, name="", depth=depth + 1) for _ in range(count)]
            case "boolean":
                return True
            case _:
                return None


def _kind(schema: Mapping[str, Any], given: Any) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    if isinstance(kinds, str):
        return kinds
    if "properties" in schema or isinstance(given, Mapping):
        return "object"
    return "array" if "items" in schema or isinstance(given, list) else "string"


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**one, **other}
    if "properties" in one and "properties" in other:
        joined["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        joined["required"] = [*one["required"], *(name for name in other["required"] if name not in one["required"])]
    return joined


def _chosen(choices: Any, given: Any) -> Mapping[str, Any]:
    """Choose the alternative that knows most of the given fields; among equals the first that is not null."""
    known = [choice for choice in choices if isinstance(choice, Mapping) and choice.get("type") != "null"]
    if not known:
        return {"type": "null"}
    names = set(given) if isinstance(given, Mapping) else set()
    return max(known, key=lambda choice: len(names & set(choice.get("properties", {}))))


def _string(schema: Mapping[str, Any], text: str) -> str:
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    if "pattern" in schema:
        return _matching(str(schema["pattern"]), text)
    text = text.ljust(int(schema.get("minLength", 0)), ".")
    return text[: int(schema["maxLength"])] if "maxLength" in schema else text


def _matching(pattern: str, text: str) -> str:
    """Choose a plain text that fits a pattern. None may: then the author of the scenario says what does."""
    for candidate in (text, *PATTERN_TRIES, *_FORMATS.values()):
        try:
            if re.search(pattern, candidate):
                return candidate
        except re.error as error:
            raise Unfillable(f"the schema has the pattern {pattern!r}: {error}") from error
    raise Unfillable(f"nothing plain fits the pattern {pattern!r}: give that field in `report`")


def _number(schema: Mapping[str, Any], kind: str) -> float:
    step = schema.get("multipleOf", 1)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is None:
        low = min(0, high) if high is not None else 0
    number = -(-low // step) * step
    if number == schema.get("exclusiveMinimum"):
        number += step
    if number == schema.get("exclusiveMaximum"):
        number -= step
    return int(number) if kind == "integer" else number
