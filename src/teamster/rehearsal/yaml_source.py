"""YAML by the rules of version 1.2, each value with its place.

Only `true` and `false` are booleans, dates are text, a number has no leading zero, and a key stands once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from teamster.model import Problem, TableProblems

CHARACTERS_MAX: Final = 4_000_000
VALUES_MAX: Final = 200_000
DEPTH_MAX: Final = 64

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}

Place = tuple[str | int, ...]


@dataclass
class Document:
    """A value that somebody wrote, and where each part of it stands."""

    source: str
    value: Any = None
    marks: dict[Place, tuple[int, int]] = field(default_factory=dict)
    problems: list[tuple[tuple[int, int], Problem]] = field(default_factory=list)

    def place(self, path: Place) -> str:
        """Return `file:line:column` of a part, or of what should hold it."""
        line, column = self._mark(path)
        return f"{self.source}:{line}:{column}" if line else self.source

    def report(self, path: Place, fact: str, hint: str = "") -> None:
        """Keep a problem."""
        problem = Problem(place=self.place(path), field=dotted(path), fact=fact, hint=hint)
        self.problems.append((self._mark(path), problem))

    def refuse_if_wrong(self) -> None:
        """Raise all problems at once, in the order of the text.

        Raises:
            TableProblems: there is one at least.
        """
        if self.problems:
            in_order = sorted(self.problems, key=lambda found: found[0])
            raise TableProblems(self.source, [problem for _, problem in in_order])

    def _mark(self, path: Place) -> tuple[int, int]:
        while path not in self.marks and path:
            path = path[:-1]
        return self.marks.get(path, (0, 0))


def dotted(path: Place) -> str:
    """Write a path as people read it: `rules[2].moves[1].run`."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "scenario"


def read_yaml(text: str, source: str) -> Document:
    """Read one document.

    Raises:
        TableProblems: it is no YAML, or too large.
    """
    document = Document(source)
    if len(text) > CHARACTERS_MAX:
        document.report((), f"is longer than {CHARACTERS_MAX} characters")
        document.refuse_if_wrong()
    try:
        node = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = source if mark is None else f"{source}:{mark.line + 1}:{mark.column + 1}"
        fact = getattr(error, "problem", None) or str(error)
        hint = "in single quotes a backslash stands for itself" if "escape" in fact else ""
        raise TableProblems(source, [Problem(place=place, field="yaml", fact=fact, hint=hint)]) from error
    if node is not None:
        document.value = _Reader(document).value(node, ())
    document.refuse_if_wrong()
    return document


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = VALUES_MAX  # an alias may stand for many values, again and again

    def value(self, node: yaml.Node, path: Place) -> Any:
        document = self._document
        mark = node.start_mark
        document.marks[path] = (mark.line + 1, mark.column + 1)
        self._left -= 1
        if self._left < 0 or len(path) > DEPTH_MAX:
            document.report(path, f"holds more than {VALUES_MAX} values or {DEPTH_MAX} levels")
            document.refuse_if_wrong()
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, path)

    def _pairs(self, node: yaml.MappingNode, path: Place) -> Iterator[tuple[str, Any]]:
        names: set[str] = set()
        for key, child in node.value:
            name = str(key.value)
            if not isinstance(key, yaml.ScalarNode):
                self._document.report(path, "has a key that is no word")
                continue
            value = self.value(child, (*path, name))
            if name in names:
                self._document.report((*path, name), "stands here twice")
            names.add(name)
            yield name, value

    def _scalar(self, node: yaml.Node, path: Place) -> Any:
        text = str(node.value)
        if getattr(node, "style", None):  # quoted, or a block; a plain one has none, or an empty one
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            if len(text) > DEPTH_MAX:
                self._document.report(path, "is a number with too many digits")
                return 0
            return int(text)
        return float(text) if _NUMBER.fullmatch(text) else text
