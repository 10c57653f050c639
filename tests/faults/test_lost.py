"""Harness, shim and agent die one without the other: what is left is adopted, taken from the record, or ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faults.program import ENDS_SECONDS_MAX, Program, command_step, is_there, wait_until, write_table

WAITS = 'echo "$TEAMSTER_RUN_ID" >> seen; until [ -e go ]; do sleep 0.05; done; echo done'
# The first try never ends, and neither does a child of it in a session of its own; the second looks for both.
LEAVES_A_CHILD = """
if [ ! -e first ]; then
  setsid sleep 1000 & echo "$PPID $$ $!" > first.new; mv first.new first; exec sleep 1000
fi
read shim agent child < first
kill -0 $agent 2>/dev/null && echo agent >> overlap
kill -0 $child 2>/dev/null && echo child >> overlap
echo done
"""


def scene(folder: Path, script: str) -> tuple[Program, Path, Path]:
    """Return a program, a table of one step, and the folder where its agent works."""
    work = folder / "work"
    work.mkdir()
    job = {"job_id": "only", "working_directory": str(work), "steps": [command_step("step", script)]}
    return Program(folder / "root"), write_table(folder / "table.json", [job]), work


def attempts(root: Path) -> list[Path]:
    """Return the directories of all attempts, oldest first."""
    return sorted(root.glob("runs/*/*/steps/*/attempts/*"), key=lambda path: (path / "meta.json").stat().st_mtime_ns)


def only_run(answer: dict[str, Any]) -> str:
    """Return the run that a batch of one step ended with."""
    assert answer["counts"]["succeeded"] == 1
    return str(answer["steps"][0]["run_id"])


@pytest.mark.req("DC-own", "PH-5.2")
def test_an_agent_that_ended_while_no_harness_was_up_is_finished_from_its_record(tmp_path: Path) -> None:
    """Its result is there; to run it again would do its work twice."""
    program, table, work = scene(tmp_path, WAITS)
    harness = program.start("run", str(table))
    wait_until((work / "seen").exists)
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)

    (work / "go").touch()
    (attempt,) = attempts(program.root)
    wait_until((attempt / ".teamster" / "exit.json").exists)
    answer = program.call("run", str(table))

    assert (work / "seen").read_text(encoding="utf-8").split() == [only_run(answer)]
    assert (attempt / "final.txt").read_text(encoding="utf-8") == "done"
    assert program.call("verify")["findings"] == []


def test_an_agent_that_lives_is_adopted(tmp_path: Path) -> None:
    """A harness is killed, or upgraded, without its agents noticing."""
    program, table, work = scene(tmp_path, WAITS)
    harness = program.start("run", str(table))
    wait_until((work / "seen").exists)
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)

    again = program.start("run", str(table))
    (attempt,) = attempts(program.root)
    control = program.root / "spool" / attempt.name.partition("_")[2] / "control"
    before = control.read_bytes()
    wait_until(lambda: control.read_bytes() != before)  # the adopter's deadline is the one to obey now
    (work / "go").touch()
    again.communicate(timeout=ENDS_SECONDS_MAX)

    assert again.returncode == 0
    assert len((work / "seen").read_text(encoding="utf-8").split()) == 1
    assert attempts(program.root) == [attempt]
    assert program.call("verify")["findings"] == []


@pytest.mark.parametrize("harness_too", [False, True], ids=["the harness lives", "the harness died as well"])
def test_a_killed_shim_takes_its_tree_along_before_the_next_try(tmp_path: Path, harness_too: bool) -> None:  # noqa: FBT001
    """An agent that nobody watches may still write: it is ended, with every child, before its step is claimed again."""
    program, table, work = scene(tmp_path, LEAVES_A_CHILD)
    harness = program.start("run", str(table))
    wait_until((work / "first").exists)
    shim, agent, child = (int(pid) for pid in (work / "first").read_text(encoding="utf-8").split())

    if harness_too:
        harness.kill()
        harness.communicate(timeout=ENDS_SECONDS_MAX)
    os.kill(shim, signal.SIGKILL)
    answer = program.call("run", str(table))
    harness.communicate(timeout=ENDS_SECONDS_MAX)

    assert not (work / "overlap").exists()
    assert not is_there(agent)
    assert not is_there(child)
    assert [Path(path).name.partition("_")[2] for path in attempts(program.root)][-1] == only_run(answer)
    assert len(attempts(program.root)) == 2
    assert program.call("verify")["findings"] == []


@pytest.mark.req("DC-lease", "DC-own")
def test_a_stopped_harness_is_ended_by_who_takes_over(tmp_path: Path) -> None:
    """Stopped it holds its lock, past its lease, and would write when it wakes; its agent never notices."""
    program, table, work = scene(tmp_path, WAITS)
    stopped = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("short_shift.py")), str(table), str(program.root)],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until((work / "seen").exists)
    stopped.send_signal(signal.SIGSTOP)

    taker = program.start("run", str(table))
    assert stopped.wait(timeout=ENDS_SECONDS_MAX) == -signal.SIGKILL
    (work / "go").touch()
    taker.communicate(timeout=ENDS_SECONDS_MAX)

    assert taker.returncode == 0
    assert len((work / "seen").read_text(encoding="utf-8").split()) == 1
    assert len(attempts(program.root)) == 1
    assert program.call("verify")["findings"] == []
