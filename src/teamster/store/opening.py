"""The way to a PostgreSQL store for those who may not have its driver: it is an extra, and heavy to import."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from teamster.kit import Names
from teamster.model import UsageError
from teamster.settings import StoreLimits
from teamster.store.protocol import Store


def open_postgres(
    url: str,
    *,
    host: str,
    root: str,
    schema: str,
    names: Names | None = None,
    limits: StoreLimits | None = None,
) -> Callable[[], Store]:
    """Return what opens the PostgreSQL store of a root on a host, one for each thread, over one pool of connections.

    The first opening makes the schema or migrates it, and raises what `postgres.open_store` says. A pooler may stand
    between: nothing is kept in a session.

    Raises:
        UsageError: the driver is not installed, or the URL can't be read.
    """
    if find_spec("psycopg") is None:
        raise UsageError("the driver of PostgreSQL is not installed", hint="pip install 'teamster[postgres]'")
    from teamster.store.postgres import open_store  # noqa: PLC0415 - an extra, and heavy
    from teamster.store.postgres_pool import PostgresPool  # noqa: PLC0415 - as above

    pool = PostgresPool(url, limits=limits)
    return lambda: open_store(pool, host=host, root=root, schema=schema, names=names)
