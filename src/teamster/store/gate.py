"""Which SQLite may write: those that can corrupt a WAL database are refused at the start."""

from __future__ import annotations

from typing import Final

from teamster.model import StoreUnavailable

_FIXED: Final = (3, 51, 3)
_FIXED_BRANCHES: Final = ((3, 50, 7), (3, 44, 6))


def is_safe_sqlite(version: str) -> bool:
    """Tell whether two connections of this SQLite may write and checkpoint one WAL database at once. Pure.

    3.7.0 to 3.51.2 can lose pages when they do; the fix is in 3.51.3 and was brought back to 3.50.7 and 3.44.6.
    """
    parts = version.split(".")
    if len(parts) != len(_FIXED) or not all(part.isascii() and part.isdigit() for part in parts):
        return False
    number = tuple(int(part) for part in parts)
    return number >= _FIXED or any(number[:2] == fixed[:2] and number >= fixed for fixed in _FIXED_BRANCHES)


def refuse_unsafe_sqlite(version: str) -> None:
    """Refuse to open a database with an SQLite that can corrupt it.

    Raises:
        StoreUnavailable: the version is one of those.
    """
    if not is_safe_sqlite(version):
        raise StoreUnavailable(
            f"SQLite {version} can corrupt a database that two connections write",
            hint="install apsw 3.51.3 or newer",
        )
