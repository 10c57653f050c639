"""Writes the JSON Schema of launch tables from the reader's own table of fields: for the package, and for readers."""

from __future__ import annotations

import json
from pathlib import Path

from teamster.intake import SCHEMA_FILE, launch_table_schema

PUBLISHED = Path(__file__).resolve().parents[1] / "schemas" / SCHEMA_FILE.name


def render() -> str:
    """Write the schema as its files hold it."""
    return json.dumps(launch_table_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path in (SCHEMA_FILE, PUBLISHED):
        path.write_text(render(), encoding="utf-8")
