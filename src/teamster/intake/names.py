"""Ids: read or assigned, none twice, and the id of a batch that has none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from teamster.intake.fields import Fields
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, written
from teamster.intake.rows import NUMBER, as_id
from teamster.model import ID_RULE, BatchId, Table, UsageError, is_id

STEM_CHARACTERS_MAX = 40
DIGEST_CHARACTERS = 12
SUFFIX_CHARACTERS_MAX = 10
ID_CHARACTERS_MAX = 64
UNNAMED = "batch"
_OTHER = re.compile(r"[^a-z0-9_]+")


def read_id(fields: Fields, name: str, limits: Limits) -> str | None:
    """Read an id that may be missing; what a row puts into it is made to fit."""
    text = fields.text(name, characters_max=limits.text_characters_max, fit=as_id)
    if text is None or is_id(text):
        return text
    close = slug(text, otherwise="")
    fields.add(name, f"{text!r:.80} is no id: {ID_RULE}", f"write `{close}`" if close else "")
    return None


def assign_ids(items: Sequence[Fields], name: str, prefix: str, limits: Limits) -> list[str]:
    """Return the id of each, `prefix` and its place where it has none; noted are those that stand twice."""
    found: list[str] = []
    first: dict[str, int] = {}
    told: set[tuple[FieldPath, str]] = set()
    for index, fields in enumerate(items):
        given = read_id(fields, name, limits)
        raw = fields.value.get(name)
        # What is no id still is what others call it: they shall not be told that it isn't there.
        text = given or (_filled(fields, raw) if isinstance(raw, str) and raw else _numbered(fields, prefix))
        taken = first.setdefault(text.casefold(), index)
        if taken != index and (fields.path, text) not in told:
            told.add((fields.path, text))
            _note_twins(fields, items[taken], name, text, found[taken], given=given is not None)
        found.append(text)
    return found


def _filled(fields: Fields, text: str) -> str:
    return text if fields.row is None else fields.row.filled(text, lambda _: None, fit=as_id)


def _numbered(fields: Fields, prefix: str) -> str:
    """Name a job or step by its place, and the jobs of a template by their rows too."""
    of_template = fields.row is not None and prefix == "job"
    place = int(fields.path[-1]) + 1
    return f"{prefix}{place}-{fields.row.number}" if of_template and fields.row else f"{prefix}{place}"


def _note_twins(fields: Fields, other: Fields, name: str, text: str, known: str, *, given: bool) -> None:
    same = "is taken" if known == text else f"differs from {known!r} only by case"
    if other.path == fields.path and other.row is not None and fields.row is not None:
        fact = f"rows {other.row.number} and {fields.row.number} have one id: {text!r} {same}"
        fields.problems.everywhere().add(
            fields.at(name), fact, f"put a column into it that differs, or `{{{NUMBER}}}`, the number of the row"
        )
        return
    hint = "choose another" if given else f"give this one a `{name}` of its own"
    fields.add(name, f"{text!r} {same}: see {written(other.at(name))}", hint)


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
