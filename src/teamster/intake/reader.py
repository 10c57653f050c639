"""Opens a launch table in a file, in whatever form it is written."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from teamster.intake.files import Unreadable, as_text, read_regular
from teamster.intake.json import parse_json
from teamster.intake.limits import LIMITS, Limits
from teamster.intake.parsed import Parsed
from teamster.intake.tables import understood
from teamster.intake.toml import parse_toml
from teamster.intake.yaml import parse_yaml
from teamster.kit import one_line
from teamster.model import Table, TableDefaults, UsageError

PARSERS = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_json, ".toml": parse_toml}
PATH_CHARACTERS_MAX = 300
NAMES_MAX = 1000


def read_table(
    path: Path,
    *,
    defaults: TableDefaults,
    new: str | None = None,
    root: Path | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """Read a launch table from a YAML, JSON or TOML file, with the prompts and schemas that it names.

    `new` becomes the end of the batch's id, so that the same table makes another batch. No job may work in the
    folders that Teamster keeps below `root`.

    Raises:
        TableProblems: all that is wrong with the table, each with its place.
        UsageError: there is no such file, it is of no known form, or `new` can't end an id.
    """
    try:
        text = as_text(read_regular(path, bytes_max=limits.table_bytes_max), path)
    except (Unreadable, ValueError) as error:
        raise UsageError(_shown(str(error)), hint=_hint(path)) from error
    return table_from(text, path=path, defaults=defaults, new=new, root=root, limits=limits)


def table_from(
    text: str,
    *,
    path: Path,
    defaults: TableDefaults,
    new: str | None = None,
    root: Path | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """Read a launch table from text; `path` says its form, its name, and what names in it are relative to.

    Raises:
        TableProblems: all that is wrong with the table, each with its place.
        UsageError: `path` is of no known form, or `new` can't end an id.
    """
    form = path.suffix.lower()
    if form not in PARSERS:
        raise _unknown_form(path)
    parsed: Parsed = PARSERS[form](text, source=_shown(str(path)), limits=limits)
    # The name is the one that a person gave it, even where it is a link; the folder is the real one.
    known_as = Path(os.path.realpath(path.parent)) / path.name
    return understood(parsed, path=known_as, defaults=defaults, new=new, root=root, limits=limits)


def _unknown_form(path: Path) -> UsageError:
    fact = f"{_shown(str(path))} is of no known form"
    return UsageError(fact, hint=f"name it {', '.join(PARSERS)}, as it is written")


def _hint(path: Path) -> str:
    """Name the table in the same folder that a person probably meant."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(NAMES_MAX), strict=False)]
    except (OSError, ValueError):
        return "check the path"
    if path.name in names:
        return "a table is a plain UTF-8 file that you can read"
    tables = [name for name in names if Path(name).suffix.lower() in PARSERS]
    for match in difflib.get_close_matches(path.name, tables, n=1):
        return f"did you mean {_shown(str(path.parent / match))}?"
    return f"tables there: {', '.join(sorted(tables)[:5])}" if tables else "check the path"


def _shown(text: str) -> str:
    return one_line(text, characters_max=PATH_CHARACTERS_MAX)
