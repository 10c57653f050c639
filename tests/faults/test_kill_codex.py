"""The real Codex on a scripted model, its harness killed in the middle: sessions, sandboxes and resumes survive."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.program import ENDS_SECONDS_MAX, Program, wait_until, write_table

JOBS = ("a", "b", "c")
SCENARIO = """\
rules:
  - match: '*.one'
    moves:
      - say: The word of {this:job} is lantern-{this:job}.
      - run: echo line >> seen.{this:job}.{this:step}
      - delay: 1
      - report: {summary: 'first'}
  - match: '*.two'
    moves:
      - run: echo line >> seen.{this:job}.{this:step}
      - delay: 0.5
      - report: {summary: 'it was {remembered:lantern-\\w}'}
"""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[tuple[Program, Path, Path]]:
    """Make a repository, a table with a resume in each job, and what the model plays."""
    work = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(work)], check=True, timeout=ENDS_SECONDS_MAX)
    steps = [
        {"step_id": "one", "prompt": "Remember a word."},
        {"step_id": "two", "prompt": "Which word was it?", "resume_from": "one"},
    ]
    jobs = [{"job_id": job, "working_directory": str(work), "steps": steps} for job in JOBS]
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    program = Program(tmp_path / "root")
    yield program, write_table(tmp_path / "table.json", jobs, concurrency=2), scenario
    program.stop_model()


def lines(root: Path) -> dict[str, int]:
    """Count what each agent wrote into the clone that it works in."""
    seen = root.glob("clones/*/*/seen.*")
    return {path.name.removeprefix("seen."): len(path.read_text(encoding="utf-8").split()) for path in seen}


@pytest.mark.req("PH-7.4", "PH-10.2", "PH-8.2.1c")
@pytest.mark.parametrize("moment", [1, 3, 5])
def test_codex_goes_on_while_its_harness_dies(scene: tuple[Program, Path, Path], moment: int) -> None:
    """Killed when the n-th line was written, and started again: each agent wrote once, each second step remembers."""
    program, table, scenario = scene
    rehearsal = program.root.with_name("root.rehearsal")
    arguments = ("rehearse", str(table), "--scenario", str(scenario))

    harness = program.start(*arguments)
    wait_until(lambda: sum(lines(rehearsal).values()) >= moment, seconds=ENDS_SECONDS_MAX)
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)
    answer = program.call(*arguments)

    assert lines(rehearsal) == {f"{job}.{step}": 1 for job in JOBS for step in ("one", "two")}
    assert answer["counts"]["succeeded"] == 2 * len(JOBS)
    said = {f"{row['job_id']}.{row['step_id']}": row["note"] for row in answer["steps"]}
    assert {said[f"{job}.two"] for job in JOBS} == {f"it was lantern-{job}" for job in JOBS}
    runs = {f"{row['job_id']}.{row['step_id']}": row["run_id"] for row in answer["steps"]}
    for path in rehearsal.glob("runs/*/*/steps/two/attempts/*/meta.json"):
        record = json.loads(path.read_bytes())
        assert record["parent_run_id"] == runs[f"{record['job_id']}.one"]
    assert Program(rehearsal).call("verify")["findings"] == []
