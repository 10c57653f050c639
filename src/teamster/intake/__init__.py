"""What a person wrote, turned into values: launch tables in YAML, JSON and TOML, or one prompt.

May touch the files that a person named: tables, prompts, schemas. Must not write to the store, or anywhere: it hands
back values, operations submit them.
"""

from teamster.intake.comparison import changed_steps
from teamster.intake.limits import LIMITS, Limits
from teamster.intake.names import batch_stem
from teamster.intake.oneoff import one_job
from teamster.intake.reader import read_table, table_from
from teamster.intake.shapes import SCHEMA_FILE, launch_table_schema

__all__ = [
    "LIMITS",
    "SCHEMA_FILE",
    "Limits",
    "batch_stem",
    "changed_steps",
    "launch_table_schema",
    "one_job",
    "read_table",
    "table_from",
]
