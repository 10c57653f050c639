"""A harness that is killed at any moment loses nothing and runs nothing twice."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from faults.program import Program, command_step, write_table

JOBS = 12
KILL_SECONDS_MAX = 2.5  # start-up included: a kill may come before, while and after the agents run
ROUNDS = 20


def table_of_witnesses(folder: Path) -> Path:
    """Write a table of jobs with two steps each; every agent appends a line to a file of its own."""
    jobs = []
    for number in range(JOBS):
        seen = folder / "seen" / f"job{number}"
        script = f'echo "$TEAMSTER_RUN_ID" >> {seen}.$TEAMSTER_STEP_ID; sleep 0.{number % 4}; echo done'
        steps = [command_step("one", script), command_step("two", script, depends_on=["one"])]
        jobs.append({"job_id": f"job{number}", "working_directory": str(folder / "work"), "steps": steps})
    (folder / "seen").mkdir()
    (folder / "work").mkdir()
    return write_table(folder / "witnesses.json", jobs, concurrency=6)


@pytest.mark.req("DC-own", "DC-claim", "PH-5.3a", "PH-7.3")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_harness_adopts_its_agents_and_finishes(tmp_path: Path, seed: int) -> None:
    """The lines that agents leave outside of the store are the witnesses: one for each step, no more and no less."""
    program, table = Program(tmp_path / "root"), table_of_witnesses(tmp_path)
    moment = random.Random(seed).uniform(0.3, KILL_SECONDS_MAX)  # noqa: S311 - a moment, not a secret

    program.run_and_kill("run", str(table), after_seconds=moment)
    answer = program.call("run", str(table))

    seen = {path.name: path.read_text(encoding="utf-8").split() for path in (tmp_path / "seen").iterdir()}
    assert sorted(seen) == sorted(f"job{number}.{step}" for number in range(JOBS) for step in ("one", "two"))
    assert {name: len(runs) for name, runs in seen.items() if len(runs) != 1} == {}
    assert answer["counts"]["succeeded"] == 2 * JOBS
    told = {f"{row['job_id']}.{row['step_id']}": row["run_id"] for row in answer["steps"]}
    assert told == {name: runs[0] for name, runs in seen.items()}
    assert program.call("verify")["findings"] == []
    ran = {runs[0] for runs in seen.values()}
    for path in (tmp_path / "root").glob("runs/*/*/steps/*/attempts/*/state.json"):
        state = json.loads(path.read_bytes())
        if path.parent.name.partition("_")[2] in ran:
            assert state["status"] == "succeeded"
        else:  # killed between the claim and the gate: it never began
            assert (state["failure_class"], state["started_at"]) == ("lost", state["ended_at"])
