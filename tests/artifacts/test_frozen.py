"""The end of an attempt's directory: nobody writes there any more, and the manifest says what lies there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from artifacts.samples import ROLLOUT, full_store, root_at
from teamster.artifacts import (
    AttemptFile,
    Root,
    Rule,
    attempt_file,
    codex_home,
    draft,
    freeze_attempt,
    inventory,
    made_whole,
    manifest,
    manifest_entry,
    verify,
)
from teamster.kit import document, make_folder, write_snapshot
from teamster.model import RunId

NOBODY = 65534
GONE_PID = 4_194_305  # above what the kernel gives out
DIRECTORY = "runs/b1/j1/steps/s1/attempts/20260114T173000Z_run_1"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    found = root_at(tmp_path / "root")
    make_folder(found.at(codex_home(DIRECTORY)) / "sessions")
    write_snapshot(found.at(attempt_file(DIRECTORY, AttemptFile.META)), b"{}")
    write_snapshot(found.at(codex_home(DIRECTORY)) / "sessions/rollout.jsonl", b"turn\n")
    return found


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("PH-5.3a", "PH-8.2.1c")
def test_frozen_files_can_not_be_written_and_folders_can_be_emptied(root: Root) -> None:
    """People must be able to delete; nobody must be able to change."""
    place, home = root.at(DIRECTORY), root.at(codex_home(DIRECTORY))
    (home / "unreadable").write_bytes(b"")
    (home / "unreadable").chmod(0)
    (home / "link").symlink_to(place / "meta.json")
    freeze_attempt(root, DIRECTORY)
    freeze_attempt(root, DIRECTORY)

    assert mode(place / "meta.json") == 0o444
    assert mode(home / "sessions/rollout.jsonl") == 0o400
    assert mode(home / "unreadable") == 0o400
    assert [mode(folder) for folder in (place, home, home / "sessions")] == [0o700] * 3


def test_what_a_death_left_is_gone_when_the_attempt_is_frozen(root: Root) -> None:
    """A harness that was killed while it wrote a heartbeat left a file that nobody will finish."""
    place = root.at(DIRECTORY)
    dead = [place / f"state.json.{GONE_PID}.tmp"]
    living = [place / f"state.json.{os.getpid()}.tmp", place / f"codex_home/agents.{GONE_PID}.tmp"]
    for path in (*dead, *living):
        path.touch()
    freeze_attempt(root, DIRECTORY)

    assert [path.exists() for path in (*dead, *living)] == [False, True, True]


@pytest.mark.req("PH-5.3a")
def test_a_user_without_privileges_is_refused(tmp_path: Path) -> None:
    """Root writes through modes: what they are worth is seen as somebody else."""
    writer = full_store(tmp_path / "root")
    files = ["state.json", "meta.json", "codex.events.jsonl", f"codex_home/{ROLLOUT}"]
    command = ["sh", "-c", 'for file; do test -O "$file" && ! test -w "$file" || echo "$file"; done', "sh", *files]
    place = writer.root.at(writer.attempts[0].directory)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(NOBODY), str(place)], check=True, timeout=30)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
    result = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=30, check=True)

    assert result.stdout == ""


def test_the_inventory_joins_what_lies_there_with_what_is_promised(root: Root) -> None:
    """The finishing commit names files that nobody has written yet."""
    promised = [
        draft(attempt_file(DIRECTORY, AttemptFile.STATE), b"new"),
        draft(attempt_file(DIRECTORY, AttemptFile.MANIFEST), b"itself"),
        draft("runs/b1/j1/current.json", b"another folder"),
    ]
    write_snapshot(root.at(attempt_file(DIRECTORY, AttemptFile.STATE)), b"old")
    write_snapshot(root.at(DIRECTORY) / "meta.json.1.tmp", b"between write and rename")

    assert inventory(root, DIRECTORY, promised) == {
        "codex_home/sessions/rollout.jsonl": manifest_entry(b"turn\n"),
        "meta.json": manifest_entry(b"{}"),
        "state.json": manifest_entry(b"new"),
    }
    as_mapping = {file.path: file.content for file in promised}
    assert inventory(root, DIRECTORY, as_mapping) == inventory(root, DIRECTORY, promised)


def test_what_is_known_already_is_not_read_again(root: Root) -> None:
    """A sealed session was hashed a moment ago."""
    known = {"codex_home/sessions/rollout.jsonl": ("0" * 64, 1)}

    assert inventory(root, DIRECTORY, known=known)["codex_home/sessions/rollout.jsonl"] == ("0" * 64, 1)


def test_a_name_that_is_no_text_can_still_be_listed(root: Root) -> None:
    """Agents may call their files anything; a manifest must not fail on it."""
    (Path(os.fsdecode(os.fsencode(root.at(codex_home(DIRECTORY))) + b"/\xff"))).write_bytes(b"")

    assert "codex_home/\\xff" in inventory(root, DIRECTORY)


def test_a_manifest_of_another_host_is_made_whole_where_its_files_lie(root: Root) -> None:
    """Who promised it could not look; what it promised itself counts instead of what lies there, each time alike."""
    (root.at(codex_home(DIRECTORY)) / "config.toml").symlink_to("/etc/hosts")
    state, meta = attempt_file(DIRECTORY, AttemptFile.STATE), attempt_file(DIRECTORY, AttemptFile.META)
    write_snapshot(root.at(state), b"running")
    promised = {meta: b"later", state: b"failed"}
    partial = document(manifest(RunId("run_1"), {"state.json": manifest_entry(b"failed")}, is_partial=True))

    whole = made_whole(root, DIRECTORY, partial, promised)

    assert json.loads(whole) == manifest(
        RunId("run_1"),
        {
            "state.json": manifest_entry(b"failed"),
            "meta.json": manifest_entry(b"later"),
            "codex_home/sessions/rollout.jsonl": manifest_entry(b"turn\n"),
        },
    )
    assert made_whole(root, DIRECTORY, partial, promised) == whole
    assert made_whole(root, DIRECTORY, whole, {}) == whole


def test_a_partial_manifest_is_no_damage_as_long_as_it_is_promised(tmp_path: Path) -> None:
    """Its root plays it when somebody works there; written as it is, it would lack files."""
    root = full_store(tmp_path).root
    [path] = sorted(root.path.glob(f"runs/*/*/steps/*/attempts/*/{AttemptFile.MANIFEST}"))[:1]
    value = json.loads(path.read_bytes())
    name = path.relative_to(root.path).as_posix()
    only = {file: (entry["sha256"], entry["bytes"]) for file, entry in value["files"].items() if file == "state.json"}
    partial = document(manifest(value["run_id"], only, is_partial=True))

    assert verify(root, promised={name: partial}).findings == ()
    path.chmod(0o644)
    path.write_bytes(partial)

    assert Rule.MANIFEST in {finding.rule for finding in verify(root).findings}
