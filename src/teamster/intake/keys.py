"""The keys that a table knows, level by level, and those that a later version will know."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from teamster.intake.fields import Fields, nearest
from teamster.intake.parsed import FieldPath
from teamster.intake.shapes import SHAPES

EXTENSION_PREFIX: Final = "x-"
NAMES_SHOWN_MAX: Final = 10
VOWELS: Final = "aeiou"
LEVELS: Final[Mapping[str, tuple[str, ...]]] = {level: tuple(shapes) for level, shapes in SHAPES.items()}

LATER_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "workspace_policy.mode": {
        "isolated": "isolated workspaces, in a later version: until then give each job a directory of its own",
    },
    "retry_policy.mode": {
        "resume_last_attempt": "retries that resume, in a later version: until then each try begins a new conversation",
    },
    "resume_from.selector": {
        "run_id": "the command `teamster resume`, in a later version: no run exists when a table is written",
    },
}


def later_fact(feature: str) -> str:
    """Say of something known that it isn't there yet, and what it waits for."""
    return f"known but not yet supported; it waits for {feature}"


def check_keys(fields: Fields, level: str) -> None:
    """Note every key that this level does not have."""
    known = LEVELS[level]
    for name in fields.value:
        if name in known or name.startswith(EXTENSION_PREFIX):
            continue
        fact = f"{'an' if level[0] in VOWELS else 'a'} {level} has no such key"
        fields.add(name, fact, partial(_hint, name, level))


def choose(fields: Fields, name: str, options: Collection[str], *, later: str) -> str | None:
    """Read one of a few words, of which some come later; `later` is the key in `LATER_VALUES`."""
    waiting = LATER_VALUES[later]
    value = fields.value.get(name)
    if isinstance(value, str) and value in waiting:
        fields.add(name, f"{value} is {later_fact(waiting[value])}", f"choose {' or '.join(options)}")
        return None
    return fields.choice(name, options)


def only_one(fields: Fields, names: tuple[str, str]) -> bool:
    """Note it where two keys say the same thing; tell whether that is so."""
    first, second = names
    if not (fields.has(first) and fields.has(second)):
        return False
    fields.add(second, f"`{first}` and `{second}` both stand here", "keep one of them")
    return True


def missing(fields: Fields, name: str, hint: str) -> None:
    """Note a field that has to be there."""
    fields.add(name, "it is missing", hint)


def unknown_name(
    fields: Fields, path: FieldPath, name: str, *, kind: str, known: Collection[str], nothing: str
) -> None:
    """Note a reference to something that the table does not have."""
    shown = ", ".join(sorted(known)[:NAMES_SHOWN_MAX])
    otherwise = f"known are {shown}" if known else nothing
    hint = partial(nearest, name, known, otherwise=otherwise)
    fields.problems.add(path, f"there is no {kind} {name!r}", hint)


def _hint(name: str, level: str) -> str:
    close = nearest(name, LEVELS[level])
    if close:
        return close
    homes = [other for other, keys in LEVELS.items() if name in keys]
    if homes:
        return f"it belongs to: {', '.join(homes)}"
    return f"known are {', '.join(LEVELS[level])}; keys of your own begin with `{EXTENSION_PREFIX}`"
