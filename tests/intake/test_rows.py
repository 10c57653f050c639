from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.writing import accept, lines, only, refuse, table
from teamster.intake import LIMITS
from teamster.intake.rows import Row, as_argument
from teamster.model import AgentChoice, Job, Table


def template(rows: object, *steps: dict[str, Any], **job: Any) -> dict[str, Any]:
    """Return a table of one template."""
    content = table(*steps)
    content["jobs"][0] = {"steps": content["jobs"][0]["steps"], "for_each": rows, **job}
    return content


def jobs(folder: Path, *args: Any, **more: Any) -> tuple[Job, ...]:
    """Read a template and return its jobs."""
    return accept(folder, template(*args, **more)).jobs


def test_a_list_of_words_makes_a_job_of_each(tmp_path: Path) -> None:
    read = jobs(tmp_path, ["api", "web"], {"prompt": "Review {item}, the {row}. of two."}, job_id="review-{item}")

    assert [job.job_id for job in read] == ["review-api", "review-web"]
    assert [job.steps[0].prompt for job in read] == ["Review api, the 1. of two.", "Review web, the 2. of two."]


def test_a_list_of_mappings_fills_every_text_of_its_job(tmp_path: Path) -> None:
    """Ids, folders, files, labels, arguments, prompts and what is appended to them."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.md").write_text(f"In {name} mend {{what}}.", encoding="utf-8")
    rows = [{"folder": "a", "what": "dates", "issue": 7}, {"folder": "b", "what": "times", "issue": 8}]
    steps: list[dict[str, Any]] = [
        {"prompt": None, "prompt_ref": "task.md", "append_prompt": "It is issue {issue}."},
        {"prompt": None, "command": ["echo", "{what}", "{run_id}", "{{what}}"], "artifacts_expected": ["{what}.txt"]},
    ]
    read = jobs(tmp_path, rows, *steps, job_id="j{issue}", working_directory="{folder}", labels={"about": "{what}"})

    assert [job.job_id for job in read] == ["j7", "j8"]
    assert [job.working_directory for job in read] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert [job.labels for job in read] == [{"about": "dates"}, {"about": "times"}]
    assert read[1].steps[0].prompt == "In b mend times.\n\nIt is issue 8."
    assert read[1].steps[1].agent.argv({"run_id": "r"}) == ("echo", "times", "r", "{what}")
    assert read[1].steps[1].artifacts_expected[0].path == "times.txt"


CSV = 'file , task\n"src/a, b.py","say ""hi""\nand go"\n\nsrc/c.py,x\n'


def test_a_csv_file_makes_a_job_of_each_line(tmp_path: Path) -> None:
    """As spreadsheets write it: quotes, commas and line ends in cells, blank lines, a byte order mark."""
    (tmp_path / "rows.csv").write_text(CSV.replace("\n", "\r\n"), encoding="utf-8-sig", newline="")
    read = jobs(tmp_path, "rows.csv", {"prompt": "{file}: {task}"}, job_id="fix-{file}")

    assert [job.job_id for job in read] == ["fix-src-a-b-py", "fix-src-c-py"]
    assert [job.steps[0].prompt for job in read] == ['src/a, b.py: say "hi"\r\nand go', "src/c.py: x"]


def test_without_an_id_the_jobs_are_numbered_by_place_and_row(tmp_path: Path) -> None:
    content = template(["x", "y"], {"prompt": "{item}"})
    content["jobs"].append({"steps": [{"prompt": "Do it."}]})
    read = accept(tmp_path, content)

    assert [job.job_id for job in read.jobs] == ["job1-1", "job1-2", "job2"]
    assert [step.step_id for job in read.jobs for step in job.steps] == ["step1"] * 3


def test_a_job_waits_for_all_of_a_template_or_for_one_that_its_row_names(tmp_path: Path) -> None:
    """A cell may hold a whole reference, or nothing; a part of an id is made to fit as the id was."""
    rows = [{"name": "api.v2", "after": ""}, {"name": "web", "after": "look-api-v2.go"}]
    content = template(rows, {"step_id": "go", "depends_on": ["{after}"]}, job_id="look-{name}")
    content["jobs"].append(
        {
            "for_each": ["api.v2"],
            "job_id": "sum-{item}",
            "steps": [{"step_id": "up", "prompt": "x", "depends_on": ["look-{item}.go"]}],
        }
    )
    content["jobs"].append({"job_id": "last", "steps": [{"prompt": "x", "depends_on": "look-*.go"}]})
    read = accept(tmp_path, content)

    assert [[str(need) for need in job.steps[0].depends_on] for job in read.jobs] == [
        [],
        ["look-api-v2.go"],
        ["look-api-v2.go"],
        ["look-api-v2.go", "look-web.go"],
    ]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{item}", "<{x}>"),
        ("{{item}}", "{item}"),
        ('{"a": {"b": [1]}}', '{"a": {"b": [1]}}'),
        ("if (a) { b; }", "if (a) { b; }"),
        ("{} {0} {{}} {a b}", "{} {0} {{}} {a b}"),
        ("${item}", "$<{x}>"),
    ],
)
def test_only_names_in_braces_are_filled_in_and_once(tmp_path: Path, text: str, filled: str) -> None:
    """Code and JSON pass; what a row holds is never read as a placeholder again."""
    assert jobs(tmp_path, ["<{x}>"], {"prompt": text})[0].steps[0].prompt == filled


def test_braces_in_a_table_without_templates_mean_nothing(tmp_path: Path) -> None:
    text = "{item} {{item}} {row}"

    assert accept(tmp_path, table({"prompt": text})).jobs[0].steps[0].prompt == text


@given(value=st.text("{}abrun_id ", max_size=30))
def test_whatever_a_row_holds_reaches_a_program_as_it_is(value: str) -> None:
    """A cell can't make a program read something of Teamster's."""
    row = Row(number=1, values={"value": value})
    argument = row.filled("{value}", pytest.fail, fit=as_argument, later=("run_id",))

    assert AgentChoice(agent="command", command=("x", argument)).argv({"run_id": "SECRET"})[1] == value


@pytest.mark.parametrize(
    ("rows", "field", "fact"),
    [
        ([], "for_each", "it is empty"),
        (7, "for_each", "7 is not a list"),
        ({"a": 1}, "for_each", "a mapping is not a list"),
        (
            ["a", {"item": "b", "more": 1}],
            "for_each[1]",
            "its keys are `item`, `more`, those of the first entry are `item`",
        ),
        ([{"a": 1}, {"b": 1}], "for_each[1]", "its keys are `b`, those of the first entry are `a`"),
        ([1.5], "for_each[0].item", "1.5 may not be what was written"),
        ([{"item": [1]}], "for_each[0].item", "it is no text, whole number or boolean"),
        ([None], "for_each[0].item", "it is no text, whole number or boolean"),
        ([{"row": 1, "item": 2}], "for_each[0]", "a column can't be called `row`"),
        ("missing.csv", "for_each", "there is no file 'missing.csv'"),
        ("../out.csv", "for_each", "there is no file '../out.csv'"),
        ("/etc/passwd", "for_each", "/etc/passwd lies outside"),
    ],
)
def test_rows_that_are_none_are_told_with_their_place(tmp_path: Path, rows: object, field: str, fact: str) -> None:
    problem = refuse(tmp_path, template(rows, {"prompt": "{item}"}))[0]

    assert problem.field == f"jobs[0].{field}"
    assert problem.fact.startswith(fact)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "r.csv has no rows"),
        ("item\n", "r.csv has no rows"),
        ("item,x\na,b,c\n1,2", "r.csv:2: it has 3 cells, the first line has 2"),
        ('item\n"a\n', "r.csv:2: it is no CSV: unexpected end of data"),
        ("item,item\na,b", "r.csv: the column 'item' stands more than once"),
        ("item;x\na;b", "r.csv: its cells are not divided by commas"),
        ("item\n" + "a" * 200_000, "r.csv:2: it is no CSV: field larger than field limit"),
        ("item\n\0", "holds a NUL character"),
    ],
    ids=range(8),
)
def test_a_csv_file_that_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, fact: str) -> None:
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    problems = refuse(tmp_path, template("r.csv", {"prompt": "{item}"}))

    assert problems[0].field == "jobs[0].for_each"
    assert any(fact in problem.fact for problem in problems), lines(problems)


def test_a_placeholder_that_no_column_fills_is_told_once_with_the_columns(tmp_path: Path) -> None:
    """Of five hundred rows nobody wants to hear it five hundred times."""
    problem = only(refuse(tmp_path, template([{"a": n, "b": n} for n in range(500)], {"prompt": "{c}"})))

    assert problem.fact == "{c} is no column of `for_each`"
    assert problem.hint == "columns are {a}, {b}, {row}; {{c}} passes the braces on"


def test_what_is_wrong_with_some_rows_names_them(tmp_path: Path) -> None:
    """The place is the template's: the rows tell which of its jobs are meant."""
    folders = [f"d{n}" for n in range(9)]
    (tmp_path / "d3").mkdir()
    found = refuse(tmp_path, template([{"d": "d3" if n % 2 else ""} for n in range(20)], {"prompt": "{d}"}))
    twins = refuse(tmp_path, template(folders, {"prompt": "{item}"}, job_id="fix"))
    no_id = refuse(tmp_path, template(["ok", "x" * 70, "y" * 70], {"prompt": "{item}"}, job_id="{item}"))

    assert [problem.fact for problem in found] == ["it is blank (rows 1, 3, 5, 7, 9 and 5 more)"]
    assert [problem.fact for problem in twins] == ["rows 1 and 2 have one id: 'fix' is taken"]
    assert twins[0].hint == "put a column into it that differs, or `{row}`, the number of the row"
    assert [problem.fact[-8:] for problem in no_id] == [" (row 2)", " (row 3)"]


@pytest.mark.req("PH-6.4d")
def test_templates_count_as_the_jobs_that_they_make(tmp_path: Path) -> None:
    limits = replace(LIMITS, jobs_max=5)
    content = template([1, 2, 3], {"prompt": "{item}"})
    content["jobs"].append({**content["jobs"][0], "job_id": "more-{item}"})
    (tmp_path / "r.csv").write_text("item\n" + "a\n" * 9, encoding="utf-8")

    assert only(refuse(tmp_path, content, limits=limits)).fact.startswith(
        "6 jobs in all, one for each row, the limit is 5"
    )
    assert "more than 5 rows" in only(refuse(tmp_path, template("r.csv", {"prompt": "{item}"}), limits=limits)).fact


def test_a_template_is_the_table_that_it_stands_for(tmp_path: Path) -> None:
    """What runs is what counts: written out by hand it is the same batch."""
    short = accept(tmp_path, template(["a", "b"], {"prompt": "{item}"}, job_id="j-{item}"))
    content = table()
    content["jobs"] = [{"job_id": f"j-{name}", "steps": [{"prompt": name}]} for name in "ab"]

    assert short.digest == accept(tmp_path, content).digest
    assert Table.from_json(short.to_json()) == short
