"""`verify`: a store as a runner leaves it is clean, and each single damage is found and named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from artifacts.damages import DAMAGES, SECRET, Damage
from artifacts.samples import BATCH, FIRST, OTHER, Writer, full_store, root_at
from teamster.artifacts import (
    AttemptFile,
    Rule,
    attempt_file,
    codex_home,
    control_path,
    save_late,
    verify,
)
from teamster.artifacts.findings import FINDINGS_MAX
from teamster.kit import append, make_folder, sha256
from teamster.model import AttemptStatus, RunId


def rules(writer: Writer, **given: Any) -> set[Rule]:
    return {finding.rule for finding in verify(writer.root, **given).findings}


@pytest.mark.req("PH-8.2.2")
def test_a_store_as_a_runner_leaves_it_is_clean(writer: Writer) -> None:
    """The checker would be worthless if it cried wolf."""
    report = verify(writer.root, secrets=(SECRET,))

    assert report.findings == ()
    assert report.is_clean
    assert report.attempts == 4
    files = [path for path in (writer.root.path / "runs").rglob("*") if path.is_file()]
    assert (report.files, report.bytes) == (len(files), sum(path.stat().st_size for path in files))


def test_an_empty_root_is_clean(tmp_path: Path) -> None:
    assert verify(root_at(tmp_path)).is_clean


@pytest.mark.req("PH-8.2.2")
@pytest.mark.parametrize("name", DAMAGES)
def test_each_single_damage_is_found_and_named(writer: Writer, name: str) -> None:
    """A promise that nobody checks is a wish."""
    rule, damage = DAMAGES[name]
    damage(Damage(writer))

    assert rule in rules(writer, secrets=(SECRET,))


def test_every_rule_has_a_damage_that_it_finds() -> None:
    """A rule that can't fail is none. Whether a database agrees is asked by those who know both."""
    assert {rule for rule, _ in DAMAGES.values()} == set(Rule) - {Rule.AGREEMENT}


@pytest.mark.req("PH-5.3a")
def test_a_change_after_the_end_is_found_in_whatever_file_it_is_made(writer: Writer) -> None:
    """Frozen is a promise about each file, not about those that somebody thought of."""
    place = writer.root.at(writer.attempts[0].directory)
    for path in [path for path in place.rglob("*") if path.is_file() and path.name != "manifest.json"]:
        content = path.read_bytes()
        path.chmod(0o600)
        path.write_bytes(content + b" ")
        path.chmod(0o444)

        found = verify(writer.root).findings
        assert (str(path.relative_to(writer.root.path)), Rule.MANIFEST) in {(one.path, one.rule) for one in found}
        path.chmod(0o600)
        path.write_bytes(content)
        path.chmod(0o444)
    assert verify(writer.root).is_clean


def test_findings_name_paths_relative_to_the_root_and_come_sorted(writer: Writer) -> None:
    for run in writer.attempts:
        (writer.root.at(run.directory) / "final.txt").touch()
    report = verify(writer.root)

    assert [finding.path for finding in report.findings] == sorted(finding.path for finding in report.findings)
    assert all(finding.path.startswith("runs/b1/") for finding in report.findings)
    assert str(report.findings[0]).startswith("runs/b1/j1/steps/s1/attempts/")
    assert report.to_json()["clean"] is False
    assert report.to_json()["findings"][0] == report.findings[0].to_json()


def test_what_is_promised_counts_as_if_it_lay_there(tmp_path: Path) -> None:
    """A kill between the finishing commit and the last file is no damage: the next harness writes the rows."""
    writer = full_store(tmp_path / "root", delivers=False)

    assert verify(writer.root, promised=writer.promised).is_clean
    assert Rule.MISSING in rules(writer)


def test_a_promise_counts_instead_of_what_it_will_replace(writer: Writer) -> None:
    path = attempt_file(writer.attempts[0].directory, AttemptFile.STATE)
    content = writer.root.at(path).read_bytes()
    writer.root.at(path).unlink()
    writer.root.at(path).write_bytes(b"torn")

    assert not verify(writer.root).is_clean
    assert verify(writer.root, promised={path: content}).is_clean


def test_pointers_may_be_behind_while_files_of_their_job_are_on_their_way(writer: Writer) -> None:
    """They are derived after the delivery, by whoever delivers."""
    Damage(writer).point(lambda steps: steps.pop("s2"))
    path = attempt_file(writer.attempts[1].directory, AttemptFile.STATE)

    assert rules(writer) == {Rule.POINTER}
    assert verify(writer.root, promised={path: writer.root.at(path).read_bytes()}).is_clean


def test_an_attempt_that_somebody_runs_may_be_incomplete(writer: Writer) -> None:
    """Its agent makes links and files while we look; only its record and its state are ours already."""
    attempt = writer.begin(OTHER)
    home = writer.root.at(codex_home(attempt.directory))
    (home / "config.toml").symlink_to("/nowhere")
    append(writer.root.at(attempt_file(attempt.directory, AttemptFile.EVENTS)), b'{"type": "turn.st')
    make_folder(writer.root.at(f"{attempt.directory}/.teamster/staging/deep"))
    append(writer.root.at(attempt_file(attempt.directory, AttemptFile.EXIT)), b"{")

    assert verify(writer.root, live=frozenset({f"{attempt.directory}/"})).is_clean
    assert {Rule.UNENDED, Rule.LINK, Rule.EVENTS, Rule.FOREIGN, Rule.UNREADABLE} <= rules(writer)


def test_a_live_attempt_without_a_directory_is_missed(writer: Writer) -> None:
    assert rules(writer, live=frozenset({f"{writer.attempts[0].directory}9"})) == {Rule.MISSING}


def test_one_step_has_one_live_attempt(writer: Writer) -> None:
    """Two of them would write into one workspace, and both would be believed."""
    live = frozenset(writer.begin(OTHER, run_id=f"live_{number}").directory for number in range(2))

    assert rules(writer, live=live) == {Rule.LIVE}


def test_a_file_that_a_living_process_writes_is_no_leftover(writer: Writer) -> None:
    (writer.root.at(writer.attempts[0].directory) / f"state.json.{os.getpid()}.tmp").touch()

    assert verify(writer.root).is_clean


def test_what_retention_removed_and_recorded_is_not_missed(writer: Writer) -> None:
    """A tombstone is what tells retention from loss."""
    directory = writer.attempts[0].directory
    writer.root.at(directory).rename(writer.root.path / "spool/removed")
    assert {Rule.BASE, Rule.POINTER} <= rules(writer)

    control = writer.root.at(control_path(BATCH))
    make_folder(control.parent)
    append(control, json.dumps({"event": "removed", "path": f"{directory}/"}).encode() + b"\n")

    assert verify(writer.root).is_clean


def test_late_evidence_has_a_place(writer: Writer) -> None:
    """It lies beside the batch, and no attempt counts it."""
    save_late(writer.root, BATCH, RunId("run_1"), 2, {"final.txt": b"late"})

    assert verify(writer.root).is_clean


def test_prompts_are_kept_by_their_hash(writer: Writer) -> None:
    """An attempt names its prompt by a digest alone."""
    Damage(writer).keep_input({"sha256": sha256(b"do it"), "kind": "prompt", "text": "do it"})

    assert verify(writer.root).is_clean


def test_a_store_can_be_moved(writer: Writer, tmp_path: Path) -> None:
    """All kept paths are relative to the root."""
    writer.root.path.rename(tmp_path / "moved")

    assert verify(root_at(tmp_path / "moved")).is_clean


def test_a_store_full_of_damage_does_not_fill_the_memory(writer: Writer) -> None:
    for number in range(FINDINGS_MAX + 5):
        (writer.root.path / f"runs/stranger.{number}").touch()
    report = verify(writer.root)

    assert (len(report.findings), report.findings_more) == (FINDINGS_MAX, 5)
    assert not report.is_clean


@pytest.mark.parametrize("status", [status for status in AttemptStatus if status not in {"queued", "running"}])
def test_every_end_that_the_builders_make_is_clean(tmp_path: Path, status: AttemptStatus) -> None:
    writer = Writer(root=root_at(tmp_path))
    writer.submit(FIRST)
    writer.end(writer.begin(FIRST), status)

    assert verify(writer.root).findings == ()
