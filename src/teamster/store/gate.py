"""Which SQLite may write, and where: what can corrupt a WAL database is refused at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from teamster.model import StoreUnavailable, UsageError

_FIXED: Final = (3, 51, 3)
_FIXED_BRANCHES: Final = ((3, 50, 7), (3, 44, 6))
_NETWORK: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fhgfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "pvfs2",
        "smb3",
        "smbfs",
    }
)
_NETWORK_FUSE: Final = frozenset(
    {
        "ceph",
        "ceph-fuse",
        "cephfs",
        "gcsfuse",
        "glusterfs",
        "gvfsd-fuse",
        "juicefs",
        "mfs",
        "rclone",
        "s3fs",
        "seaweedfs",
        "smbnetfs",
        "sshfs",
    }
)


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


def is_network(file_system: str | None) -> bool:
    """Tell whether several machines may have a file system of this type open. Pure; what nobody knows is local."""
    if file_system is None:
        return False
    kind, _, program = file_system.partition(".")
    return kind in _NETWORK or (kind.startswith("fuse") and program in _NETWORK_FUSE)


def refuse_network(path: Path, file_system: str | None) -> None:
    """Refuse to keep a database where two machines could write it at once: its log is shared memory of one of them.

    Raises:
        UsageError: the file lies on a network file system.
    """
    if is_network(file_system):
        raise UsageError(
            f"{path} lies on a network file system ({file_system}), where SQLite can lose or corrupt what it wrote",
            hint="keep the root on a local disk, or give the store the URL of a PostgreSQL database",
        )
