"""Each verb as a person uses it, and as a program does: text, JSON, exit codes."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from cli.teamster import Teamster, lines
from operations.place import Place, step
from teamster.model import BatchId
from teamster.rehearsal import stop_model

JOBS = {
    "good": [step("first", "echo 1"), step("second", "echo 2", depends_on=["first"])],
    "bad": [step("only", "echo oh [no] >&2; test -f mended"), step("after", "true", depends_on=["only"])],
}
BOARD_KEYS = {
    "root",
    "batch_id",
    "submitted_at",
    "computed_at",
    "batch_goal_summary",
    "jobs_total",
    "steps_total",
    "settled",
    "usage",
    "counts",
    "attention",
    "steps",
    "superseded",
}


@pytest.fixture
def ran(place: Place, teamster: Teamster) -> str:
    """Run a table with a failure, and return its batch."""
    place.write("table.json", JOBS)
    said = teamster("run", "table.json", "--json")
    assert said.code == 1
    return str(said.json["batch_id"])


def test_a_run_tells_each_end_the_board_and_where_to_look(place: Place, teamster: Teamster) -> None:
    place.write("table.json", JOBS)
    said = teamster("run", "table.json")

    assert said.code == 1
    assert said.err.splitlines()[0] == f"root {place.root} (TEAMSTER_ROOT)"
    assert "failed bad.only" in said.err
    assert "succeeded good.second" in said.err
    batch = lines(said)[0].split()[0]
    assert lines(said) == [
        f"{batch}  2 jobs, 4 steps: 1 blocked, 2 succeeded, 1 failed",
        "step         status     tries  note",
        "good.first   succeeded  1      exit code 0, and no report was asked for",
        "good.second  succeeded  1      exit code 0, and no report was asked for",
        "bad.only     failed     1      exit code 1: oh [no]",
        "bad.after    blocked           waits for bad.only (failed)",
    ]
    assert said.err.splitlines()[-3:] == [
        f"files: {place.root}/runs/{batch}",
        f"look:  teamster show {batch} bad.only",
        f"again: teamster retry {batch}",
    ]


def test_the_same_table_again_goes_on_with_its_batch(place: Place, teamster: Teamster, ran: str) -> None:
    """A settled one runs nothing; what was mended runs after a retry."""
    said = teamster("run", "table.json")
    assert said.code == 1
    assert f"going on with batch {ran}" in said.err
    assert len(place.attempts(BatchId(ran), "bad", "only")) == 1

    (place.folder / "work" / "mended").touch()
    retried = teamster("retry", ran)
    assert lines(retried)[0] == "bad.only: enqueued again, generation 2"
    assert lines(retried)[1] == f"run them: teamster run {place.folder}/table.json, or teamster up"
    assert teamster("run", "table.json").code == 0


def test_a_changed_table_is_refused_unless_it_is_meant(place: Place, teamster: Teamster, ran: str) -> None:
    place.write("table.json", {"good": JOBS["good"]})
    said = teamster("run", "table.json")
    assert said.code == 2
    assert f"is not what became batch {ran}; changed: " in said.err
    assert "--new" in said.err

    new = teamster("run", "table.json", "--new", "--json")
    assert new.code == 0
    assert new.json["batch_id"] != ran
    assert new.json["created"] is True


@pytest.mark.req("PH-7.1")
def test_a_submission_answers_what_it_took_or_all_that_is_wrong(place: Place, teamster: Teamster) -> None:
    """Fields, words, cycles, missing files: told at once, each with its place; nothing was enqueued."""
    bad = [
        step("one", "true", depends_on=["two"]),
        step("two", "true", depends_on=["one"]),
        {"step_id": "three", "prompt_ref": "nowhere.md", "output_schema_ref": "nowhere.json", "sizzle": 1},
    ]
    place.write("bad.json", {"a": bad}, batch_goal_summary="too short")
    refused = teamster("submit", "bad.json", "--json")

    assert refused.code == 2
    problems = refused.json["error"]["problems"]
    told = " ".join(f"{problem['field']}: {problem['fact']}" for problem in problems)
    for word in ("batch_goal_summary: it has 2 words", "nowhere.md", "nowhere.json", "sizzle"):
        assert word in told
    assert all(problem["place"] for problem in problems)
    assert not place.root.exists()
    place.write("cycle.json", {"a": bad[:2]})
    cycle = teamster("submit", "cycle.json", "--json")
    assert cycle.code == 2
    assert len(cycle.json["error"]["problems"]) >= 1

    unnamed: dict[str, Any] = {"working_directory": str(place.folder / "work"), "steps": [step("", "true")]}
    del unnamed["steps"][0]["step_id"]
    place.write_jobs("good.json", [unnamed])
    taken = teamster("submit", "good.json", "--json")
    assert taken.code == 0
    assert set(taken.json) == {"root", "batch_id", "created", "accepted_job_ids"}
    assert (taken.json["created"], taken.json["accepted_job_ids"]) == (True, ["job1"])
    assert teamster("submit", "good.json", "--json").json == {**taken.json, "created": False}
    board = teamster("status", taken.json["batch_id"], "--json").json
    assert [(row["job_id"], row["step_id"], row["status"]) for row in board["steps"]] == [("job1", "step1", "ready")]


def test_submitting_and_working_can_be_two_commands(place: Place, teamster: Teamster) -> None:
    """`up` does what was handed over; what it says afterwards is about that."""
    place.write("table.json", JOBS)
    said = teamster("submit", "table.json")
    assert "enqueued, 2 jobs; teamster up runs it" in said.out
    assert "there already" in teamster("submit", "table.json").out

    up = teamster("up", "--until-idle", "--json")
    assert up.code == 1
    assert set(up.json) == {"root", "settled", "batches", "held"}
    assert [row["counts"]["succeeded"] for row in up.json["batches"]] == [2]
    idle = teamster("up", "--until-idle")
    assert (idle.code, idle.out) == (0, "")
    assert "nothing was waiting to run" in idle.err


def test_a_batch_whose_agent_has_no_key_is_told_and_left_and_the_others_run(place: Place, teamster: Teamster) -> None:
    """One batch without its agent keeps nobody else from working."""
    place.write("table.json", {"a": [step("only", "true")]})
    asks = {"step_id": "only", "prompt": "Do it.", "execution_policy": {"skip_git_repo_check": True}}
    place.write("codex.json", {"a": [asks]})
    teamster("submit", "table.json")
    held = teamster("submit", "codex.json", "--json").json["batch_id"]

    up = teamster("up", "--until-idle")

    assert up.code == 2
    told = [line for line in up.err.splitlines() if line.startswith(("held back", "hint:"))]
    assert told[0] == f"held back {held}: codex has no key and no login; it stays queued"
    assert told[1].startswith("hint:  set CODEX_API_KEY")
    assert len(told) == 2
    counts = {row["batch_id"]: row["counts"] for row in teamster("status", "--json").json["batches"]}
    assert counts.pop(held)["ready"] == 1
    assert [row["succeeded"] for row in counts.values()] == [1]


@pytest.mark.parametrize("verb", ["validate", "run", "rehearse"])
def test_a_program_that_agents_will_not_find_is_told_before_anything_is_enqueued(
    place: Place, teamster: Teamster, verb: str
) -> None:
    """Else each step that names it fails by itself, hours later."""
    place.write("table.json", {"a": [step("only", "true"), {**step("bad", ""), "command": ["no-such-program", "x"]}]})
    said = teamster(verb, "table.json")

    assert said.code == 3
    assert "step a.bad wants the program no-such-program, which is not on the PATH that agents get" in said.err
    assert f"agents get PATH={place.env['PATH']}" in said.err
    assert not place.root.exists()


def test_a_rehearsal_warns_of_rules_that_fit_no_step(place: Place, teamster: Teamster) -> None:
    place.write("table.json", {"a": [step("only", "true")]})
    (place.folder / "mine.yaml").write_text("rules:\n  - match: a.olny\n", encoding="utf-8")
    said = teamster("rehearse", "table.json", "--scenario", "work/../mine.yaml")
    told = [line for line in said.err.splitlines() if line.startswith("warning: ")]
    again = teamster("rehearse", "table.json", "--scenario", "mine.yaml", "--json")
    stop_model(place.root.with_name("root.rehearsal") / "model")

    nearest = "rules[1].match: a.olny fits no step of the table; nearest is a.only"
    assert (said.code, told) == (0, [f"warning: {place.folder / 'mine.yaml'}: {nearest}"])
    assert (again.err, again.json["warnings"]) == ("", [nearest])


def test_problems_are_placed_without_detours(place: Place, teamster: Teamster) -> None:
    """`/a/b/../c` is what nobody typed, and no editor's link."""
    place.write("bad.json", {"a": [step("only", "true", timeout_seconds=-1)]})
    said = teamster("validate", "work/../bad.json", "--json")

    places = [problem["place"] for problem in said.json["error"]["problems"]]
    assert places
    assert all(told.startswith(f"{place.folder / 'bad.json'}") for told in places)
    assert said.json["error"]["message"].startswith(f"{place.folder / 'bad.json'} has")


def test_validating_runs_nothing_and_makes_nothing(place: Place, teamster: Teamster) -> None:
    place.write("table.json", JOBS)
    said = teamster("validate", "table.json")
    assert (said.code, said.out.startswith("table.json is fine: 2 jobs, 4 steps, batch table-")) == (0, True)
    assert teamster("validate", "table.json", "--json").json["agents"] == ["command"]
    assert not place.root.exists()


def test_the_status_of_all_batches_and_of_one(place: Place, teamster: Teamster, ran: str) -> None:
    """The shapes stay the same, however many batches there are."""
    one = teamster("status", ran, "--json").json
    assert set(one) == BOARD_KEYS
    assert set(one["counts"]) == {
        "blocked",
        "ready",
        "running",
        "succeeded",
        "failed",
        "needs_attention",
        "canceled",
    }
    every = teamster("status", "--json").json
    assert (set(every), [row["batch_id"] for row in every["batches"]]) == ({"root", "batches"}, [ran])
    assert lines(teamster("status"))[0].startswith(f"{ran}  2 jobs, 4 steps: ")

    place.write("other.json", {"a": [step("only", "true")]})
    assert teamster("run", "other.json").code == 0
    rows = lines(teamster("status"))
    assert rows[0].split() == ["batch", "submitted", "steps", "state", "goal"]
    assert rows[1].split()[0] == ran
    assert len(rows) == 3


def test_a_run_and_a_status_have_the_same_shape(place: Place, teamster: Teamster) -> None:
    place.write("table.json", JOBS)
    ran = teamster("run", "table.json", "--json").json

    assert set(ran) == BOARD_KEYS | {"created", "accepted_job_ids"}


def test_a_step_is_shown_with_its_facts_texts_and_earlier_attempts(teamster: Teamster, place: Place, ran: str) -> None:
    (place.folder / "work" / "mended").touch()
    teamster("retry", ran, "bad.only")
    teamster("up", "--until-idle")
    said = teamster("show", ran, "bad.only")

    assert said.code == 0
    assert "oh [no]" in said.out  # what looks like markup is not obeyed
    assert "1 other attempt" in said.out
    assert "failed  exit code 1" in said.out
    value = teamster("show", ran, "bad.only", "--json").json
    assert [attempt["status"] for attempt in value["attempts"]] == ["failed", "succeeded"]
    by_run = teamster("show", value["attempts"][0]["run_id"], "--json").json
    assert by_run["state"]["status"] == "failed"
    assert lines(teamster("show", ran))[0] == f"{ran}  2 jobs, 4 steps: 4 succeeded"


def test_a_run_whose_files_were_removed_says_so(place: Place, teamster: Teamster, ran: str) -> None:
    """The database still knows it; what is left to look at is said, and who knows more."""
    (attempt,) = place.attempts(BatchId(ran), "bad", "only")
    shutil.rmtree(attempt)
    said = teamster("show", ran, "bad.only")

    assert said.code == 0
    assert lines(said)[0] == f"bad.only  {attempt.name.partition('_')[2]}  its files are gone"
    assert "hint:  teamster verify says what else is missing" in said.out
    assert "None" not in said.out


def test_the_log_of_a_step_in_three_ways(teamster: Teamster, ran: str) -> None:
    assert teamster("logs", ran, "good.first").out == "1\n"
    assert teamster("logs", ran, "good.first", "-f").out == "1\n"
    assert teamster("logs", ran, "good.first", "--raw").out == '{"type": "teamster.output", "text": "1"}\n'
    assert teamster("logs", ran, "bad.only").out == "oh [no]\n"
    value = teamster("logs", ran, "good.first", "--json").json
    assert (set(value), value["lines"]) == ({"run_id", "lines"}, ["1"])
    assert teamster("logs", value["run_id"]).out == "1\n"


def test_canceling_says_what_it_changed(place: Place, teamster: Teamster, ran: str) -> None:
    said = teamster("cancel", ran)
    assert lines(said) == ["bad.after: canceled", "3 other steps had ended"]
    assert lines(teamster("cancel", ran)) == ["nothing to cancel: 4 steps had ended"]
    place.write("more.json", {"a": [step("only", "true")]})
    batch = teamster("submit", "more.json", "--json").json["batch_id"]
    value = teamster("cancel", batch, "a.only", "--json").json
    assert (value["batch_id"], value["steps"]) == (batch, [{"step": "a.only", "status": "failed", "changed": True}])


def test_verifying_is_clean_or_lists_what_is_not(place: Place, teamster: Teamster, ran: str) -> None:
    clean = teamster("verify")
    assert (clean.code, clean.out.startswith("clean: 3 attempts, ")) == (0, True)
    (place.root / "runs" / ran / "batch_meta.json").unlink()
    said = teamster("verify")
    assert said.code == 1
    assert f"agreement runs/{ran}/batch_meta.json: the database has this batch" in said.out
    value = teamster("verify", "--json")
    assert (value.code, value.json["clean"]) == (1, False)
    assert {"path", "rule", "fact"} == set(value.json["findings"][0])


FLAGS = "--json --output-schema --output-last-message --config --model --skip-git-repo-check --sandbox --cd --add-dir"


def test_a_prompt_alone_is_a_batch_of_its_own_each_time(place: Place, teamster: Teamster) -> None:
    """Who types the same prompt again wants it done again; that this agent fails is another matter."""
    program = place.folder / "pretender"
    script = f'case "$*" in *help*) printf "%s\\n  resume  on\\n" "{FLAGS}";; *version*) echo 0.0.1;; *) exit 9;; esac'
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    env = {"CODEX_API_KEY": "sk-of-nobody-at-all", "TEAMSTER_CODEX": str(program)}
    (place.folder / "work").mkdir()

    first = teamster("run", "-p", "mend the failing test", "-C", "work", "--json", env=env)
    second = teamster("run", "-p", "mend the failing test", "-C", "work", "--json", env=env)

    assert (first.code, second.code) == (1, 1)
    assert first.json["batch_id"].startswith("mend-the-failing-test-")
    assert first.json["batch_id"] != second.json["batch_id"]
    assert (first.json["created"], second.json["created"]) == (True, True)
    assert [row["status"] for row in second.json["steps"]] == ["failed"]
    retried = teamster("retry", second.json["batch_id"], env=env)
    assert lines(retried)[-1] == "run them: teamster up"


def test_a_prompt_without_a_key_starts_nothing(teamster: Teamster) -> None:
    said = teamster("run", "-p", "mend the failing test")

    assert said.code == 2
    assert "codex has no key and no login" in said.err
    assert "teamster rehearse" in said.err
