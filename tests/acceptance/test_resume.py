"""A resume never changes what it starts from: the trap of copied homes, and the way around it, on the real Codex."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acceptance.bare_codex import BareCodex
from acceptance.filed import FiledBatch, batch_under, sha256, turns_in
from acceptance.playing import teamster
from acceptance.rehearsing import Rehearse

BRANCHES = ("first_way", "second_way", "third_way", "fourth_way", "fifth_way")


def branch_twice(codex: BareCodex, *, own_databases: bool) -> tuple[Path, list[Path], list[int]]:
    """Copy a home twice, go on in both copies, and return the three rollouts and the turns that the model was told."""
    homes = [codex.folder / name for name in ("source", "one", "two")]
    thread = codex.run("Begin.", home=homes[0])
    for copy in homes[1:]:
        shutil.copytree(homes[0], copy, symlinks=True)
    for copy in homes[1:]:
        databases = codex.folder / f"databases-{copy.name}" if own_databases else None
        assert codex.run(f"Go on as {copy.name}.", home=copy, session=thread, databases=databases) == thread
    source, *copies = [next(home.glob("sessions/*/*/*/rollout-*.jsonl")) for home in homes]
    return source, copies, [request.prompts for request in codex.model.requests]


def test_a_resume_in_a_copied_home_changes_the_source(codex: BareCodex) -> None:
    """The trap: the copied database leads back to the source, both exit 0, and nobody is told.

    It is kept as a test so that we notice when Codex mends it.
    """
    source, copies, told = branch_twice(codex, own_databases=False)

    assert turns_in(source) == 3  # its own, and those of both branches
    assert [turns_in(copy) for copy in copies] == [1, 1]
    assert told == [1, 2, 3]  # the second branch has seen the first one's turn


def test_databases_of_its_own_keep_a_resume_in_its_copy(codex: BareCodex) -> None:
    """The way around it, by hand: what Teamster does for each attempt."""
    source, copies, told = branch_twice(codex, own_databases=True)

    assert turns_in(source) == 1
    assert [turns_in(copy) for copy in copies] == [2, 2]
    assert told == [1, 2, 2]


@pytest.mark.req("PH-10.1", "PH-7.4", "PH-8.2.1e")
def test_five_branches_in_parallel_have_exactly_their_own_turns(rehearse: Rehearse) -> None:
    """From one base, at the same time, and the base keeps every byte; it was made without an event log, too."""
    trunk = [
        {"step_id": "first", "prompt": "Begin."},
        {
            "step_id": "second",
            "prompt": "Go on.",
            "resume_from": "first",
            "execution_policy": {"capture_events_jsonl": False},
        },
    ]
    branches = [{"step_id": name, "prompt": "Go your own way.", "resume_from": "second"} for name in BRANCHES]
    heard = "{remembered:here speaks first} {remembered:here speaks second}"
    moves = [{"say": "here speaks {this:step}"}, {"delay": 1}, {"report": {"summary": heard}}]
    done = rehearse([{"job_id": "tree", "steps": [*trunk, *branches]}], [{"moves": moves}])
    assert done.exit_code == 0, done.output
    batch = batch_under(rehearse.root)

    _check_base(batch)
    for name in BRANCHES:
        branch = batch.only(f"tree.{name}")
        text = branch.rollout.read_text(encoding="utf-8")
        assert branch.turns == 3
        assert [request["prompts"] for request in batch.requests(branch.step)] == [3]
        assert [other for other in BRANCHES if f"here speaks {other}" in text] == [name]
        assert branch.json("final.json")["summary"] == "here speaks first here speaks second"
    states = [batch.only(f"tree.{name}").state for name in BRANCHES]
    assert max(state["started_at"] for state in states) < min(state["ended_at"] for state in states)
    assert teamster("verify", "--root", rehearse.root, cwd=rehearse.folder).returncode == 0


def _check_base(batch: FiledBatch) -> None:
    """See that the base is what was sealed before anybody went on from it, and that each copy begins with it."""
    first, base = batch.only("tree.first"), batch.only("tree.second")
    sealed = base.json(".teamster/session.json")
    assert {name: entry["sha256"] for name, entry in sealed["files"].items()} == {
        str(base.rollout.relative_to(base.home)): sha256(base.rollout)
    }
    assert [first.turns, base.turns] == [1, 2]
    assert not base.has("codex.events.jsonl")
    assert base.rollout.read_bytes().startswith(first.rollout.read_bytes())
    for name in BRANCHES:
        branch = batch.only(f"tree.{name}")
        assert branch.rollout.read_bytes().startswith(base.rollout.read_bytes())
        assert branch.meta["parent_run_id"] == base.run_id
        assert branch.meta["codex_thread_id"] == base.state["codex_thread_id"] == branch.state["codex_thread_id"]


DAMAGES = {
    "appended": ("codex_home/sessions/*/*/*/*.jsonl", 'chmod u+w "$1" && echo "{}" >>"$1"', "is not what was sealed"),
    "cut": ("codex_home/sessions/*/*/*/*.jsonl", 'chmod u+w "$1" && truncate -s -1 "$1"', "was cut"),
    "removed": ("codex_home/sessions/*/*/*/*.jsonl", 'rm -f "$1"', "is missing"),
    "forgotten": (".teamster/session.json", 'rm -f "$1"', "can't be read"),
}


@pytest.mark.req("PH-7.4")
def test_a_base_that_was_damaged_is_not_resumed(rehearse: Rehearse) -> None:
    """A conversation that is not the one that was sealed would answer all the same; so nobody is asked."""
    jobs = []
    for job, (pattern, damage, _) in DAMAGES.items():
        script = f'set -- "$1"/runs/*/{job}/steps/base/attempts/*/{pattern} && {damage}'
        command = ["sh", "-c", script, "sh", str(rehearse.root)]
        steps = [
            {"step_id": "base", "prompt": "Begin."},
            {"step_id": "damage", "depends_on": "base", "command": command},
            {"step_id": "resume", "depends_on": "damage", "resume_from": "base", "prompt": "Go on."},
        ]
        jobs.append({"job_id": job, "steps": steps})
    done = rehearse(jobs, [])
    assert done.exit_code == 1, done.output
    batch = batch_under(rehearse.root)

    for job, (_, _, reason) in DAMAGES.items():
        refused = batch.only(f"{job}.resume")
        assert refused.state["status"] == "needs_attention"
        assert refused.state["failure_class"] == "base_touched"
        assert reason in refused.state["reason"]
        assert f"needs_attention {job}.resume" in done.output
        assert batch.requests(f"{job}.resume") == []
        assert not any(refused.has(name) for name in (".teamster/exit.json", "codex.events.jsonl", "final.txt"))
    found = json.loads(teamster("verify", "--json", "--root", rehearse.root, cwd=rehearse.folder).stdout)
    assert not found["clean"]
    damaged = {name for name in DAMAGES for finding in found["findings"] if f"/{name}/steps/base/" in finding["path"]}
    assert damaged == set(DAMAGES)
