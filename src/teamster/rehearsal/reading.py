"""Read a scenario that somebody wrote: every problem at once, each with its place."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from teamster.model import Table, UsageError
from teamster.rehearsal.draw import SEED_MAX, Draw
from teamster.rehearsal.moves import MOVES, check_names, read_words
from teamster.rehearsal.scenario import Condition, Ending, Line, Loop, Rule, Scenario
from teamster.rehearsal.yaml_source import Document, Place, read_yaml

ATTEMPTS_MAX: Final = 1000
NAMES_MAX: Final = 1000

CONDITIONS: Final = {
    "if_seen": (True, False),
    "unless_seen": (False, False),
    "if_remembered": (True, True),
    "unless_remembered": (False, True),
}
"""Each condition of a move: whether the text is wanted, and whether only earlier turns count."""

_MATCH: Final = re.compile(r"\*|[^.\s]+\.[^.\s]+")


def read_scenario(path: Path) -> Scenario:
    """Read a scenario's file, in YAML or JSON.

    Raises:
        TableProblems: it can't be played; every problem is named with its place.
        UsageError: it can't be read.
    """
    return load_scenario(read_text(path), str(path))


def read_text(path: Path) -> str:
    """Read the text of a scenario's file.

    Raises:
        UsageError: there is no such file, or it is no text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is no text in UTF-8", hint="a scenario is YAML or JSON") from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {(error.strerror or str(error)).lower()}", hint=_hint(path)) from error


def load_scenario(text: str, source: str) -> Scenario:
    """Read a scenario in YAML or JSON.

    Raises:
        TableProblems: it can't be played.
    """
    document = read_yaml(text, source)
    scenario = _scenario(document, document.value)
    document.refuse_if_wrong()
    return scenario


def idle_rules(scenario: Scenario, table: Table) -> tuple[str, ...]:
    """Say of each rule that fits no step of a table that it does nothing, and what it may have meant."""
    steps = [f"{job.job_id}.{step.step_id}" for job in table.jobs for step in job.steps]
    told = []
    for number, rule in enumerate(scenario.rules, start=1):
        if not any(rule.is_for(step) for step in steps):
            near = difflib.get_close_matches(rule.match, steps[:NAMES_MAX], n=1, cutoff=0.0)
            told.append(f"rules[{number}].match: {rule.match} fits no step of the table; nearest is {near[0]}")
    return tuple(told)


def _hint(path: Path) -> str:
    """Name the scenario in the same folder that a person probably meant."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(NAMES_MAX), strict=False)]
    except (OSError, ValueError):
        return "check the path"
    near = [] if path.name in names else difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / near[0]}?" if near else "name a YAML or JSON file that you can read"


def _scenario(document: Document, value: Any) -> Scenario:
    if value is None:
        return Scenario()
    if not isinstance(value, Mapping):
        document.report((), "is no mapping", "it begins with `rules:`")
        return Scenario()
    check_names(document, (), value, {"seed", "rules"})
    rules = value.get("rules") or []
    if not isinstance(rules, list):
        document.report(("rules",), "is no list")
        return Scenario()
    made = (_rule(document, ("rules", index), rule) for index, rule in enumerate(rules))
    return Scenario(tuple(rule for rule in made if rule is not None), Draw(_seed(document, value.get("seed", 0))))


def _seed(document: Document, value: Any) -> int:
    if type(value) is int and 0 <= value <= SEED_MAX:
        return value
    document.report(("seed",), f"is {value!r}", f"write a whole number from 0 to {SEED_MAX}")
    return 0


def _chance(document: Document, path: Place, value: Any) -> float:
    if type(value) in {int, float} and 0 <= value <= 1:
        return float(value)
    document.report(path, f"is {value!r}", "write a share from 0 to 1: 0.1 is one attempt in ten")
    return 1.0


def _rule(document: Document, path: Place, value: Any) -> Rule | None:
    if not isinstance(value, Mapping):
        document.report(path, "is no mapping", "a rule has `match`, `attempt`, `chance` and `moves`")
        return None
    check_names(document, path, value, {"match", "attempt", "chance", "moves"})
    match = value.get("match", "*")
    if not isinstance(match, str) or not _MATCH.fullmatch(match):
        document.report((*path, "match"), f"is {match!r}, which names no step", "write `job.step`; `*` stands for any")
        match = "*"
    return Rule(
        match=match,
        attempts=_attempts(document, (*path, "attempt"), value.get("attempt", [])),
        lines=_lines(document, (*path, "moves"), value.get("moves", [])),
        chance=_chance(document, (*path, "chance"), value.get("chance", 1)),
    )


def _attempts(document: Document, path: Place, value: Any) -> frozenset[int]:
    numbers = value if isinstance(value, list) else [value]
    if all(type(number) is int and 1 <= number <= ATTEMPTS_MAX for number in numbers):
        return frozenset(numbers)
    document.report(
        path, f"is {value!r}", f"write 1 for the first attempt, or a list such as [2, 3]; {ATTEMPTS_MAX} at most"
    )
    return frozenset()


def _lines(document: Document, path: Place, value: Any) -> tuple[Line, ...]:
    if not isinstance(value, list):
        document.report(path, "is no list", "each move is a line such as `- say: hello`")
        return ()
    lines: list[Line] = []
    for index, move in enumerate(value):
        if lines and isinstance(lines[-1].move, Ending | Loop) and not lines[-1].conditions:
            document.report((*path, index), "is never reached", "nothing comes after the move before it")
            break
        line = _line(document, (*path, index), move)
        if line is not None:
            lines.append(line)
    return tuple(lines)


def _line(document: Document, path: Place, value: Any) -> Line | None:
    if not isinstance(value, Mapping):
        document.report(path, "is no move", "write one such as `- say: hello`")
        return None
    check_names(document, path, value, {*MOVES, *CONDITIONS})
    names = [name for name in value if name in MOVES]
    if not names and set(value) - set(CONDITIONS):
        return None  # what stands there instead is reported by its name
    if len(names) != 1:
        fact = f"has {len(names)} moves: {', '.join(names)}" if names else "has no move"
        document.report(path, fact, f"write one of {', '.join(MOVES)}")
        return None
    conditions = []
    for name, (is_wanted, is_remembered) in CONDITIONS.items():
        if name in value:
            text = read_words(document, (*path, name), value[name], placeholders=False)
            conditions.append(Condition(text=text, is_wanted=is_wanted, is_remembered=is_remembered))
    move = MOVES[names[0]](document, (*path, names[0]), value[names[0]])
    return None if move is None else Line(move, tuple(conditions))
