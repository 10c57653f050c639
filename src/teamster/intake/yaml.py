"""Reads YAML by the core rules of 1.2, from the events of the C parser.

Only `true` and `false` are booleans; there are no dates, no octal, no merge keys, no tags but `!!str`. We compose
the events ourselves, without recursion, so that depth and the size of expanded aliases are bounded as they come.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from teamster.intake.limits import Limits
from teamster.intake.parsed import PROBLEMS_MAX, FieldPath, Parsed, refuse, written
from teamster.model import Problem

STR_TAGS = {"!", "tag:yaml.org,2002:str"}
INT_DIGITS_MAX = 18
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "false": False}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

Mark = tuple[int, int]


@dataclass(slots=True)
class Node:
    """A value and where it stands. `size` and `height` count what its aliases expand to."""

    value: Any
    mark: Mark
    children: dict[str | int, tuple[Mark, Node]] = field(default_factory=dict)
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    node: Node
    anchor: str | None
    key: tuple[str, Mark] | None = None


def parse_yaml(text: str, *, source: str, limits: Limits) -> Parsed:
    """Parse a table in YAML.

    Raises:
        TableProblems: it is not YAML, or can't be read on.
    """
    composer = _Composer(source, limits)
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = source if mark is None else f"{source}:{mark.line + 1}:{mark.column + 1}"
        refuse(source, place, f"it is not YAML: {error.problem}", "check indentation, quotes and colons there")
    except yaml.YAMLError as error:
        refuse(source, source, f"it is not YAML: {str(error).splitlines()[0]}", "it must be plain text in UTF-8")
    return composer.finish()


class _Composer:
    """Turns events into nodes, and notes what is wrong on the way."""

    def __init__(self, source: str, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._root: Node | None = None
        self._open: list[_Open] = []
        self._anchors: dict[str, Node] = {}
        self._aliases = 0
        self._documents = 0
        self._problems: list[Problem] = []

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.SequenceStartEvent():
                self._start([], event)
            case yaml.MappingStartEvent():
                self._start({}, event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse(_mark(event), "a second document begins", "one file holds one table")
            case _:
                pass

    def finish(self) -> Parsed:
        """Return the value of the document, with what was noted on the way.

        Raises:
            TableProblems: there is no document.
        """
        root = self._root
        if root is None:
            refuse(self._source, self._source, "it is empty", "write a table: docs/launch-table.md has an example")
        return Parsed(
            source=self._source,
            value=root.value,
            place=lambda path: self._place(mark_of(root, path)),
            noted=tuple(self._problems),
        )

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        mark = _mark(event)
        plain = event.tag is None and event.implicit[0]
        if self._awaits_key():
            self._key(event.value, mark, is_text=not plain or isinstance(_resolved(event.value), str))
            return
        node = Node(_resolved(event.value) if plain else event.value, mark)
        if event.tag is not None and event.tag not in STR_TAGS:
            self._problem(mark, f"the tag {event.tag:.60} means nothing here", "leave the tag out")
        elif plain and isinstance(node.value, float) and not math.isfinite(node.value):
            self._problem(mark, f"{event.value:.40} is no number that can be kept exactly", "quote it, or write less")
        self._place_node(node, event.anchor)

    def _key(self, text: str, mark: Mark, *, is_text: bool) -> None:
        top = self._open[-1]
        top.key = (text, mark)
        if text == "<<":
            self._problem(mark, "merge keys are not part of YAML 1.2", "write the fields out, or set them further up")
        elif not is_text:
            self._problem(mark, f"the key {text:.40} is not text", "quote it")
        elif text in top.node.children:
            line, column = top.node.children[text][0]
            self._problem(mark, f"the key stands twice, first at {line}:{column}", "keep one of them")

    def _start(self, value: Any, event: yaml.CollectionStartEvent) -> None:
        mark = _mark(event)
        if self._awaits_key():
            self._refuse(mark, "a list or mapping can't be a key", "a key is text")
        if event.tag is not None and event.tag != "!":
            self._problem(mark, f"the tag {event.tag:.60} means nothing here", "leave the tag out")
        self._open.append(_Open(Node(value, mark), event.anchor))
        self._bound(mark, depth=len(self._open))

    def _end(self) -> None:
        done = self._open.pop()
        self._place_node(done.node, done.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        mark = _mark(event)
        self._aliases += 1
        target = self._anchors.get(event.anchor or "")
        if self._awaits_key():
            self._refuse(mark, "an alias can't be a key", "write the key out")
        if target is None:
            self._refuse(mark, f"nothing that ends before here is called &{event.anchor:.40}", "define it further up")
        if self._aliases > self._limits.aliases_max:
            self._refuse(mark, f"there are more than {self._limits.aliases_max} aliases", "write some of them out")
        self._bound(mark, depth=len(self._open) + target.height - 1)
        self._place_node(target, None)

    def _place_node(self, node: Node, anchor: str | None) -> None:
        """Put a finished node where it belongs; an alias is counted with all that it stands for."""
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self._root = node
            return
        top = self._open[-1]
        key, mark = self._next_key(top, node)
        top.node.children[key] = (mark, node)
        if isinstance(top.node.value, dict):
            top.node.value[key] = node.value
        else:
            top.node.value.append(node.value)
        top.key = None
        top.node.size += node.size
        top.node.height = max(top.node.height, node.height + 1)
        if top.node.size > self._limits.nodes_max:
            fact = f"it has more than {self._limits.nodes_max} values, aliases expanded"
            self._refuse(mark, fact, "split the batch into several tables")

    def _next_key(self, top: _Open, node: Node) -> tuple[str | int, Mark]:
        return (len(top.node.children), node.mark) if top.key is None else top.key

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].node.value, dict) and self._open[-1].key is None

    def _bound(self, mark: Mark, *, depth: int) -> None:
        if depth > self._limits.depth_max:
            fact = f"it is nested deeper than {self._limits.depth_max} levels"
            self._refuse(mark, fact, "a launch table needs five or six")

    def _path(self) -> FieldPath:
        parts: list[str | int] = []
        for level in self._open:
            if level.key is not None:
                parts.append(level.key[0])
            elif isinstance(level.node.value, list):
                parts.append(len(level.node.children))
        return tuple(parts)

    def _place(self, mark: Mark) -> str:
        return f"{self._source}:{mark[0]}:{mark[1]}"

    def _problem(self, mark: Mark, fact: str, hint: str) -> None:
        if len(self._problems) < PROBLEMS_MAX:
            field = written(self._path())
            self._problems.append(Problem(place=self._place(mark), field=field, fact=fact, hint=hint))

    def _refuse(self, mark: Mark, fact: str, hint: str) -> NoReturn:
        refuse(self._source, self._place(mark), fact, hint, path=self._path())


def mark_of(root: Node, path: FieldPath) -> Mark:
    """Return where a field stands, or the nearest thing around it that is there."""
    node, mark = root, root.mark
    for part in path:
        if part not in node.children:
            break
        mark, node = node.children[part]
    return mark


def _mark(event: yaml.Event) -> Mark:
    mark = event.start_mark
    assert mark is not None, "the C parser marks every event"
    return mark.line + 1, mark.column + 1


def _resolved(text: str) -> Any:
    """Read a plain scalar. A number that can't be kept exactly comes back as infinity, which the caller refuses."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text) if len(text.lstrip("+-")) <= INT_DIGITS_MAX else math.inf
    if _NOT_FINITE.fullmatch(text):
        return math.inf
    return float(text) if _FLOAT.fullmatch(text) else text
