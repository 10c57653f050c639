"""What members of one object have to do with each other, as values that the parser and the JSON Schemas read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from teamster.kit import Fault, below
from teamster.model.shapes import shown

_THERE: Final[dict[str, Any]] = {"not": {"type": "null"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Where a member has one of some words, others must be there, and others must not."""

    field: str
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    def faults(self, value: Mapping[str, Any], path: str) -> Iterator[Fault]:
        """Tell what is wrong with an object."""
        word = value.get(self.field)
        if not isinstance(word, str) or word not in self.words:
            return
        for name in self.needs:
            if value.get(name) is None:
                hint = f"`{self.field}` is `{word}`"
                yield Fault(path=below(path, name), fact="it is missing", hint=hint)
        for name in self.lacks:
            if value.get(name) is not None:
                fact = f"it is there, and `{self.field}` is `{word}`"
                yield Fault(path=below(path, name), fact=fact, hint=f"leave it out, or correct `{self.field}`")

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        members = {**dict.fromkeys(self.needs, _THERE), **{name: {"type": "null"} for name in self.lacks}}
        return {
            "if": {"properties": {self.field: {"enum": list(self.words)}}, "required": [self.field]},
            "then": {"properties": members, "required": list(self.needs)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class With:
    """Where a member is there, others must be there too."""

    field: str
    needs: tuple[str, ...]

    def faults(self, value: Mapping[str, Any], path: str) -> Iterator[Fault]:
        """Tell what is wrong with an object."""
        if value.get(self.field) is None:
            return
        for name in self.needs:
            if value.get(name) is None:
                yield Fault(path=below(path, name), fact="it is missing", hint=f"`{self.field}` is there and needs it")

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {
            "if": {"properties": {self.field: _THERE}, "required": [self.field]},
            "then": {"properties": dict.fromkeys(self.needs, _THERE), "required": list(self.needs)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """Some members together make one of some rows; None stands for null or absent."""

    fields: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    hint: str

    def faults(self, value: Mapping[str, Any], path: str) -> Iterator[Fault]:
        """Tell what is wrong with an object; members of another kind are told by their own shapes."""
        row = tuple(value.get(name) for name in self.fields)
        if all(word is None or isinstance(word, str) for word in row) and row not in self.rows:
            words = ["nothing" if word is None else shown(word) for word in row]
            told = ", ".join(f"{name} {word}" for name, word in zip(self.fields, words, strict=True))
            yield Fault(path=path, fact=f"{told}: these do not go together", hint=self.hint)

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"anyOf": [self._row(row) for row in self.rows]}

    def _row(self, row: tuple[str | None, ...]) -> dict[str, Any]:
        pairs = list(zip(self.fields, row, strict=True))
        return {
            "properties": {name: {"type": "null"} if word is None else {"const": word} for name, word in pairs},
            "required": [name for name, word in pairs if word is not None],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NotEmpty:
    """The object has a member."""

    hint: str

    def faults(self, value: Mapping[str, Any], path: str) -> Iterator[Fault]:
        """Tell what is wrong with an object."""
        if not value:
            yield Fault(path=path, fact="it is empty", hint=self.hint)

    def schema(self) -> dict[str, Any]:
        """Write it as JSON Schema."""
        return {"minProperties": 1}
