from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.writing import GOAL, accept
from teamster.intake import LIMITS, table_from
from teamster.intake.toml import parse_toml
from teamster.model import TableDefaults, TableProblems

TRICKY = """\
# [not] = "a header"
title = "a # in \\" text" # and a comment = 1
"quoted.key" . 'other' = 1.5
text = \"\"\"
[[jobs]]
x = 1 \\\"\"\" ""\"\"\"
raw = '''
c:\\[x]'''
list = [
  1, # one
  [2, "]"], { a = {b = "}"}, c.d = [4] },
]

[[jobs]]
job_id = "one"
[[jobs.steps]]
step_id = "a"
[[jobs.steps]]
step_id = "b"
  [jobs.steps.retries]
  max_attempts = 3

[[jobs]]
[[jobs.steps]]
step_id = "c"

[ labels . "of it" ]
deep.down = {}
"""
PLACES = {
    ("title",): "2:1",
    ("quoted.key",): "3:1",
    ("quoted.key", "other"): "3:1",
    ("text",): "4:1",
    ("raw",): "7:1",
    ("list",): "9:1",
    ("list", 0): "10:3",
    ("list", 1): "11:3",
    ("list", 1, 1): "11:7",
    ("list", 2): "11:13",
    ("list", 2, "a"): "11:15",
    ("list", 2, "a", "b"): "11:20",
    ("list", 2, "c", "d"): "11:30",
    ("list", 2, "c", "d", 0): "11:37",
    ("jobs", 0): "14:1",
    ("jobs", 0, "job_id"): "15:1",
    ("jobs", 0, "steps", 0): "16:1",
    ("jobs", 0, "steps", 1, "step_id"): "19:1",
    ("jobs", 0, "steps", 1, "retries"): "20:3",
    ("jobs", 0, "steps", 1, "retries", "max_attempts"): "21:3",
    ("jobs", 0, "steps", 1, "prompt"): "18:1",
    ("jobs", 1, "steps", 0, "step_id"): "25:1",
    ("labels", "of it"): "27:1",
    ("labels", "of it", "deep", "down"): "28:1",
}


def noted(text: str) -> list[str]:
    """Return what is wrong with TOML, read or refused."""
    try:
        return [str(problem) for problem in parse_toml(text, source="t", limits=LIMITS).noted]
    except TableProblems as error:
        return [str(problem) for problem in error.problems]


@pytest.mark.parametrize("path", PLACES, ids=str)
def test_each_field_has_its_line_and_column(path: tuple[str | int, ...]) -> None:
    """Whatever stands before it: texts with brackets, comments, lists over many lines."""
    assert parse_toml(TRICKY, source="t", limits=LIMITS).place(path) == f"t:{PLACES[path]}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = ", "t:1:5: the table: it is not TOML: Invalid value"),
        ("a = 1\na = 2", "t:2:6: the table: it is not TOML: Cannot overwrite a value"),
        ("a = [1,\n", "t:2:1: the table: it is not TOML: Invalid value"),
        ("x = {a = 1", "t:1:11: the table: it is not TOML: Unclosed inline table"),
        ("a = 1979-05-27", "t:1:1: a: 1979-05-27 is a date or a time, which no field is"),
        ("a = 07:32:00", "t:1:1: a: 07:32:00 is a date or a time, which no field is"),
        ("b = [1,\n inf]", "t:2:2: b[1]: inf is no number that can be kept exactly"),
        ("a = 1234567890123456789", "t:1:1: a: it is no number that can be kept exactly"),
        (f"a = {'1' * 5000}", "t: the table: it is not TOML: Exceeds the limit"),
        (f"a = {'[' * 5000}", "t: the table: it is nested deeper than 32 levels"),
        (f"a = {'[' * 40}{']' * 40}", "t: the table: it is nested deeper than 32 levels"),
    ],
    ids=range(11),
)
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    (found,) = noted(text)

    assert found.startswith(problem)


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(TableProblems, match="1 problem"):
        parse_toml("a = [1, 2, 3]", source="t", limits=replace(LIMITS, nodes_max=4))


@given(text=st.text("[]{}=.,\"'#\n ab1\\", max_size=40))
def test_whatever_the_parser_takes_has_places(text: str) -> None:
    """The search for places follows the parser everywhere, or it would fail on what a person wrote well."""
    try:
        parsed = parse_toml(text, source="t", limits=LIMITS)
    except TableProblems:
        return

    assert parsed.place(("nothing",)).startswith("t:")


@pytest.mark.req("PH-6.2a")
def test_the_same_table_in_toml_yaml_and_json_is_the_same_table(tmp_path: Path) -> None:
    """Three ways to write, one meaning: the digests are equal."""
    toml = f"""
        batch_goal_summary = "{GOAL}"
        concurrency = 2
        [labels]
        team = "a"
        [[jobs]]
        job_id = "one"
        steps = [{{ step_id = "a", prompt = "Do it." }}]
        [[jobs]]
        job_id = "two"
        [[jobs.steps]]
        command = ["make"]
        depends_on = ["one.a"]
        timeout_seconds = 60
        """
    yaml = f"""
batch_goal_summary: {GOAL}
concurrency: 2
labels: {{team: a}}
jobs:
  - job_id: one
    steps: [{{step_id: a, prompt: Do it.}}]
  - job_id: two
    steps: [{{command: [make], depends_on: [one.a], timeout_seconds: 60}}]
"""
    read = table_from(toml, path=tmp_path / "table.toml", defaults=TableDefaults())

    assert read.digest == accept(tmp_path, yaml).digest
    assert read.batch_id == accept(tmp_path, yaml).batch_id
