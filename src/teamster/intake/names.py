"""Ids: read or assigned, none twice, and the id of a batch that has none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from teamster.intake.fields import Fields
from teamster.intake.limits import Limits
from teamster.intake.parsed import written
from teamster.model import ID_RULE, BatchId, Table, UsageError, is_id

STEM_CHARACTERS_MAX = 40
DIGEST_CHARACTERS = 12
SUFFIX_CHARACTERS_MAX = 10
ID_CHARACTERS_MAX = 64
UNNAMED = "batch"
_OTHER = re.compile(r"[^a-z0-9_]+")


def read_id(fields: Fields, name: str, limits: Limits) -> str | None:
    """Read an id that may be missing."""
    text = fields.text(name, characters_max=limits.text_characters_max)
    if text is None or is_id(text):
        return text
    close = slug(text, otherwise="")
    fields.add(name, f"{text!r:.80} is no id: {ID_RULE}", f"write `{close}`" if close else "")
    return None


def assign_ids(items: Sequence[Fields], name: str, prefix: str, limits: Limits) -> list[str]:
    """Return the id of each, `prefix` and its number where it has none; noted are those that stand twice."""
    found: list[str] = []
    first: dict[str, int] = {}
    for index, fields in enumerate(items):
        given = read_id(fields, name, limits)
        raw = fields.value.get(name)
        # What is no id still is what others call it: they shall not be told that it isn't there.
        text = given or (raw if isinstance(raw, str) and raw else f"{prefix}{index + 1}")
        taken = first.setdefault(text.casefold(), index)
        if taken != index:
            place = written(items[taken].at(name))
            same = "is taken" if found[taken] == text else f"differs from {found[taken]!r} only by case"
            hint = "choose another" if given else f"give this one a `{name}` of its own"
            fields.add(name, f"{text!r} {same}: see {place}", hint)
        found.append(text)
    return found


def slug(text: str, *, otherwise: str = UNNAMED) -> str:
    """Make a short name of a text, in the grammar of ids."""
    name = _OTHER.sub("-", text.casefold()).lstrip("-_")[:STEM_CHARACTERS_MAX].rstrip("-_")
    return name or otherwise


def batch_stem(path: Path) -> str:
    """Return what the ids of all batches from this file begin with, where the table itself gives none."""
    return slug(path.stem)


def check_suffix(new: str | None) -> None:
    """Refuse what can't be the end of an id.

    Raises:
        UsageError: it is empty, too long, or has other characters than an id.
    """
    if new is not None and not (is_id(new) and len(new) <= SUFFIX_CHARACTERS_MAX):
        fact = f"{new!r:.40} can't end the id of a batch"
        raise UsageError(fact, hint=f"use 1 to {SUFFIX_CHARACTERS_MAX} letters and digits")


def batch_id_of(given: str | None, *, stem: str, table: Table, new: str | None) -> BatchId:
    """Return the given id, else stem and digest; `new` makes another one of it."""
    name = given or f"{stem}-{table.digest[:DIGEST_CHARACTERS]}"
    if new is None:
        return BatchId(name)
    return BatchId(f"{name[: ID_CHARACTERS_MAX - len(new) - 1]}-{new}")
