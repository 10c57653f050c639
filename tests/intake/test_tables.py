from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from intake.writing import GOAL, accept, lines, only, refuse, step_of, table
from teamster.intake import LIMITS, Limits
from teamster.model import RUN_REPORT_SCHEMA, Table, UsageError

WRONG = """\
batch_goal_summary: too short
spec_version: 2.0.0
labls: {a: b}
jobs:
  - job_id: one
    steps:
      - step_id: a
        prompt: Do it.
        depends_on: [b]
      - step_id: b
        depends_on: [a]
        timeout_seconds: soon
      - step_id: b
        prompt: "  "
        runner_affinity: here
  - job_id: One
    steps: []
  - working_directory: nowhere
    steps: [just text]
"""


def test_all_problems_are_told_at_once_each_with_its_line_and_column(tmp_path: Path) -> None:
    """Nobody wants to mend a table one message at a time."""
    found = refuse(tmp_path, WRONG)

    assert [(problem.place, problem.field) for problem in found] == [
        ("table.yaml:1:1", "batch_goal_summary"),
        ("table.yaml:2:1", "spec_version"),
        ("table.yaml:3:1", "labls"),
        ("table.yaml:9:22", "jobs[0].steps[0].depends_on[0]"),
        ("table.yaml:10:9", "jobs[0].steps[1].prompt"),
        ("table.yaml:12:9", "jobs[0].steps[1].timeout_seconds"),
        ("table.yaml:13:9", "jobs[0].steps[2].step_id"),
        ("table.yaml:14:9", "jobs[0].steps[2].prompt"),
        ("table.yaml:15:9", "jobs[0].steps[2].runner_affinity"),
        ("table.yaml:16:5", "jobs[1].job_id"),
        ("table.yaml:17:5", "jobs[1].steps"),
        ("table.yaml:18:5", "jobs[2].working_directory"),
        ("table.yaml:19:13", "jobs[2].steps[0]"),
    ]


def test_in_json_a_problem_has_its_line_too(tmp_path: Path) -> None:
    found = refuse(tmp_path, table({"step_id": "a b"}, {"timeout_seconds": 0}))

    assert [(problem.place, problem.field) for problem in found] == [
        ("table.json:1:840", "jobs[0].steps[0].step_id"),
        ("table.json:1:880", "jobs[0].steps[1].timeout_seconds"),
    ]


def test_what_is_badly_written_and_what_is_badly_meant_are_told_together(tmp_path: Path) -> None:
    """A key that stands twice hides nothing else."""
    text = json.dumps(table({"prompt": "Do it.", "timeout_seconds": 5}, nothing=1))
    broken = text.replace('"timeout_seconds": 5', '"timeout_seconds": .inf, "step_id": a, "step_id": b')

    assert [problem.field for problem in refuse(tmp_path, broken)] == [
        "jobs[0].steps[0].timeout_seconds",
        "jobs[0].steps[0].step_id",
        "nothing",
    ]


@pytest.mark.parametrize(
    ("goal", "fact"),
    [
        (" ".join(["word"] * 150), "it has 150 words, 1 too few"),
        ("one\n\ttwo   three", "it has 3 words, 148 too few"),
        ("word", "it has 1 word, 150 too few"),
        ("", "it has 0 words, 151 too few"),
        (7, "7 is not text"),
        (None, "it is missing"),
        ("w " * 40_000, "80000 characters, the limit is 65536"),
    ],
)
def test_a_goal_has_more_than_150_words(tmp_path: Path, goal: object, fact: str) -> None:
    """A batch that nobody can explain is not worth its tokens; the count says how far it is."""
    problem = only(refuse(tmp_path, {**table(), "batch_goal_summary": goal}))

    assert (problem.field, problem.fact) == ("batch_goal_summary", fact)


def test_151_words_are_enough_and_kept_as_written(tmp_path: Path) -> None:
    assert accept(tmp_path, table()).goal_summary == GOAL


def test_labels_tags_and_concurrency_are_kept(tmp_path: Path) -> None:
    read = accept(tmp_path, table(labels={"team": "blue"}, tags=["slow", "night"], concurrency=3))

    assert (read.labels, read.tags, read.concurrency) == ({"team": "blue"}, ("slow", "night"), 3)
    assert accept(tmp_path, table()).concurrency == 8


@pytest.mark.req("PH-6.2d")
def test_a_job_has_an_id_labels_tags_and_steps_of_its_own(tmp_path: Path) -> None:
    content = table({}, {})
    content["jobs"][0].update({"labels": {"team": "red"}, "tags": ["quick"]})

    job = accept(tmp_path, content).jobs[0]

    assert (job.job_id, job.labels, job.tags, len(job.steps)) == ("one", {"team": "red"}, ("quick",), 2)


@pytest.mark.req("PH-6.4d")
@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["echo", "x" * 600]},
        {"output_schema": {**RUN_REPORT_SCHEMA, "description": "x" * 600}},
        {"packs": {"a": "x" * 600}, "default_pack_id": "a"},
    ],
    ids=["command", "schema", "pack"],
)
def test_what_every_step_inherits_weighs_in_every_step(tmp_path: Path, fields: dict[str, object]) -> None:
    """A megabyte that is written once would be kept ten thousand times."""
    weight = len(json.dumps(table(**fields)))
    steps: list[dict[str, object]] = [{} for _ in range(10)]

    assert accept(tmp_path, table(**fields), limits=replace(LIMITS, steps_bytes_max=weight))
    problem = only(refuse(tmp_path, table(*steps, **fields), limits=replace(LIMITS, steps_bytes_max=weight)))
    assert problem.fact.endswith("bytes together, with all that they inherit")


@pytest.mark.parametrize(
    ("field", "value", "fact"),
    [
        ("labels", ["a"], "a list is no mapping of names to texts"),
        ("labels", {"n": 1}, "1 is not text"),
        ("labels", {str(n): "x" for n in range(65)}, "65 labels, the limit is 64"),
        ("labels", {"\ud800": "x"}, "its name can't be kept"),
        ("packs", {f"p{n}": "x" for n in range(201)}, "201 packs, the limit is 200"),
        ("tags", "slow", "'slow' is not a list"),
        ("tags", [1], "1 is not text"),
        ("concurrency", 0, "0 is not within 1 and 512"),
        ("concurrency", 513, "513 is not within 1 and 512"),
        ("concurrency", 2.5, "2.5 is not a whole number"),
        ("concurrency", True, "true is not a number"),
        ("jobs", {}, "a mapping is not a list"),
        ("jobs", [], "it is empty"),
        ("jobs", None, "it is missing"),
        ("batch_id", "_system", "'_system' is no id"),
        ("batch_id", "a.b", "'a.b' is no id"),
        ("batch_id", "x" * 65, "is no id"),
    ],
)
def test_fields_of_a_batch_are_checked(tmp_path: Path, field: str, value: object, fact: str) -> None:
    problem = only(refuse(tmp_path, {**table(), field: value}))

    assert problem.field.startswith(field)
    assert fact in problem.fact


@pytest.mark.parametrize("version", ["1.0.0", "1.7.3", None])
def test_versions_of_one_major_are_read(tmp_path: Path, version: str | None) -> None:
    assert accept(tmp_path, table(spec_version=version)).spec_version == (version or "1.0.0")


@pytest.mark.parametrize("version", ["2.0.0", "0.9.0", "1.0", 1.0, "1.0.x", "v1.0.0", "1.00.0"])
def test_other_versions_are_refused(tmp_path: Path, version: object) -> None:
    """A later version may mean something else by the same words."""
    assert only(refuse(tmp_path, table(spec_version=version))).field == "spec_version"


def test_a_typing_slip_is_answered_with_the_nearest_key(tmp_path: Path) -> None:
    found = refuse(tmp_path, {**table({"prompts": "x", "retry": {}, "job_id": "y", "zzz": 1}), "concurency": 1})

    assert [(problem.field, problem.hint) for problem in found] == [
        ("jobs[0].steps[0].prompts", "did you mean `prompt`?"),
        ("jobs[0].steps[0].retry", "did you mean `retries`?"),
        ("jobs[0].steps[0].job_id", "it belongs to: job"),
        ("jobs[0].steps[0].zzz", found[3].hint),
        ("concurency", "did you mean `concurrency`?"),
    ]
    assert "keys of your own begin with `x-`" in found[3].hint


def test_keys_of_ones_own_are_left_alone(tmp_path: Path) -> None:
    accept(tmp_path, table({"x-note": "later"}, **{"x-anything": [1, 2]}))


@pytest.mark.parametrize(
    ("content", "field", "waits"),
    [
        (table(workspace_policy={"mode": "isolated"}), "workspace_policy.mode", "isolated workspaces"),
        (table(retries={"mode": "resume_last_attempt"}), "retries.mode", "retries that resume"),
        (
            table({"step_id": "a"}, {"resume_from": {"step_id": "a", "selector": "run_id", "run_id": "r"}}),
            "jobs[0].steps[1].resume_from.selector",
            "teamster resume",
        ),
    ],
)
def test_what_comes_later_is_refused_and_says_what_it_waits_for(
    tmp_path: Path, content: dict[str, object], field: str, waits: str
) -> None:
    """A table that silently does less than it says would be worse than one that is refused."""
    problem = only(refuse(tmp_path, content))

    assert problem.field == field
    assert "known but not yet supported; it waits for" in problem.fact
    assert waits in problem.fact


@pytest.mark.req("PH-6.4d")
@pytest.mark.parametrize(
    ("limits", "fact"),
    [
        (replace(LIMITS, jobs_max=1), "2 entries, the limit is 1"),
        (replace(LIMITS, steps_per_job_max=2), "3 entries, the limit is 2"),
        (replace(LIMITS, steps_max=3), "4 steps in all, the limit is 3"),
        (replace(LIMITS, prompt_bytes_max=5), "6 characters, the limit is 5"),
    ],
)
def test_sizes_are_bounded_and_a_refusal_names_limit_and_value(tmp_path: Path, limits: Limits, fact: str) -> None:
    content = table({}, {}, {})
    content["jobs"].append({"job_id": "two", "steps": [{"prompt": "Do it."}]})

    assert fact in [problem.fact for problem in refuse(tmp_path, content, limits=limits)]


def test_a_flood_of_problems_is_cut_and_counted(tmp_path: Path) -> None:
    content = {**table(), "jobs": [{"steps": [{"prompt": "x", "wrong": 1}]}] * 700}

    found = refuse(tmp_path, content)

    assert len(found) == 501
    assert found[-1].fact == "200 more problems are not shown"


@pytest.mark.parametrize("content", ["[]", "7", '"text"', "null", "- a\n- b\n"])
def test_a_table_is_a_mapping(tmp_path: Path, content: str) -> None:
    problem = only(refuse(tmp_path, content))

    assert (problem.field, problem.hint) == ("the table", "write `key: value` lines")


def test_a_normalised_table_comes_back_from_its_json(tmp_path: Path) -> None:
    """What is kept in `batch_meta.json` is the whole table."""
    read = accept(
        tmp_path,
        table({"step_id": "a"}, {"resume_from": "a", "depends_on": ["a"], "timeout_seconds": 5}, tags=["x"]),
    )

    back = Table.from_json(json.loads(json.dumps(read.to_json())))

    assert back == read
    assert back.digest == read.digest


def test_a_step_of_each_job_has_the_ids_that_correlate_its_records(tmp_path: Path) -> None:
    read = accept(tmp_path, table({}, {"step_id": "check"}))

    assert [step.step_id for step in read.jobs[0].steps] == ["step1", "check"]
    assert step_of(read).working_directory == str(tmp_path.resolve())


def test_an_end_of_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't end the id"):
        accept(tmp_path, table(), new="no good")


def test_lines_of_problems_read_like_those_of_a_compiler(tmp_path: Path) -> None:
    assert lines(refuse(tmp_path, "batch_goal_summary: short\njobs: []\n"))[1] == (
        "table.yaml:2:1: jobs: it is empty (write one job at least)"
    )
