"""Sessions as files: sealed, restored, and never touched by those who resume them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from teamster.artifacts import (
    BaseChanged,
    NotSealable,
    Sealed,
    SealedFile,
    first_line,
    is_unchanged,
    remove_links,
    restore,
    seal,
    session_files,
    sessions,
    witness,
)
from teamster.artifacts.copying import copy_content
from teamster.model import WorldError

ROLLOUT = "sessions/2026/rollout-1.jsonl"


@pytest.fixture(autouse=True)
def _as_a_new_process() -> Iterator[None]:
    """Know nothing of what another test has read."""
    witness.forget()
    yield
    witness.forget()


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


def test_a_first_line_is_unpacked_where_it_is_packed(home: Path) -> None:
    """Codex packs what nobody used for long; its first line says all the same what it was forked from."""
    line = b'{"type":"session_meta"}' + b" " * 30_000
    packed = home / "sessions/2026/old.jsonl.zst"
    packed.write_bytes(zstd.compress(line + b"\n" + os.urandom(1 << 20)))

    assert first_line(home, "sessions/2026/old.jsonl.zst", bytes_max=1 << 20) == line
    assert len(first_line(home, "sessions/2026/old.jsonl.zst", bytes_max=100)) == 100
    harmed = (b"", b"no frame at all", packed.read_bytes()[:40])
    for content in harmed:
        packed.write_bytes(content)
        with pytest.raises(WorldError, match="can't be read"):
            first_line(home, "sessions/2026/old.jsonl.zst", bytes_max=1 << 20)


def test_a_packed_file_can_not_take_the_memory(home: Path) -> None:
    """What a frame says that unpacking needs is what an agent wrote there."""
    options = {int(zstd.CompressionParameter.window_log): 27, int(zstd.CompressionParameter.content_size_flag): 0}
    packer = zstd.ZstdCompressor(options=options)
    (home / "large.zst").write_bytes(packer.compress(b"x" * (1 << 20)) + packer.flush())

    with pytest.raises(WorldError, match="can't be read"):
        first_line(home, "large.zst", bytes_max=100)


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


DAMAGES = {
    "grown": "was touched",
    "other": "was touched",
    "same size and time": "was touched",
    "cut": "was cut",
    "gone": "is missing",
    "link": "was touched",
    "folder": "was touched",
    "pipe": "was touched",
    "its folder": "is missing",
}


@pytest.mark.req("PH-7.4", "PH-10.1")
@pytest.mark.parametrize("known", [True, False], ids=["read before", "never read"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_base_that_changed_is_named_and_not_resumed(home: Path, tmp_path: Path, damage: str, *, known: bool) -> None:
    """A resume from another history looks right and is wrong."""
    sealed = seal(home, [ROLLOUT])
    if not known:
        witness.forget()
    harm(home / ROLLOUT, damage, spare=tmp_path / "same")

    assert not is_unchanged(home, sealed)
    with pytest.raises(BaseChanged, match=f"rollout-1.*{DAMAGES[damage]}"):
        restore(home, sealed, tmp_path / "fresh")
    assert session_files(tmp_path / "fresh") == ()


def harm(place: Path, damage: str, *, spare: Path) -> None:
    """Do something to a sealed file."""
    content, found = place.read_bytes(), place.stat()
    if damage == "its folder":
        place.parent.rename(spare)
        return
    if damage not in {"grown", "cut", "same size and time"}:
        place.unlink()
    else:
        place.chmod(0o600)
    match damage:
        case "grown":
            place.write_bytes(content + b"more\n")
        case "cut":
            os.truncate(place, len(content) - 1)
        case "other":
            place.write_bytes(content[::-1])
        case "same size and time":
            place.write_bytes(content[::-1])
            os.utime(place, ns=(found.st_atime_ns, found.st_mtime_ns))
        case "link":
            spare.write_bytes(content)
            place.symlink_to(spare)
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)


def test_what_nobody_wrote_since_is_not_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five branches of one base cost one reading of it; another process reads for itself."""
    read: list[str] = []

    def read_and_tell(file: Any, name: str) -> Any:
        read.append(name)
        return digest(file, name)

    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", read_and_tell)
    sealed = seal(home, [ROLLOUT])
    for branch in range(5):
        restore(home, sealed, home.parent / f"branch-{branch}")
        assert is_unchanged(home, sealed)

    assert len(read) == 1
    witness.forget()
    assert is_unchanged(home, sealed)
    assert len(read) == 2


def test_what_is_remembered_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A harness that runs for months must not remember every session it ever saw."""
    monkeypatch.setattr(witness, "KNOWN_MAX", 1)
    seal(home, [ROLLOUT, "log/codex.log"])

    assert len(witness._known) == 1


def test_a_sealed_file_can_not_be_written_any_more(home: Path) -> None:
    """The mode is taken away before it is hashed: nothing stands between the two."""
    seal(home, [ROLLOUT])

    assert stat.S_IMODE((home / ROLLOUT).stat().st_mode) == 0o400


def test_a_file_with_a_second_name_is_sealed_as_a_copy(home: Path, tmp_path: Path) -> None:
    """Who holds the other name could write into the base, and hashes would only tell afterwards."""
    os.link(home / ROLLOUT, tmp_path / "other_name")
    content = (home / ROLLOUT).read_bytes()
    sealed = seal(home, [ROLLOUT])
    with (tmp_path / "other_name").open("ab") as file:
        file.write(b"written behind our back\n")

    assert (home / ROLLOUT).read_bytes() == content
    assert is_unchanged(home, sealed)
    assert session_files(home) == ("log/codex.log", ROLLOUT, "sessions/2026/rollout-2.jsonl")


def test_a_hole_that_claims_to_be_huge_is_not_sealed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte of it would be read: a terabyte of nothing would hold up every other attempt."""
    os.truncate(home / ROLLOUT, sessions.SESSION_BYTES_MAX + 1)
    with pytest.raises(NotSealable, match="bytes, over"):
        seal(home, [ROLLOUT])

    monkeypatch.setattr(sessions, "SESSION_BYTES_MAX", 1 << 30)
    os.truncate(home / ROLLOUT, 3 << 20)
    sealed = seal(home, [ROLLOUT])
    restore(home, sealed, home.parent / "fresh")
    assert (home.parent / "fresh" / ROLLOUT).stat().st_size == 3 << 20


def test_a_base_that_is_written_while_it_is_copied_is_seen(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was right when it was looked at, and the copy may hold half of what came then."""
    sealed = seal(home, [ROLLOUT])

    def copy_and_write(source: int, target: int) -> str:
        (home / ROLLOUT).chmod(0o600)
        (home / ROLLOUT).open("ab").close()
        return copy_content(source, target)

    monkeypatch.setattr(sessions, "copy_content", copy_and_write)
    with pytest.raises(BaseChanged, match="while it was copied"):
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
