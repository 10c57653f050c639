"""Claude Code and OpenCode by the whole way: a table, a rehearsal, real programs, resumed steps, files that verify."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acceptance.playing import PLAY_SECONDS_MAX, TEAMSTER
from agents.programs import program_of

GOAL = " ".join(["This batch shows that the same table is done by other agents, and gone on with by them."] * 12)
RULES = [
    {
        "match": "*.one",
        "moves": [
            {"say": "The word of the day is lantern."},
            {"run": "echo from $TEAMSTER_JOB_ID > word.txt"},
            {"report": {"summary": "said it"}},
        ],
    },
    {"match": "*.two", "moves": [{"report": {"summary": r"it was {remembered:word of the day is (\w+)}"}}]},
]


@pytest.mark.req("PH-2.3", "PH-8.1.1", "PH-8.1.1b", "PH-10.2")
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_a_step_works_reports_and_the_next_one_remembers(agent: str, tmp_path: Path) -> None:
    """Its own shell, its own session, a report in the form; the files of both attempts keep every promise."""
    program = program_of(agent)
    (tmp_path / "work").mkdir()
    subprocess.run(["git", "init", "--quiet", tmp_path / "work"], timeout=60, check=True)
    steps = [
        {"step_id": "one", "prompt": "Say it."},
        {"step_id": "two", "prompt": "Which?", "resume_from": {"step_id": "one"}},
    ]
    table: dict[str, Any] = {
        "batch_goal_summary": GOAL,
        "working_root": "work",
        "execution_policy": {"sandbox": "danger-full-access"},
        "jobs": [{"job_id": "a", "agent": agent, "steps": steps}],
    }
    (tmp_path / "table.json").write_text(json.dumps(table), encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(json.dumps({"rules": RULES}), encoding="utf-8")
    env = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], f"TEAMSTER_{agent.upper()}": program}

    def ask(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [*TEAMSTER, *words, "--root", "root", "--json"] if words[0] == "rehearse" else
            [*TEAMSTER, *words, "--root", "root.rehearsal", "--json"],
            cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PLAY_SECONDS_MAX, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        value: dict[str, Any] = json.loads(done.stdout)
        return value

    board = ask("rehearse", "table.json", "--scenario", "rules.yaml")
    first, second = (ask("show", board["batch_id"], f"a.{step}") for step in ("one", "two"))

    assert board["counts"]["succeeded"] == 2
    assert second["final"]["summary"] == "it was lantern"
    assert second["meta"]["parent_run_id"] == first["run_id"]
    assert second["state"]["codex_thread_id"] == first["state"]["codex_thread_id"]
    assert [attempt["state"]["usage"]["output"] > 0 for attempt in (first, second)] == [True, True]
    assert board["usage"]["output"] == sum(attempt["state"]["usage"]["output"] for attempt in (first, second))
    touched = json.loads((Path(first["path"]) / "files_touched.json").read_text(encoding="utf-8"))
    assert [file["path"] for file in touched["files"]] == ["word.txt"]
    assert ask("verify")["findings"] == []
