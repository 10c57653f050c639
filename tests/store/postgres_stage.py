"""What tests on PostgreSQL share: a server of their own, and a clock that goes as theirs does."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.private_postgres import PrivateServer

from teamster.kit import Instant, ManualClock
from teamster.store.postgres_connection import PostgresDatabase

TABLES = """
SELECT string_agg(c.relname, ', ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'teamster' AND c.relkind = 'r' AND c.relname <> 'teamster_schema'
"""


@contextlib.contextmanager
def private_server(**more: Any) -> Iterator[PrivateServer]:
    """Start a server where an unprivileged user gets to it: pytest's own folders are their owner's alone."""
    folder = Path(tempfile.mkdtemp(prefix="teamster-", dir="/tmp"))
    server = PrivateServer(folder, **more)
    try:
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder)


def at_boot_time(told: datetime, at: Instant) -> datetime:
    """Let the database's clock go as a test's own does, and never step: no test waits for a lease to run out."""
    del told
    began = ManualClock().now()
    return began.wall + timedelta(seconds=at.boot_seconds - began.boot_seconds)


def empty(database: PostgresDatabase) -> None:
    """Make a store as new: quicker than a schema for each test."""
    (tables,) = database.row(TABLES) or ("",)
    database.run(f"TRUNCATE {tables} RESTART IDENTITY")
