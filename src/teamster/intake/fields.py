"""One object of a table, read field by field. What is wrong is noted, and reading goes on."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from teamster.intake.parsed import FieldPath, Hint, Problems
from teamster.intake.rows import Row

SURROGATES = range(0xD800, 0xE000)
SHOWN_CHARACTERS_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A mapping of the table, where it stands, and where its problems go. A field that is null is not there.

    Within a template each text is filled in from its `row`.
    """

    value: Mapping[str, Any]
    path: FieldPath
    problems: Problems
    row: Row | None = None

    def has(self, name: str) -> bool:
        """Tell whether a field is there."""
        return self.value.get(name) is not None

    def at(self, name: str) -> FieldPath:
        """Return the path of a field."""
        return (*self.path, name)

    def add(self, name: str, fact: str, hint: Hint = "") -> None:
        """Note a problem with a field."""
        self.problems.add(self.at(name), fact, hint)

    def text(self, name: str, *, characters_max: int, fit: Callable[[str], str] = str) -> str | None:
        """Read text that may be missing; `fit` makes what a row puts into it fit."""
        value = self.raw_text(name, characters_max=characters_max)
        if value is None or self.row is None:
            return value
        filled = self.filled(value, self.at(name), fit=fit)
        if len(filled) > characters_max:
            self.add(name, f"{len(filled)} characters once its row is put in, the limit is {characters_max}")
            return None
        return filled

    def raw_text(self, name: str, *, characters_max: int) -> str | None:
        """Read text that may be missing, as it was written."""
        if not self.has(name):
            return None
        value = self.value[name]
        fact = text_fact(value, characters_max=characters_max)
        if fact is not None:
            hint = "quote it" if isinstance(value, bool | int | float) else ""
            self.add(name, fact, hint)
            return None
        return str(value)

    def filled(
        self, text: str, path: FieldPath, *, fit: Callable[[str], str] = str, later: Collection[str] = ()
    ) -> str:
        """Put the values of the row into a text; see `Row.filled`."""
        row = self.row
        if row is None:
            return text
        return row.filled(text, lambda name: row.note_unknown(name, path, self.problems), fit=fit, later=later)

    def word(self, name: str, *, characters_max: int) -> str | None:
        """Read text that may be missing, and may not be blank."""
        value = self.text(name, characters_max=characters_max)
        if value is None or value.strip():
            return value
        self.add(name, "it is blank", "say something, or leave the key out")
        return None

    def choice(self, name: str, options: Collection[str]) -> str | None:
        """Read one of a few words."""
        if not self.has(name):
            return None
        value = self.value[name]
        if isinstance(value, str) and value in options:
            return value
        self.add(name, f"{shown(value)} is none of {', '.join(options)}", lambda: nearest(value, options))
        return None

    def choices(self, name: str, options: Collection[str]) -> tuple[str, ...] | None:
        """Read a list of a few words, each once."""
        items = self.items(name, items_max=SHOWN_CHARACTERS_MAX)
        if items is None:
            return None
        for index, item in enumerate(items):
            if not isinstance(item, str) or item not in options:
                fact = f"{shown(item)} is none of {', '.join(options)}"
                self.problems.add((*self.at(name), index), fact, partial(nearest, item, options))
                return None
        return tuple(option for option in options if option in items)

    def flag(self, name: str) -> bool | None:
        """Read `true` or `false`."""
        if not self.has(name):
            return None
        value = self.value[name]
        if isinstance(value, bool):
            return value
        self.add(name, f"{shown(value)} is not a boolean", "write true or false")
        return None

    def whole(self, name: str, *, at_least: int, at_most: int) -> int | None:
        """Read a whole number within its bounds."""
        value = self.number(name, at_least=at_least, at_most=at_most)
        if value is not None and value != int(value):
            self.add(name, f"{shown(value)} is not a whole number", f"choose {at_least} to {at_most}")
            return None
        return None if value is None else int(value)

    def number(self, name: str, *, at_least: float, at_most: float) -> float | None:
        """Read a number within its bounds."""
        if not self.has(name):
            return None
        value = self.value[name]
        hint = f"choose {at_least:.10g} to {at_most:.10g}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.add(name, f"{shown(value)} is not a number", hint)
            return None
        if not at_least <= value <= at_most:
            self.add(name, f"{shown(value)} is not within {at_least:.10g} and {at_most:.10g}", hint)
            return None
        return value

    def texts(
        self,
        name: str,
        *,
        items_max: int,
        characters_max: int,
        fit: Callable[[str], str] = str,
        later: Collection[str] = (),
    ) -> tuple[str, ...] | None:
        """Read a list of texts; see `filled` for what a template makes of them."""
        items = self.items(name, items_max=items_max)
        if items is None:
            return None
        found = []
        for index, item in enumerate(items):
            fact = text_fact(item, characters_max=characters_max)
            if fact is not None:
                self.problems.add((*self.at(name), index), fact, "quote it")
                return None
            found.append(self.filled(str(item), (*self.at(name), index), fit=fit, later=later))
        return tuple(found)

    def items(self, name: str, *, items_max: int) -> list[Any] | None:
        """Read a list."""
        if not self.has(name):
            return None
        value = self.value[name]
        if not isinstance(value, list):
            self.add(name, f"{shown(value)} is not a list", "write a list: `[one, two]`, or one `- item` per line")
            return None
        if len(value) > items_max:
            self.add(name, f"{len(value)} entries, the limit is {items_max}", "split them")
            return None
        return value

    def inner(self, name: str) -> Fields | None:
        """Read a mapping."""
        return self.mapping(self.value[name], self.at(name)) if self.has(name) else None

    def objects(self, name: str, *, items_max: int) -> Iterator[Fields]:
        """Read a list of mappings; what is none is noted and left out."""
        for index, item in enumerate(self.items(name, items_max=items_max) or ()):
            inner = self.mapping(item, (*self.at(name), index))
            if inner is not None:
                yield inner

    def mapping(self, value: Any, path: FieldPath) -> Fields | None:
        """Wrap a value that should be a mapping with text for keys."""
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            return Fields(value=value, path=path, problems=self.problems, row=self.row)
        self.problems.add(path, f"{shown(value)} is not a mapping", "write `key: value` lines")
        return None


def text_fact(value: Any, *, characters_max: int) -> str | None:
    """Return why a value is not text that can be kept and passed on; None where it is."""
    if not isinstance(value, str):
        return f"{shown(value)} is not text"
    if len(value) > characters_max:
        return f"{len(value)} characters, the limit is {characters_max}"
    if "\0" in value:
        return "it holds a NUL character, which no program accepts"
    if not value.isascii() and any(ord(character) in SURROGATES for character in value):
        return "it holds half of a surrogate pair, which no file can keep"
    return None


def shown(value: Any) -> str:
    """Write a value for a message, short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return repr(value if len(value) <= SHOWN_CHARACTERS_MAX else value[: SHOWN_CHARACTERS_MAX - 1] + "…")
        case _:
            return str(value)[:SHOWN_CHARACTERS_MAX]


def nearest(value: Any, known: Collection[str], *, otherwise: str = "") -> str:
    """Return a hint that names the known word that a person probably meant."""
    if isinstance(value, str) and len(value) <= SHOWN_CHARACTERS_MAX:
        for match in difflib.get_close_matches(value.casefold(), known, n=1):
            return f"did you mean `{match}`?"
    return otherwise
