"""The gate: which SQLite may write, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from teamster.model import StoreUnavailable, UsageError
from teamster.store import is_safe_sqlite
from teamster.store.gate import refuse_network, refuse_unsafe_sqlite


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [
        ("3.40.1", False),  # inside of CPython
        ("3.44.5", False),
        ("3.44.6", True),
        ("3.44.10", True),
        ("3.45.0", False),
        ("3.50.6", False),
        ("3.50.7", True),
        ("3.51.0", False),
        ("3.51.2", False),
        ("3.51.3", True),
        ("3.52.0", True),
        ("4.0.0", True),
        ("3.6.23", False),  # no write-ahead log at all
        ("3.51", False),
        ("3.51.3.1", False),
        ("", False),
        ("3.51.x", False),
    ],
)
def test_only_versions_with_the_fix_may_write(version: str, *, is_safe: bool) -> None:
    """Two connections that write or checkpoint at once can corrupt a database of the others."""
    assert is_safe_sqlite(version) is is_safe


def test_a_refusal_names_the_version_and_the_way_out() -> None:
    """At the start, before anything was opened."""
    with pytest.raises(StoreUnavailable, match=r"SQLite 3\.40\.1") as refusal:
        refuse_unsafe_sqlite("3.40.1")

    assert "apsw" in refusal.value.hint


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "afs", "lustre", "ceph", "fuse.sshfs", "fuse.s3fs"]
)
def test_a_network_file_system_is_refused_with_a_way_out(kind: str) -> None:
    """Locks and the log's shared memory hold on one machine alone: two could write at once."""
    with pytest.raises(UsageError, match="network file system") as refusal:
        refuse_network(Path("team.db"), kind)

    assert "PostgreSQL" in refusal.value.hint
    assert "local disk" in refusal.value.hint


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuse.fuse-overlayfs", "fuseblk", None]
)
def test_a_local_file_system_is_not(kind: str | None) -> None:
    """What nobody can name is not refused: a wrong refusal would stop a healthy machine."""
    refuse_network(Path("team.db"), kind)
