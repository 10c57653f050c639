"""Where values stand in a text that a parser has taken: brackets, keys and commas say it; nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from teamster.intake.parsed import FieldPath

Token = tuple[str, int]
Found = tuple[FieldPath, int]
NEWLINE = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """What two languages say differently about a mapping: `equals` stands behind a key, `unquoted` reads one."""

    equals: str
    unquoted: Callable[[str], str]

    def keys(self, tokens: Iterator[Token], first: Token, *, end: str | None = None) -> tuple[str, ...]:
        """Read one key, or several with dots, up to `end`, which is what stands behind a key."""
        keys, token = [], first
        while token[0] != (end or self.equals):
            if token[0] not in {".", NEWLINE}:
                keys.append(self.unquoted(token[0]))
            token = next(tokens)
        return tuple(keys)

    def value(self, tokens: Iterator[Token], path: FieldPath) -> Iterator[Found]:
        """Yield where one value stands, and all within it; it ends with its line, or with the text."""
        inside: list[tuple[FieldPath, int | None]] = []  # of each list: its path and the place; of a mapping: None
        for token in tokens:
            sign, offset = token
            if sign == NEWLINE:
                if not inside:
                    return
            elif sign in {"[", "{"}:
                yield path, offset
                inside.append((path, 0 if sign == "[" else None))
                path = (*path, 0) if sign == "[" else path
            elif sign in {"]", "}"}:
                path = inside.pop()[0]
            elif sign == ",":
                above, index = inside[-1]
                inside[-1] = (above, None if index is None else index + 1)
                path = above if index is None else (*above, index + 1)
            elif inside and inside[-1] == (path, None):
                path = (*path, *self.keys(tokens, token))
                yield path, offset
            else:
                yield path, offset


def placed(text: str, source: str, find: Callable[[], Iterator[Found]]) -> Callable[[FieldPath], str]:
    """Return what tells a path's place, or that of the nearest thing around it; `find` is called once, if at all."""

    @cache
    def offsets() -> Mapping[FieldPath, int]:
        first: dict[FieldPath, int] = {}
        for path, offset in find():
            first.setdefault(path, offset)  # a key stands before its value
        return first

    def place(path: FieldPath) -> str:
        known = (offsets().get(path[:length]) for length in range(len(path), -1, -1))
        return at(text, source, next((offset for offset in known if offset is not None), 0))

    return place


def at(text: str, source: str, offset: int) -> str:
    """Write an offset as file, line and column."""
    line = text.count(NEWLINE, 0, offset) + 1
    return f"{source}:{line}:{offset - text.rfind(NEWLINE, 0, offset)}"
