"""What a JSON value of the contract looks like, said once: the parser, the JSON Schemas and the page read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Protocol

from teamster.kit import INTEGER_MAX, Fault, below

TEXT_CHARACTERS_MAX: Final = 200
VALUE_CHARACTERS_SHOWN_MAX: Final = 60
_KINDS: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number with a fraction",
    str: "a text",
    list: "a list",
    dict: "an object",
}


class Shape(Protocol):
    """What one value may be."""

    @property
    def form(self) -> str:
        """Say it in a few words, for people."""
        ...

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        ...

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text of one grammar. `pattern` keeps to what Python and ECMA-262 read alike, and matches the whole."""

    form: str
    pattern: str | None = None
    hint: str = ""

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if not isinstance(value, str):
            yield _other_kind(value, path, "a text")
        elif self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            yield Fault(path=path, fact=f"{shown(value)} is no {self.form}", hint=self.hint)

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema; the end is said twice, since some programs let `$` stand before a line feed."""
        return {"type": "string"} if self.pattern is None else _whole(self.pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A whole number within what every program counts exactly; no fraction, no exponent, no boolean."""

    least: int = 0

    @property
    def form(self) -> str:
        """Say it in a few words, for people."""
        return f"integer, {self.least} at least"

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if isinstance(value, bool) or not isinstance(value, int):
            yield _other_kind(value, path, "a whole number")
        elif not self.least <= value <= INTEGER_MAX:
            fact = f"{value} is not within {self.least} and {INTEGER_MAX}" if abs(value) <= INTEGER_MAX else "too large"
            yield Fault(path=path, fact=fact, hint="a counter begins low and grows by one")

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": INTEGER_MAX}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of some words."""

    values: tuple[str, ...]

    @property
    def form(self) -> str:
        """Say it in a few words, for people."""
        return "one of " + ", ".join(f"`{value}`" for value in self.values)

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if not isinstance(value, str):
            yield _other_kind(value, path, "a text")
        elif value not in self.values:
            yield Fault(path=path, fact=f"{shown(value)} is none of its words", hint=", ".join(self.values))

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"enum": list(self.values)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyObject:
    """An object whose members are not ours to judge."""

    form: str = "object"

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if not isinstance(value, dict):
            yield _other_kind(value, path, "an object")

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anything:
    """Any value."""

    form: str = "any value"

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell nothing: all is well."""
        del value, path
        yield from ()

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list of values of one shape."""

    each: Shape

    @property
    def form(self) -> str:
        """Say it in a few words, for people."""
        return f"list of {self.each.form}s"

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        if not isinstance(value, list):
            yield _other_kind(value, path, "a list")
            return
        for index, each in enumerate(value):
            yield from self.each.faults(each, below(path, index))

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"type": "array", "items": self.each.schema()}


@dataclass(frozen=True, slots=True)
class Field:
    """One member of an object: what it may be, and what it means. One that is not required may be null: absent."""

    shape: Shape
    _: KW_ONLY
    about: str
    required: bool = False


class Rule(Protocol):
    """What several members of one object have to do with each other."""

    def faults(self, value: Mapping[str, Any], path: str) -> Iterator[Fault]:
        """Tell what is wrong with an object."""
        ...

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """An object with members of known shapes. Others are ignored: they are somebody else's, or of a later version."""

    form: str
    about: str
    fields: Mapping[str, Field]
    rules: tuple[Rule, ...] = ()

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value: its members first, then what they have to do with each other."""
        if not isinstance(value, dict):
            yield _other_kind(value, path, "an object")
            return
        for name, field in self.fields.items():
            member = value.get(name)
            if member is not None:
                yield from field.shape.faults(member, below(path, name))
            elif field.required:
                fact = "it is null" if name in value else "it is missing"
                yield Fault(path=below(path, name), fact=fact, hint=f"{self.form} needs it: {field.shape.form}")
        for rule in self.rules:
            yield from rule.faults(value, path)

    def known(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the members that we know and that are there."""
        return {name: value[name] for name in self.fields if value.get(name) is not None}

    def unknown(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the members that are not ours, to be written back."""
        return {name: member for name, member in value.items() if name not in self.fields}

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        rules = [rule.schema() for rule in self.rules]
        return {
            "description": self.about,
            "type": "object",
            "properties": {name: _member(field) for name, field in self.fields.items()},
            "required": [name for name, field in self.fields.items() if field.required],
            **({"allOf": rules} if rules else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A form that stands elsewhere in the same document: a schema points at it."""

    of: Form

    @property
    def form(self) -> str:
        """Say it in a few words, for people."""
        return self.of.form

    def faults(self, value: Any, path: str) -> Iterator[Fault]:
        """Tell what is wrong with a value."""
        yield from self.of.faults(value, path)

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"$ref": f"#/$defs/{self.of.form}"}


def shown(value: str) -> str:
    """Return a text as a message shows it: quoted, and not too much of it."""
    quoted = repr(value[:VALUE_CHARACTERS_SHOWN_MAX])
    return quoted if len(value) <= VALUE_CHARACTERS_SHOWN_MAX else f"{quoted}..."


def _whole(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^(?:{pattern})$(?!\\n)"}


def _member(field: Field) -> dict[str, Any]:
    schema = field.shape.schema()
    if not field.required and schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "description": field.about}


def _other_kind(value: Any, path: str, wanted: str) -> Fault:
    kind = _KINDS.get(type(value), type(value).__name__)
    return Fault(path=path, fact=f"it is {kind}, not {wanted}", hint=f"write {wanted}")
