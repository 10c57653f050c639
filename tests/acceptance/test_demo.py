"""`make demo` on the real Codex, judged by the files that it leaves behind."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from acceptance.filed import FiledBatch, sha256
from acceptance.playing import TERMINAL, Played, files_of

SCHEMA = Path(__file__).resolve().parents[2] / "schemas" / "run_report.schema.json"
RUN = r"[0-9]{8}T[0-9]{6}Z_run_[0-9a-f]+"
OF_AN_ATTEMPT = [
    r"(meta|state|final|files_touched)\.json",
    r"final\.txt",
    r"codex\.events\.jsonl",
    r"git_(head\.txt|status\.txt|diff\.patch)",
    r"codex_home/.+",
    r"\.teamster/(exit|session|verdict|manifest)\.json",
    r"\.teamster/stderr\.txt",
    r"\.teamster/staging/.+",
]
TREE = [
    r"batch_meta\.json",
    r"\.teamster/inputs\.jsonl",
    r"[a-z]+/current\.json",
    *(rf"[a-z]+/steps/[a-z]+/attempts/{RUN}/{name}" for name in OF_AN_ATTEMPT),
]
MODEL_KEY = b"scripted-model-takes-any-key"


def test_the_demo_goes_as_scripted_and_says_where_to_look_next(played: Played) -> None:
    """A newcomer sees progress, scoreboard, memory, diff, and what to type next; the exit code says that it is so."""
    assert played.exit_code == 0, played.output
    for text in (
        "succeeded review.join",
        "11 succeeded, 1 needs_attention",
        "memory.twin went on from a copy of that conversation, and reported: I rolled ",
        '-cat "$@" | grep -c .\n+cat "$@" | grep -c \'\'',
        "clean: 13 attempts",
        f"look:  teamster show demo question.decide --root '{played.root}'",  # quoted, since its path has a blank
        "teamster retry demo question.decide --root demo/root.rehearsal",
    ):
        assert text in played.output, played.output
    assert list((played.root / "spool").iterdir()) == []
    assert not (played.root / "model" / "model.json").exists()  # nobody is left behind


@pytest.mark.req("PH-8.2.1")
def test_the_tree_holds_what_is_promised_and_nothing_else(batch: FiledBatch) -> None:
    """Every file is found from ids alone, and the names of attempts sort by their start."""
    names = [name for name, _ in files_of(batch.path)]

    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in TREE)] == []
    assert {attempt.step for attempt in batch.attempts} == {
        *("flaky.fetch", "memory.recall", "memory.roll", "memory.twin", "mend.confirm", "mend.fix", "mend.read"),
        *("question.decide", "review.join", "review.logic", "review.words", "survey.count"),
    }
    for attempt in batch.attempts:
        started = attempt.state["started_at"]
        assert attempt.path.name.partition("_")[0] == re.sub(r"[-:]|\.\d+", "", started)
    first, second = batch.tries("flaky.fetch")
    assert first.state["started_at"] < second.state["started_at"]


@pytest.mark.req("PH-5.2")
def test_records_are_correlated_by_their_ids(batch: FiledBatch) -> None:
    """What belongs together is found from any end: from the path, from a record, from the agent's own thread."""
    run_ids = [attempt.run_id for attempt in batch.attempts]
    threads = {(line["job_id"], line["thread"]) for a in batch.attempts for line in batch.requests(a.step)}

    assert len(set(run_ids)) == len(run_ids) == 13
    for attempt in batch.attempts:
        meta, job = attempt.meta, batch.current(attempt.meta["job_id"])
        assert meta["batch_id"] == job["batch_id"] == batch.path.name == "demo"
        assert f"{meta['job_id']}.{meta['step_id']}" == attempt.step
        assert meta["run_id"] == attempt.run_id
        assert meta["runner_id"].startswith("runner-")
        assert job["steps"][meta["step_id"]]["by_run_id"][attempt.run_id]["attempt_dir"] == f"{attempt.name}/"
        thread = attempt.state["codex_thread_id"]
        assert thread is None or (meta["job_id"], thread) in threads


@pytest.mark.req("PH-8.2.1m")
def test_meta_says_how_each_attempt_was_run(batch: FiledBatch) -> None:
    """Who reads a result later needs to know what was asked, under which policy, with which versions, and where."""
    lines = (batch.path / ".teamster" / "inputs.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = {value["sha256"]: value["text"] for value in map(json.loads, lines)}

    for attempt in batch.attempts:
        meta, about = attempt.meta, attempt.meta["environment"]
        assert meta["prompt_sha256"] in prompts
        assert meta["policy"]["approval_policy"] == "never"
        assert meta["policy"]["web_search_enabled"] is False
        assert meta["workspace_policy"] == {"mode": "shared"}
        assert Path(about["working_directory"]).parent == batch.root / "clones" / "demo"
        assert about["teamster_version"]
        assert about["agent"] == ("command" if attempt.step == "survey.count" else "codex")
        assert about["agent"] == "command" or re.fullmatch(r"\d+\.\d+\.\d+", about["agent_version"])
        is_resumed = attempt.step in {"memory.recall", "memory.twin", "mend.confirm"}
        assert meta["invocation"] == ("resume" if is_resumed else "exec")
        assert (meta["resume_from"] is not None) == (meta["parent_run_id"] is not None) == is_resumed
    assert batch.only("memory.roll").meta["policy"]["sandbox"] == "read-only"
    assert batch.only("mend.fix").meta["policy"]["sandbox"] == "workspace-write"
    assert prompts[batch.only("mend.fix").meta["prompt_sha256"]] == "tally.sh leaves out empty lines. Repair it."


@pytest.mark.req("PH-8.2.1s")
def test_states_are_whole_and_were_legal_whenever_somebody_looked(played: Played, batch: FiledBatch) -> None:
    """A reader that polls sees an attempt run, and then its end, which stays."""
    fields = {"status", "started_at", "ended_at", "last_heartbeat_at", "current_item", "artifacts", "errors"}

    for attempt in batch.attempts:
        state, statuses = attempt.state, played.seen[attempt.name].statuses
        assert fields <= state.keys()
        assert state["status"] in TERMINAL
        assert state["started_at"] <= state["last_heartbeat_at"] <= state["ended_at"]
        assert state["exit_code"] == (1 if state["status"] == "failed" else 0)
        assert statuses in {("running", state["status"]), (state["status"],)}
        assert all("\n" not in error for error in state["errors"])
    assert sum(seen.statuses[0] == "running" for seen in played.seen.values()) >= 6  # live, not only afterwards
    assert batch.only("question.decide").state["status"] == "needs_attention"


@pytest.mark.req("PH-7.3")
def test_a_run_ends_with_its_report_its_text_and_the_state_of_the_repository(batch: FiledBatch) -> None:
    """A report in the step's form is kept as it was written; the repository's state is kept after a failure too."""
    schema = Draft202012Validator(json.loads(SCHEMA.read_bytes()))

    for attempt in batch.attempts:
        verdict, status = attempt.json(".teamster/verdict.json"), attempt.state["status"]
        assert verdict["status"] == status
        assert all(attempt.has(name) for name in ("git_head.txt", "git_status.txt", "git_diff.patch"))
        is_reported = attempt.step != "survey.count" and status != "failed"
        assert attempt.has("final.json") == is_reported
        if is_reported:
            if attempt.step != "review.join":
                schema.validate(attempt.json("final.json"))
            assert attempt.text("final.json") == attempt.text("final.txt")
            assert verdict["report_status"] == attempt.json("final.json")["status"]
    # The model answers in the form that it is asked for, and would refuse a field that the form doesn't have.
    assert batch.only("review.join").json("final.json")["may_be_released"] is True
    failed = batch.tries("flaky.fetch")[0]
    assert failed.state["failure_class"] == "network"
    assert "The service is away for a moment." in failed.state["reason"]
    assert batch.only("survey.count").text("final.txt").strip().endswith("total")


@pytest.mark.req("PH-8.3")
def test_current_points_at_the_latest_and_the_latest_successful_run_of_each_step(batch: FiledBatch) -> None:
    """Orchestration needs one small file per job, and nothing else stands in it."""
    for job in ("flaky", "memory", "mend", "question", "review", "survey"):
        current = batch.current(job)
        assert current.keys() == {"batch_id", "job_id", "updated_at", "steps"}
        for step_id, pointers in current["steps"].items():
            tries = batch.tries(f"{job}.{step_id}")
            done = [attempt for attempt in tries if attempt.state["status"] == "succeeded"]
            wanted = {"latest": tries[-1], **({"latest_successful": done[-1]} if done else {})}
            assert pointers.keys() == {"by_run_id", *wanted}
            for name, attempt in wanted.items():
                assert pointers[name]["run_id"] == attempt.run_id
                assert pointers[name]["resume_base_dir"] == f"{attempt.name}/codex_home/"
                assert pointers[name].get("codex_thread_id") == attempt.state["codex_thread_id"]
            assert pointers["by_run_id"] == {
                attempt.run_id: {
                    "attempt_dir": f"{attempt.name}/",
                    "resume_base_dir": f"{attempt.name}/codex_home/",
                    "status": attempt.state["status"],
                    "ended_at": attempt.state["ended_at"],
                }
                for attempt in tries
            }


@pytest.mark.req("PH-8.2.1g")
def test_what_an_agent_changed_is_kept_as_a_diff(batch: FiledBatch) -> None:
    """The diff leads from the commit that is named to what lies there now."""
    fix = batch.only("mend.fix")
    clone = Path(fix.meta["environment"]["working_directory"])
    git = ["git", "-C", str(clone)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=30, check=True)
    subprocess.run(
        [*git, "apply", "--check", "--reverse", str(fix.path / "git_diff.patch")],
        capture_output=True,
        timeout=30,
        check=True,
    )

    assert fix.text("git_head.txt") == head.stdout
    assert fix.text("git_status.txt") == " M tally.sh\n"
    assert re.findall(r"^diff --git .*", fix.text("git_diff.patch"), re.MULTILINE) == [
        "diff --git a/tally.sh b/tally.sh"
    ]
    touched = fix.json("files_touched.json")
    assert touched["files"] == [{"path": "tally.sh", "change": "modified"}]
    assert touched["may_include_neighbours"] is True  # the workspace is shared
    assert batch.only("mend.read").json("files_touched.json")["files"] == []


@pytest.mark.req("PH-8.2.1e")
def test_events_are_only_ever_appended_and_name_the_thread(played: Played, batch: FiledBatch) -> None:
    """Events are for people who ask what happens; who reads along never has to begin again."""
    for attempt in batch.attempts:
        seen = played.seen[attempt.name]
        assert seen.appended
        assert attempt.text("codex.events.jsonl").startswith(seen.log)
        kinds = [event["type"] for event in attempt.events]
        if attempt.meta["environment"]["agent"] == "command":
            assert set(kinds) == {"teamster.output"}
        else:
            assert kinds[0] == "thread.started"
            assert attempt.events[0]["thread_id"] == attempt.state["codex_thread_id"]
            assert kinds[-1] == ("turn.failed" if attempt.state["status"] == "failed" else "turn.completed")


@pytest.mark.req("PH-5.3a")
def test_an_attempt_never_changes_once_its_state_is_final(played: Played, batch: FiledBatch) -> None:
    """A reader that saw the end has seen all: the files of that moment are those of the manifest and of today."""
    for attempt in batch.attempts:
        now = files_of(attempt.path)
        listed = attempt.json(".teamster/manifest.json")["files"]
        assert dict(now).keys() - listed.keys() == {".teamster/manifest.json"}
        assert {name: entry["sha256"] for name, entry in listed.items()}.items() <= dict(now).items()
        assert played.seen[attempt.name].files == now
        for name, _ in now:
            mode = (attempt.path / name).stat().st_mode & 0o777
            assert mode == (0o400 if name.startswith("codex_home/") else 0o444), name


@pytest.mark.req("PH-5.3b")
def test_a_retry_is_a_new_run_beside_the_first(batch: FiledBatch) -> None:
    """What failed stays as it was: a person can compare the two."""
    first, second = batch.tries("flaky.fetch")

    assert [first.state["status"], second.state["status"]] == ["failed", "succeeded"]
    assert first.run_id != second.run_id
    assert first.state["ended_at"] < second.state["started_at"]
    assert first.state["codex_thread_id"] != second.state["codex_thread_id"]
    assert (second.meta["invocation"], second.meta["parent_run_id"]) == ("exec", None)
    assert [first.meta["attempt"], second.meta["attempt"]] == [1, 2]
    assert second.json("final.json")["summary"] == "Attempt 2 went through."


@pytest.mark.req("PH-8.2.1c")
def test_every_attempt_has_a_home_of_its_own_without_credentials(batch: FiledBatch) -> None:
    """A home that is shared, or that holds a key, can't be kept or handed on."""
    for attempt in batch.attempts:
        if attempt.meta["environment"]["agent"] == "codex":
            assert attempt.state["codex_thread_id"] in attempt.rollout.name
            assert not any((attempt.home / name).exists() for name in ("auth.json", "config.toml"))
            assert [path for path in attempt.home.rglob("*") if path.is_symlink()] == []
            assert {path.stat().st_nlink for path in attempt.home.rglob("*") if path.is_file()} == {1}
        else:
            assert not attempt.home.exists()
    holds_key = [name for name, _ in files_of(batch.path) if MODEL_KEY in (batch.path / name).read_bytes()]
    assert holds_key == []


@pytest.mark.req("PH-7.4", "PH-5.3b")
def test_a_resumed_run_starts_from_a_copy_of_its_base_and_is_linked_to_it(batch: FiledBatch) -> None:
    """The copy begins with the very bytes of the base, and the base is still what was sealed."""
    for step, source in (
        ("memory.recall", "memory.roll"),
        ("memory.twin", "memory.roll"),
        ("mend.confirm", "mend.read"),
    ):
        resumed, base = batch.only(step), batch.only(source)
        sealed = base.json(".teamster/session.json")
        assert resumed.meta["parent_run_id"] == base.run_id
        assert resumed.meta["resume_from"] == {
            "step_id": source.partition(".")[2],
            "run_id": base.run_id,
            "resume_base_dir": f"{base.name}/codex_home/",
            "source_session_sha256": sealed["session_sha256"],
        }
        assert {name: entry["sha256"] for name, entry in sealed["files"].items()} == {
            str(base.rollout.relative_to(base.home)): sha256(base.rollout)
        }
        assert resumed.rollout.read_bytes().startswith(base.rollout.read_bytes())
        assert resumed.state["started_at"] > base.state["ended_at"]


@pytest.mark.req("PH-10.2")
def test_chains_are_rebuilt_from_meta_files_alone(batch: FiledBatch) -> None:
    """Who lost everything else still knows which conversation went on from which."""
    metas = {meta["run_id"]: meta for meta in (attempt.meta for attempt in batch.attempts)}
    chains = []
    for meta in metas.values():
        chain = [meta]
        while chain[0]["parent_run_id"] is not None:
            chain.insert(0, metas[chain[0]["parent_run_id"]])
        chains.append(chain)

    assert sorted([link["step_id"] for link in chain] for chain in chains if len(chain) > 1) == [
        ["read", "confirm"],
        ["roll", "recall"],
        ["roll", "twin"],
    ]
    threads = {attempt.run_id: attempt.state["codex_thread_id"] for attempt in batch.attempts}
    for chain in chains:
        for parent, child in pairwise(chain):
            assert child["codex_thread_id"] == threads[child["run_id"]] == threads[parent["run_id"]]


@pytest.mark.req("PH-10.1")
def test_two_branches_from_one_base_know_its_turn_and_their_own(batch: FiledBatch) -> None:
    """Only the conversation held the number; the branches quote it, and neither has heard of the other."""
    roll = batch.only("memory.roll")
    (number,) = set(re.findall(r"rolled ([0-9a-f]{8})", roll.text("codex.events.jsonl")))

    assert roll.turns == 1
    assert number not in roll.text("final.txt")
    for step in ("memory.recall", "memory.twin"):
        branch = batch.only(step)
        assert branch.turns == 2
        assert branch.json("final.json")["summary"] == f"I rolled {number}."
        assert [request["prompts"] for request in batch.requests(step)] == [2]


@pytest.mark.req("PH-11.1")
def test_a_resumed_step_works_on_the_workspace_as_it_is_now(batch: FiledBatch) -> None:
    """Its conversation is from before the repair, its files are from after it: nothing is rolled back."""
    read, fix, confirm = (batch.only(f"mend.{name}") for name in ("read", "fix", "confirm"))
    places = {attempt.meta["environment"]["working_directory"] for attempt in (read, fix, confirm)}

    assert len(places) == 1
    assert "check failed: tally.sh says 3 lines, wc says 5" in read.text("codex.events.jsonl")
    assert "check passed: 5 lines" in confirm.text("codex.events.jsonl")
    assert confirm.json("final.json")["summary"] == "Before: tally.sh says 3 lines, wc says 5. Now: 5 lines."
    assert read.state["ended_at"] < fix.state["started_at"] < fix.state["ended_at"] < confirm.state["started_at"]
    assert confirm.turns == 2  # that of `read` and its own; the repair was another conversation


def test_a_step_that_joins_others_waits_for_all_of_them(batch: FiledBatch) -> None:
    """The reviewers work at the same time, who joins their findings comes after both."""
    logic, words, join = (batch.only(f"review.{name}").state for name in ("logic", "words", "join"))

    assert max(logic["started_at"], words["started_at"]) < min(logic["ended_at"], words["ended_at"])
    assert max(logic["ended_at"], words["ended_at"]) <= join["started_at"]
