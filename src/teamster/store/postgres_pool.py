"""Connections to one PostgreSQL: borrowed for a transaction, given back, thrown away when they broke."""

from __future__ import annotations

import threading
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import IntLoader

from teamster.model import StoreUnavailable, UsageError
from teamster.settings import StoreLimits
from teamster.store.postgres_errors import explained

KEEPALIVE_IDLE_SECONDS: Final = 10
KEEPALIVE_SECONDS: Final = 5
KEEPALIVES_MAX: Final = 3
APPLICATION: Final = "teamster"
PostgresLink = psycopg.Connection[tuple[Any, ...]]


class PostgresPool:
    """The connections of one process, shared by its stores. It keeps no session state, so a pooler may stand between.

    Whoever asks gets the one that came back last, or a new one made on the spot: an error is told at once by the one
    who met it, and no thread works behind our back.
    """

    def __init__(self, url: str, *, limits: StoreLimits | None = None) -> None:
        """Make a pool; nothing is connected yet.

        Raises:
            UsageError: the URL can't be read.
        """
        self.limits = limits or StoreLimits()
        self._url = url
        self.name = shown(url)
        self.ready: set[str] = set()  # schemas that were looked at
        self._idle: list[PostgresLink] = []
        self._out = 0
        self._lock = threading.Lock()

    def borrow(self) -> PostgresLink:
        """Return a connection for one caller.

        Raises:
            StoreUnavailable: the server can't be reached, or all connections are out.
        """
        with self._lock:
            if self._out >= self.limits.connections_max:
                raise StoreUnavailable(
                    f"{self.name}: all {self._out} connections of this process are in use", hint="try again"
                )
            self._out += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            with self._lock:
                self._out -= 1
            raise

    def give_back(self, link: PostgresLink) -> None:
        """Take a connection back; one that is broken or in the middle of something is closed."""
        is_clean = not link.closed and link.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            self._out -= 1
            if is_clean:
                self._idle.append(link)
        if not is_clean:
            link.close()

    def forget_idle(self) -> None:
        """Close what lies idle: one was found dead, the others are likely to be."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def close(self) -> None:
        """Close all that lies idle; what is out closes when it comes back broken or stays with its process."""
        self.forget_idle()

    def _connect(self) -> PostgresLink:
        limits = self.limits
        try:
            link = psycopg.connect(
                self._url,
                autocommit=True,  # we say BEGIN ourselves
                prepare_threshold=None,  # a prepared statement is state of a session that a pooler may give to others
                cursor_factory=psycopg.ClientCursor,  # plain queries: one message may hold several statements
                connect_timeout=max(2, round(limits.connect_seconds)),  # libpq takes less than 2 for 2
                keepalives=1,
                keepalives_idle=KEEPALIVE_IDLE_SECONDS,
                keepalives_interval=KEEPALIVE_SECONDS,
                keepalives_count=KEEPALIVES_MAX,
                tcp_user_timeout=round(1000 * (limits.statement_seconds + limits.connect_seconds)),
                application_name=APPLICATION,
                client_encoding="UTF8",
            )
        except psycopg.Error as error:
            raise explained(error, name=self.name) from None  # what libpq says of a URL may hold its password
        link.adapters.register_loader("numeric", IntLoader)  # sums of counters
        return link


def shown(url: str) -> str:
    """Return a URL as it may be shown: who and where, never a password.

    Raises:
        UsageError: it can't be read; what is wrong isn't repeated, since it may be a part of the password.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise UsageError(
            "the URL of the store can't be read", hint="postgresql://USER@HOST:PORT/DATABASE, special signs as %XX"
        ) from None
    user, host, port = (str(parts.get(part) or "") for part in ("user", "host", "port"))
    where = f"{user}@{host}" if user else host
    return f"postgresql://{where}{':' if port else ''}{port}/{parts.get('dbname') or ''}"
