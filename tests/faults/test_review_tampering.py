"""An agent with full access spoils its own attempt at most: neither its harness nor its neighbours, now or later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from faults.program import ENDS_SECONDS_MAX, Program, command_step, wait_until, write_table
from teamster.artifacts import make_whole, open_root
from teamster.kit import RandomNames, SystemClock

PLACES: Final = (
    "SPOOL=${TEAMSTER_SCRATCH%/*}; KEPT=${TEAMSTER_REPORT_FILE%/*/*}; ATTEMPT=${KEPT%/*}; "
    'echo "$TEAMSTER_RUN_ID" >> seen.$TEAMSTER_JOB_ID; '
)
# What an agent does to its own places, and how its attempt ends.
DEEDS: Final[Mapping[str, tuple[str, str]]] = {
    "nothing": ("true", "succeeded"),
    "removes-its-attempt": ("rm -rf $ATTEMPT", "needs_attention"),
    "links-its-attempt-away": ("mv $ATTEMPT moved; ln -s $PWD/moved $ATTEMPT", "needs_attention"),
    "links-our-folder-away": ("mv $KEPT kept; ln -s $PWD/kept $KEPT", "needs_attention"),
    "makes-our-folder-a-file": ("rm -rf $KEPT; echo > $KEPT", "succeeded"),
    "makes-a-folder-of-a-state": ("rm -f $ATTEMPT/state.json; mkdir $ATTEMPT/state.json", "succeeded"),
    "makes-a-folder-of-a-manifest": ("mkdir -p $KEPT/manifest.json/x", "succeeded"),
    "makes-a-pipe-of-the-event-log": ("mkfifo $ATTEMPT/codex.events.jsonl; echo words", "needs_attention"),
    "makes-a-pipe-of-its-complaints": ("rm $SPOOL/stderr; mkfifo $SPOOL/stderr", "succeeded"),
    "makes-a-pipe-of-its-output": ("rm $SPOOL/stdout; mkfifo $SPOOL/stdout", "needs_attention"),
    "makes-a-pipe-of-its-control-file": ("rm $SPOOL/control; mkfifo $SPOOL/control; sleep 1.2", "succeeded"),
    "makes-its-report-a-link": ("ln -s /etc/hostname $TEAMSTER_REPORT_FILE", "needs_attention"),
    "reports-too-much": ("head -c 5000000 /dev/zero > $TEAMSTER_REPORT_FILE", "needs_attention"),
}
UNDONE: Final = {"removes-its-attempt", "links-its-attempt-away"}  # what verify must go on telling


def table_of_deeds(folder: Path, *, after: str = "") -> Path:
    """Write a table with a job for each deed."""
    (folder / "work").mkdir()
    jobs = []
    for name, (deed, _) in DEEDS.items():
        (folder / "work" / name).mkdir()
        steps = [command_step("step", PLACES + after + deed)]
        jobs.append({"job_id": name, "working_directory": str(folder / "work" / name), "steps": steps})
    return write_table(folder / "deeds.json", jobs, concurrency=len(jobs))


def run_to_the_end(program: Program, table: Path) -> Mapping[str, str]:
    """Run to the end, see that every agent ran once, and return how each job ended."""
    answer = program.call("run", str(table), codes=(1,))
    seen = {path.name: path.read_text(encoding="utf-8").split() for path in (table.parent / "work").glob("*/seen.*")}
    assert {name: len(runs) for name, runs in seen.items()} == {f"seen.{name}": 1 for name in DEEDS}
    return {row["job_id"]: row["status"] for row in answer["steps"]}


@pytest.mark.req("PH-5.2")
def test_an_agent_that_tampers_with_its_own_places_spoils_its_own_attempt_alone(tmp_path: Path) -> None:
    """One such agent kept every later harness of its root from starting, or waited for ever at a pipe."""
    program = Program(tmp_path / "root")

    ends = run_to_the_end(program, table_of_deeds(tmp_path))

    assert ends == {name: end for name, (_, end) in DEEDS.items()}
    findings = program.call("verify", codes=(0, 1))["findings"]
    told = {Path(found["path"]).parts[2] for found in findings}
    assert UNDONE <= told <= UNDONE | {"makes-its-report-a-link"}


def test_whoever_adopts_such_attempts_is_not_stopped_by_them(tmp_path: Path) -> None:
    """The next harness meets the same traps before it has seen a word of their agents."""
    program = Program(tmp_path / "root")
    table = table_of_deeds(tmp_path, after="until [ -e ../../go ]; do sleep 0.1; done; ")
    harness = program.start("run", str(table), "--slots", str(len(DEEDS)))
    wait_until(lambda: len(list((tmp_path / "work").glob("*/seen.*"))) == len(DEEDS))
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)
    (tmp_path / "go").touch()
    wait_until((tmp_path / "work" / "links-our-folder-away" / "kept").exists)

    ends = run_to_the_end(program, table)

    # What the dead one had promised is written again, and puts some right before anybody looks.
    assert set(ends.values()) == {"succeeded", "needs_attention"}
    assert ends["nothing"] == "succeeded"


def test_a_shim_that_its_agent_stopped_is_continued_by_whoever_adopts_it(tmp_path: Path) -> None:
    """A stopped shim keeps no limit and sees no end: its step would run for ever."""
    (tmp_path / "work").mkdir()
    stops = 'echo "$TEAMSTER_RUN_ID" >> seen; kill -STOP $PPID'
    job = {"job_id": "only", "working_directory": str(tmp_path / "work"), "steps": [command_step("step", stops)]}
    program, table = Program(tmp_path / "root"), write_table(tmp_path / "table.json", [job])
    harness = program.start("run", str(table))
    wait_until((tmp_path / "work" / "seen").exists)
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)

    answer = program.call("run", str(table))

    assert answer["counts"]["succeeded"] == 1
    assert len((tmp_path / "work" / "seen").read_text(encoding="utf-8").split()) == 1


def test_what_an_agent_closed_even_to_its_owner_is_opened_for_the_manifest(tmp_path: Path) -> None:
    """A manifest that left out what it couldn't read would call it forged later."""
    root = open_root(tmp_path / "root", names=RandomNames(), clock=SystemClock())
    place = root.at("runs/b/j/steps/s/attempts/20260101T000000Z_run_1")
    for folder in (place / ".teamster", place / "closed"):
        folder.mkdir(parents=True)
    for path in (place / "meta.json", place / "closed" / "file"):
        path.touch(mode=0o000)
    (place / "closed").chmod(0o000)

    assert make_whole(root, "runs/b/j/steps/s/attempts/20260101T000000Z_run_1") == ()

    assert place.joinpath("closed").stat().st_mode & 0o700 == 0o700
    assert place.joinpath("closed", "file").stat().st_mode & 0o400 == 0o400
    assert place.joinpath("meta.json").stat().st_mode & 0o400 == 0o400
