"""Login files: read whole, replaced whole, lent one by one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from teamster.artifacts import Credentials
from teamster.artifacts.credentials import LOGIN_BYTES_MAX
from teamster.model import WorldError

HOLD = """
import sys
from pathlib import Path
from teamster.artifacts import Credentials
with Credentials(Path(sys.argv[1]), Path(sys.argv[1]).parent / "copies").alone():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    """Return a user's login."""
    source = tmp_path / "codex" / "auth.json"
    source.parent.mkdir()
    source.write_bytes(b"first")
    return Credentials(source, tmp_path / "root" / "credentials")


def test_a_copy_is_private_and_gone_when_it_is_dropped(credentials: Credentials) -> None:
    """It opens a person's account."""
    copy = credentials.lend("run_1", b"tokens")

    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert (credentials.copy("run_1"), credentials.lent()) == (b"tokens", ("run_1",))
    assert credentials.lend("run_1", b"again").read_bytes() == b"again"
    credentials.drop("run_1")
    credentials.drop("run_1")
    assert (credentials.copy("run_1"), credentials.lent()) == (None, ())


def test_a_replacement_is_whole_and_leaves_a_link_alone(credentials: Credentials, tmp_path: Path) -> None:
    """Many keep such files elsewhere and link to them."""
    kept = tmp_path / "kept.json"
    kept.write_bytes(b"first")
    credentials.source.unlink()
    credentials.source.symlink_to(kept)
    before = kept.stat().st_ino

    credentials.replace(b"second")

    assert credentials.read() == b"second"
    assert credentials.source.is_symlink()
    assert kept.stat().st_ino != before
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_what_is_no_file_is_no_login(credentials: Credentials, tmp_path: Path) -> None:
    """An agent may have put a link or a pipe in place of its copy."""
    copy = credentials.lend("run_1", b"tokens")
    copy.unlink()
    copy.symlink_to(credentials.source)
    assert credentials.copy("run_1") is None
    copy.unlink()
    os.mkfifo(copy)
    assert credentials.copy("run_1") is None

    credentials.source.write_bytes(b"x" * (LOGIN_BYTES_MAX + 1))
    with pytest.raises(WorldError, match="larger than"):
        credentials.read()
    credentials.source.unlink()
    with pytest.raises(WorldError, match="is gone"):
        credentials.read()
    assert Credentials(tmp_path / "none" / "auth.json", tmp_path / "none").lent() == ()


def test_the_lock_is_one_for_all_roots_and_freed_by_death(credentials: Credentials) -> None:
    """It belongs to the account; a wait for it ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(credentials.source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(WorldError, match="was held by another process"), credentials.alone(seconds_max=0.1):
            pass
        holder.kill()
        holder.wait()
    with credentials.alone(seconds_max=0):
        assert sorted(path.name for path in credentials.source.parent.iterdir()) == ["auth.json"]
