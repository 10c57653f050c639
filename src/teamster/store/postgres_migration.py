"""The schema of a PostgreSQL database: made, brought up to date, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from teamster.model import UsageError
from teamster.store.postgres_connection import PostgresDatabase
from teamster.store.postgres_schema import MIGRATIONS

MIGRATION_LOCK: Final = 0x7465616D_0001  # "team": of the transaction that migrates
_VERSION: Final = "SELECT version FROM teamster_schema"
_MAKE_VERSION: Final = """
CREATE TABLE IF NOT EXISTS teamster_schema (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version integer)
"""
_LOOK: Final = """
SELECT to_regclass('teamster_schema') IS NOT NULL, current_setting('server_encoding'), EXISTS (
  SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind IN ('r', 'p')
)
"""


def bring_up_to_date(database: PostgresDatabase, *, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Make the schema or migrate it, in one transaction; who comes second finds the work done.

    Raises:
        UsageError: the database belongs to another program or to a newer version, or can't hold our texts.
        StoreUnavailable: it can't be reached or written.
    """
    if _found(database, newest=len(migrations)) == len(migrations):
        return

    def migrate() -> None:
        database.rows("SELECT pg_advisory_xact_lock(?)", (MIGRATION_LOCK,))
        found = _found(database, newest=len(migrations))
        database.run(f"CREATE SCHEMA IF NOT EXISTS {database.schema}")
        database.run(_MAKE_VERSION)
        for migration in migrations[found:]:
            database.run_script(migration)
        statement = "INSERT INTO teamster_schema (version) VALUES (?) ON CONFLICT (only_row) DO UPDATE SET version = ?"
        database.run(statement, (len(migrations), len(migrations)))

    database.turn(migrate)


def _found(database: PostgresDatabase, *, newest: int) -> int:
    """Return the version of the schema, 0 where there is none."""
    name = database.pool.name
    look = database.row(_LOOK, (database.schema,))
    assert look is not None
    is_ours, encoding, is_taken = look
    if not is_ours:
        if encoding != "UTF8":
            raise UsageError(f"{name} is in {encoding}", hint="make one in UTF8: createdb -E UTF8 -T template0")
        if is_taken:
            raise UsageError(
                f"{name} has a schema {database.schema} of another program",
                hint="make a database for Teamster: createdb",
            )
        return 0
    row = database.row(_VERSION)
    found = 0 if row is None else int(row[0])
    if found > newest:
        raise UsageError(
            f"{name} was written by a newer Teamster: its schema is {found}, this one knows {newest}",
            hint="use the newer Teamster, or another database",
        )
    return found
