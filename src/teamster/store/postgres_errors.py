"""What PostgreSQL's errors mean: a world that is away, a write to try again, or our own broken promise."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import psycopg

from teamster.model import StoreUnavailable

# Longest prefix first: a state of five characters says more than its class of two.
_TROUBLES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "25006": ("can't be written: it is read only", "a standby? name the primary"),
        "40001": ("was changed by somebody else meanwhile", "try again; nothing was written"),
        "40P01": ("was changed by somebody else meanwhile", "try again; nothing was written"),
        "42501": ("may not be used by this role", "grant it what docs/postgres.md lists"),
        "53100": ("has no room: its disk is full", "free some space; nothing was written"),
        "53300": ("has no connection left", "close some, or raise max_connections; a pooler helps"),
        "55P03": ("is held by another connection", "try again; nothing was written"),
        "57014": ("was too slow to answer", "look at its load; TEAMSTER_STORE_STATEMENT_SECONDS is the limit"),
        "08": ("broke the connection off", "look at the server; the next call connects again"),
        "25": ("ended the transaction", "look at its time limits; nothing was written"),
        "28": ("refuses this role or its password", "look at the URL, at .pgpass and at pg_hba.conf"),
        "3D": ("is not there", "make the database first: createdb"),
        "53": ("has no resources left", "look at the server"),
        "57": ("is going down or coming up", "the next call connects again"),
        "58": ("can't be read or written", "look at the server's disk and log"),
        "XX": ("is damaged", "look at the server's log; rebuild from the runs store if it must be made again"),
    }
)
_AGAIN: Final = frozenset({"40001", "40P01"})  # who lost a race: the same transaction may win the next one
_RACES: Final = frozenset({"events_by_request"})  # two writers used one request id at once: the second finds the answer


def explained(error: psycopg.Error, *, name: str) -> Exception:
    """Say what an error means for the store called `name`; what only we can have caused stays as it is."""
    state = error.sqlstate or ""
    for prefix in (state, state[:2]):
        if prefix in _TROUBLES:
            fact, hint = _TROUBLES[prefix]
            return StoreUnavailable(f"{name} {fact} ({_told(error)})", hint=hint)
    if not state and isinstance(error, psycopg.OperationalError):
        return StoreUnavailable(f"{name} can't be reached ({_told(error)})", hint="look at the server and at the URL")
    return error


def may_win_again(error: psycopg.Error) -> bool:
    """Tell whether the same transaction may do better at once: it lost a race, and wrote nothing."""
    if isinstance(error, psycopg.errors.UniqueViolation):
        return error.diag.constraint_name in _RACES
    return error.sqlstate in _AGAIN


def _told(error: psycopg.Error) -> str:
    """Return what the server said, in one line; libpq repeats itself once for each address that it tried."""
    said = (error.diag.message_primary or str(error)).strip() or type(error).__name__
    return said.splitlines()[-1].strip()
