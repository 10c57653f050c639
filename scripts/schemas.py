"""Write `schemas/` and the tables of `docs/contract-v1.md` from `teamster.model`: they can't differ from the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from teamster.kit import write_snapshot
from teamster.model import (
    COMMANDS,
    EVENT,
    FORMS,
    MOVES,
    RECORD,
    RUN_REPORT_SCHEMA,
    STATUS_FIELDS,
    Form,
    ItemStatus,
)

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "schemas"
PAGE = ROOT / "docs" / "contract-v1.md"
FILE_MODE = 0o644
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TABLE = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def schemas() -> dict[str, Mapping[str, Any]]:
    """Return each schema that ships, by the name of its file."""
    return {
        "contract_v1_event.schema.json": _document(EVENT),
        "contract_v1_record.schema.json": _document(RECORD, parts=[form for form in FORMS if form is not RECORD]),
        "run_report.schema.json": RUN_REPORT_SCHEMA,
    }


def written(schema: Mapping[str, Any]) -> str:
    """Write a schema as its file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def tables() -> dict[str, str]:
    """Return each table of the page, by its name."""
    return {
        **{form.form: _table(["member", "required", "form", "meaning"], _member_rows(form)) for form in FORMS},
        "statuses": _table(["status", "owner", "lease", "result", "error"], _status_rows()),
        "moves": _table(["verb", "from", "to", "event", "who"], _move_rows()),
        "commands": _table(["command", "its target names", "role that usually takes it"], _command_rows()),
    }


def render(page: str) -> str:
    """Return the page with its tables as they should be."""
    made = tables()
    return _TABLE.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n{found[3]}", page)


def _document(form: Form, *, parts: Iterable[Form] = ()) -> dict[str, Any]:
    definitions = {part.form: part.schema() for part in parts}
    return {
        "$schema": DIALECT,
        "title": f"Contract v1: {form.form}",
        **form.schema(),
        **({"$defs": definitions} if definitions else {}),
    }


def _member_rows(form: Form) -> Iterator[list[str]]:
    for name, field in form.fields.items():
        yield [f"`{name}`", "yes" if field.required else "no", field.shape.form, field.about]


def _status_rows() -> Iterator[list[str]]:
    for status, there in STATUS_FIELDS.items():
        yield [f"`{status}`", *("yes" if name in there else "no" for name in ("owner", "lease", "result", "error"))]


def _move_rows() -> Iterator[list[str]]:
    for verb, move in MOVES.items():
        who = "its owner" if move.owned else "anybody"
        yield [
            f"`{verb}`",
            ", ".join(f"`{status}`" for status in ItemStatus if status in move.sources) or "nothing",
            f"`{move.to}`" if move.to else "the same",
            f"`{move.event}`",
            f"{who}; extension" if move.extension else who,
        ]


def _command_rows() -> Iterator[list[str]]:
    for name, command in COMMANDS.items():
        yield [f"`{name}`", ", ".join(f"`{need}`" for need in command.needs) or "-", f"`{command.role}`"]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    contents = {FOLDER / name: written(schema) for name, schema in schemas().items()}
    contents[PAGE] = render(PAGE.read_text(encoding="utf-8"))
    for path, content in contents.items():
        write_snapshot(path, content.encode(), mode=FILE_MODE)
        print(f"wrote {path}")
