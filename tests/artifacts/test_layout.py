"""Where everything lies: found from ids alone, and nothing else may lie there."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from artifacts.samples import FIRST, START
from teamster.artifacts import (
    KEPT,
    AttemptFile,
    attempt_file,
    attempt_folder,
    attempt_name,
    batch_meta_path,
    codex_home,
    control_path,
    current_path,
    draft,
    health_path,
    inputs_path,
    kept,
    shift_deadline,
    shift_lock,
    spool_folder,
    staging,
    superseded_folder,
)
from teamster.model import BatchId, FileClass, JobId, RunId, RunnerId, ShiftId

ATTEMPT = "runs/b1/j1/steps/s1/attempts/20260114T173000Z_run_1"
B, J, R = BatchId("b1"), JobId("j1"), RunId("run_1")


@pytest.mark.req("PH-8.2.1")
def test_the_tree_is_the_one_of_the_contract() -> None:
    """Other programs find files by these names."""
    directory = attempt_folder(FIRST, R, START)

    assert directory == ATTEMPT
    assert batch_meta_path(B) == "runs/b1/batch_meta.json"
    assert current_path(B, J) == "runs/b1/j1/current.json"
    assert {name: attempt_file(directory, name) for name in AttemptFile if "/" not in name.value} == {
        name: f"{ATTEMPT}/{name.value}" for name in AttemptFile if "/" not in name.value
    }
    assert {name.value for name in AttemptFile} >= {
        "meta.json",
        "state.json",
        "final.json",
        "final.txt",
        "handoff.json",
        "codex.events.jsonl",
        "git_head.txt",
        "git_status.txt",
        "git_diff.patch",
        "files_touched.json",
    }
    assert codex_home(directory) == f"{ATTEMPT}/codex_home"
    assert health_path(RunnerId("r1")) == "runners/r1/health.json"


@pytest.mark.req("PH-8.2.1")
def test_names_of_attempts_sort_by_their_start_whatever_zone_it_was_told_in() -> None:
    """Listing a folder shows the history in its order."""
    zone = timezone(timedelta(hours=5))
    starts = [START + timedelta(seconds=seconds) for seconds in (0, 1, 59, 60, 86_400)]
    names = [attempt_folder(FIRST, RunId(f"r{9 - place}"), moment) for place, moment in enumerate(starts)]

    assert names == sorted(names)
    assert attempt_folder(FIRST, R, START.astimezone(zone)) == attempt_folder(FIRST, R, START)


def test_an_attempts_ids_are_read_back_from_its_path() -> None:
    name = attempt_name(f"{ATTEMPT}/")

    assert (name.step, name.run_id, name.started) == (FIRST, R, "20260114T173000Z")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "runs/b1/j1/steps/s1/attempts/run_1",
        f"/{ATTEMPT}",
        f"{ATTEMPT}/codex_home",
        ATTEMPT.replace("s1", ".."),
        ATTEMPT.replace("run_1", "a.b"),
        ATTEMPT.replace("run_1", "a\n"),
    ],
)
def test_what_is_no_attempts_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is not the directory of an attempt"):
        attempt_name(path)


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a.b", "-a", "a" * 65, "a\n", "é"])
def test_no_id_leads_out_of_its_folder(text: str) -> None:
    """Ids come from tables that anybody may have written."""
    for name in (batch_meta_path, inputs_path, control_path):
        with pytest.raises(ValueError, match="is not an id"):
            name(BatchId(text))
    with pytest.raises(ValueError, match="is not an id"):
        attempt_folder(FIRST, RunId(text), START)
    with pytest.raises(ValueError, match="is not an id"):
        spool_folder(RunId(text))


# The lifecycle audit of the batch document, 8.2.2, for what is there today: path to class, writer and end of change.
AUDIT = {
    "runs/": ("mutable index", "harness", "never"),
    "runs/b1/": ("mutable index", "harness", "never"),
    "runs/b1/j1/": ("mutable index", "harness", "never"),
    "runs/b1/j1/steps/": ("mutable index", "harness", "never"),
    "runs/b1/j1/steps/s1/": ("mutable index", "harness", "never"),
    "runs/b1/j1/steps/s1/attempts/": ("mutable index", "harness", "never"),
    f"{ATTEMPT}/": ("mutable index", "runner", "attempt end"),
    f"{ATTEMPT}/codex_home/": ("mutable index", "runner (agent)", "attempt end"),
    f"{ATTEMPT}/meta.json": ("write-once", "runner", "when it appears"),
    f"{ATTEMPT}/state.json": ("atomic snapshot", "runner", "attempt end"),
    f"{ATTEMPT}/final.json": ("write-once", "runner", "when it appears"),
    f"{ATTEMPT}/final.txt": ("write-once", "runner", "when it appears"),
    f"{ATTEMPT}/handoff.json": ("write-once", "runner", "when it appears"),
    f"{ATTEMPT}/codex.events.jsonl": ("append-only", "runner", "attempt end"),
    f"{ATTEMPT}/git_head.txt": ("write-once", "runner", "attempt end"),
    f"{ATTEMPT}/git_status.txt": ("write-once", "runner", "attempt end"),
    f"{ATTEMPT}/git_diff.patch": ("write-once", "runner", "attempt end"),
    f"{ATTEMPT}/files_touched.json": ("write-once", "runner", "attempt end"),
    "runs/b1/j1/current.json": ("mutable index", "harness", "never"),
    "runs/b1/batch_meta.json": ("write-once", "harness", "when it appears"),
    "runners/": ("mutable index", "runner", "never"),
    "runners/r1/health.json": ("atomic snapshot", "runner", "never"),
}


@pytest.mark.parametrize("path", AUDIT)
def test_each_object_has_one_class_one_writer_and_one_moment_of_immutability(path: str) -> None:
    rule = kept(path)

    assert rule is not None
    assert (rule.file_class.value, rule.writer, rule.immutable_from) == AUDIT[path]


def test_every_name_that_the_room_makes_may_be_kept() -> None:
    """A name that `verify` would call foreign must not be made."""
    paths = [attempt_file(ATTEMPT, name) for name in AttemptFile]
    paths += [f"{ATTEMPT}/", f"{codex_home(ATTEMPT)}/a/b", f"{staging(ATTEMPT)}/last.txt"]
    paths += [batch_meta_path(B), inputs_path(B), control_path(B), current_path(B, J), health_path(RunnerId("r1"))]
    paths += [f"{superseded_folder(B, R, 3)}/final.json", "root.json"]
    paths += [name(RunnerId("r1"), ShiftId("sh1")) for name in (shift_lock, shift_deadline)]

    assert [path for path in paths if kept(path) is None] == []


@pytest.mark.parametrize(
    "path",
    [
        "runs/b1/notes.txt",
        "runs/b1/j1/state.json",
        "runs/.hidden/",
        "runs/b1/j1/steps/s1/attempts/run_1/",
        f"{ATTEMPT}/other.json",
        f"{ATTEMPT}/sub/",
        f"{ATTEMPT}/.teamster/other.json",
        f"{ATTEMPT}/.teamster/staging/a/b",
        f"{ATTEMPT}/meta.json/",
        f"{ATTEMPT}/meta.json\n",
        f"x/{ATTEMPT}/meta.json",
        "runs/b1/.teamster/superseded/run_1/final.json",
    ],
)
def test_nothing_else_may_lie_there(path: str) -> None:
    assert kept(path) is None


def test_only_whole_files_can_be_promised() -> None:
    """A log grows; a row of the outbox replaces."""
    assert draft(f"{ATTEMPT}/state.json", b"x").file_class is FileClass.SNAPSHOT
    with pytest.raises(ValueError, match="it only grows"):
        draft(f"{ATTEMPT}/codex.events.jsonl", b"x")
    with pytest.raises(ValueError, match="no such name"):
        draft(f"{ATTEMPT}/other.json", b"x")


def test_the_table_says_something_about_each_name() -> None:
    assert all(rule.writer and rule.written and rule.immutable_from for rule in KEPT.values())
