"""Sessions as files: sealed, restored, and never touched by those who resume them."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from teamster.artifacts import Sealed, SealedFile, first_line, is_unchanged, remove_links, restore, seal, session_files
from teamster.model import WorldError

ROLLOUT = "sessions/2026/rollout-1.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a session, and with what a real one holds beside it."""
    place = tmp_path / "home"
    (place / ROLLOUT).parent.mkdir(parents=True)
    (place / ROLLOUT).write_bytes(b'{"type":"session_meta"}\n{"turn":1}\n')
    (place / "sessions/2026/rollout-2.jsonl").write_bytes(b"")
    (place / "log").mkdir()
    (place / "log/codex.log").write_bytes(b"chatter")
    return place


def test_the_files_of_a_home_are_listed_without_following_a_link(home: Path, tmp_path: Path) -> None:
    """A link to a user's own home must not bring that home into the store."""
    (tmp_path / "users_own").mkdir()
    (tmp_path / "users_own/auth.json").write_bytes(b"key")
    (home / "linked").symlink_to(tmp_path / "users_own")
    (home / "auth.json").symlink_to(tmp_path / "users_own/auth.json")
    os.mkfifo(home / "pipe")

    assert session_files(home) == ("log/codex.log", ROLLOUT, "sessions/2026/rollout-2.jsonl")
    assert session_files(home / "missing") == ()


@pytest.mark.req("PH-8.2.1c")
def test_links_are_gone_before_the_freeze_and_what_they_point_at_stays(home: Path, tmp_path: Path) -> None:
    """The link is how credentials reach an agent without being copied; it must not outlive the attempt."""
    (tmp_path / "auth.json").write_bytes(b"key")
    (home / "auth.json").symlink_to(tmp_path / "auth.json")
    (home / "log/dangling").symlink_to("nowhere")
    os.mkfifo(home / "pipe")

    assert sorted(remove_links(home)) == ["auth.json", "log/dangling", "pipe"]
    assert remove_links(home) == ()
    assert (tmp_path / "auth.json").read_bytes() == b"key"
    assert not any(path.is_symlink() for path in home.rglob("*"))


def test_a_first_line_is_read_without_the_rest(home: Path) -> None:
    assert first_line(home, ROLLOUT, bytes_max=1000) == b'{"type":"session_meta"}'
    assert first_line(home, ROLLOUT, bytes_max=7) == b'{"type"'
    with pytest.raises(WorldError, match="can't be read"):
        first_line(home, "../outside", bytes_max=10)


@pytest.mark.req("PH-7.4")
def test_a_base_is_copied_whole_and_its_source_stays_as_it_was(home: Path, tmp_path: Path) -> None:
    """Whoever resumes appends to its own copy: a hard link would append to the source."""
    sealed = seal(home, [ROLLOUT])
    restore(home, sealed, tmp_path / "fresh")

    copy = tmp_path / "fresh" / ROLLOUT
    assert session_files(tmp_path / "fresh") == (ROLLOUT,)
    assert copy.stat().st_ino != (home / ROLLOUT).stat().st_ino
    assert copy.stat().st_nlink == 1
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with copy.open("ab") as file:
        file.write(b'{"turn":2}\n')
    assert is_unchanged(home, sealed)
    assert not is_unchanged(tmp_path / "fresh", sealed)


def test_three_branches_of_one_base_do_not_see_each_other(home: Path, tmp_path: Path) -> None:
    sealed = seal(home, [ROLLOUT])
    for branch in ("a", "b", "c"):
        restore(home, sealed, tmp_path / branch)
        with (tmp_path / branch / ROLLOUT).open("ab") as file:
            file.write(f"{branch}\n".encode())

    turns = {branch: (tmp_path / branch / ROLLOUT).read_bytes().splitlines()[2:] for branch in ("a", "b", "c")}
    assert turns == {"a": [b"a"], "b": [b"b"], "c": [b"c"]}
    assert is_unchanged(home, sealed)


@pytest.mark.parametrize("damage", ["grown", "other", "gone", "link", "folder"])
def test_a_base_that_changed_is_seen_and_not_resumed(home: Path, tmp_path: Path, damage: str) -> None:
    """A resume from another history looks right and is wrong."""
    sealed = seal(home, [ROLLOUT])
    place = home / ROLLOUT
    content = place.read_bytes()
    place.unlink()
    match damage:
        case "grown":
            place.write_bytes(content + b"more\n")
        case "other":
            place.write_bytes(content[::-1])
        case "link":
            (tmp_path / "same").write_bytes(content)
            place.symlink_to(tmp_path / "same")
        case "folder":
            place.mkdir()

    assert not is_unchanged(home, sealed)
    with pytest.raises(WorldError, match="rollout-1"):
        restore(home, sealed, tmp_path / "fresh")


def test_a_home_that_holds_the_file_already_is_refused(home: Path, tmp_path: Path) -> None:
    """A fresh home is what keeps two attempts apart."""
    sealed = seal(home, [ROLLOUT])
    restore(home, sealed, tmp_path / "fresh")

    with pytest.raises(WorldError, match="exists"):
        restore(home, sealed, tmp_path / "fresh")


def test_a_copy_does_not_follow_a_link_out_of_its_home(home: Path, tmp_path: Path) -> None:
    sealed = seal(home, [ROLLOUT])
    (tmp_path / "fresh").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "fresh/sessions").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(WorldError, match="passes a link"):
        restore(home, sealed, tmp_path / "fresh")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_digest_of_a_session_does_not_depend_on_the_order_of_its_names(home: Path) -> None:
    names = [ROLLOUT, "sessions/2026/rollout-2.jsonl"]

    assert seal(home, names) == seal(home, [*reversed(names), ROLLOUT])
    assert seal(home, names).session_sha256 != seal(home, names[:1]).session_sha256


def test_only_files_beneath_the_home_can_be_sealed(home: Path) -> None:
    with pytest.raises(ValueError, match="without a file"):
        seal(home, [])
    for name in ("missing", "sessions", f"../{home.name}/log/codex.log"):
        with pytest.raises(WorldError, match="can't be sealed"):
            seal(home, [name])


def test_a_manifest_survives_its_file_and_one_that_was_edited_is_refused(home: Path) -> None:
    """The digest in `meta.json` names the list, the list names the files."""
    sealed = seal(home, [ROLLOUT])
    value = sealed.to_json()

    assert Sealed.from_bytes(json.dumps(value).encode()) == sealed
    assert sealed.inventory("codex_home") == {
        f"codex_home/{ROLLOUT}": (sealed.files[0].sha256, sealed.files[0].bytes),
    }
    edits: list[dict[str, Any]] = [
        {"version": 2},
        {"files": {}},
        {"files": {"/etc/passwd": value["files"][ROLLOUT]}},
        {"files": {ROLLOUT: {"sha256": "0" * 64, "bytes": 1}}},
        {"files": [ROLLOUT]},
        {"session_sha256": "0" * 64},
    ]
    for edit in edits:
        with pytest.raises(ValueError, match=r"."):
            Sealed.from_bytes(json.dumps({**value, **edit}).encode())
    for content in (b"", b"[]", b"null", b"\xff", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"."):
            Sealed.from_bytes(content)


def test_a_sealed_list_is_sorted_and_names_each_file_once() -> None:
    file = SealedFile(name="a", sha256="0" * 64, bytes=1)
    with pytest.raises(ValueError, match="sorted"):
        Sealed(files=(file, file))
    with pytest.raises(ValueError, match="beneath a home"):
        SealedFile(name="a/../../b", sha256="0" * 64, bytes=1)
