from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.model import Reference, Table

SUMMARY = "{steps.a.final.summary}"


def two(prompt: str, **second: Any) -> dict[str, Any]:
    """Return a table of a step `a` and one after it with a prompt."""
    return table({"step_id": "a"}, {"step_id": "b", "prompt": prompt, "depends_on": "a", **second})


@pytest.mark.req("PH-6.3")
@pytest.mark.parametrize(
    "prompt",
    [SUMMARY, f"ä {SUMMARY} {SUMMARY}", "{steps.a.final.artifacts.0.path}", "{steps.a.final_path}", "{steps.a.run_id}"],
)
def test_a_prompt_may_refer_to_what_an_earlier_step_left(tmp_path: Path, prompt: str) -> None:
    """The text stays as it was written; where the references are is kept beside it."""
    read = accept(tmp_path, two(prompt))
    step = step_of(read, 2)

    assert step.prompt == prompt
    assert step.references
    assert all(prompt[found.at :].startswith(found.written) for found in step.references)
    assert Table.from_json(json.loads(json.dumps(read.to_json()))) == read


def test_references_keep_their_place_behind_packs_and_in_appendices(tmp_path: Path) -> None:
    content = two(f"One {SUMMARY}", append_prompt=f"Two {SUMMARY}", pack_id="p")
    content["packs"] = {"p": f"A pack is plain text: {SUMMARY}"}
    step = step_of(accept(tmp_path, content), 2)

    assert [step.prompt[found.at - 4 : found.at] for found in step.references] == ["One ", "Two "]
    assert step.prompt.count(SUMMARY) == 3


def test_a_reference_to_an_earlier_ancestor_becomes_a_dependency(tmp_path: Path) -> None:
    """The store hands over what a step waits for itself; the order is the same."""
    steps: list[dict[str, Any]] = [{"step_id": "a"}, {"step_id": "b", "depends_on": "a"}]
    read = accept(tmp_path, table(*steps, {"depends_on": "b", "prompt": f"{SUMMARY} {{steps.b.run_id}}"}))

    assert [str(need) for need in step_of(read, 3).depends_on] == ["b", "a"]


def test_a_reference_may_lead_to_another_job(tmp_path: Path) -> None:
    content = two("x")
    prompt = "{jobs.one.steps.a.final.summary} {jobs.two.steps.c.run_id}"
    content["jobs"].append(
        {
            "job_id": "two",
            "steps": [
                {"step_id": "c", "prompt": "x", "depends_on": "one.b"},
                {"step_id": "d", "prompt": prompt, "depends_on": "c"},
            ],
        }
    )
    read = accept(tmp_path, content)
    step = read.jobs[1].steps[1]

    assert [str(need) for need in step.depends_on] == ["c", "one.a"]
    assert [found.job_id for found in step.references] == ["one", None]
    assert Table.from_json(json.loads(json.dumps(read.to_json()))) == read


@pytest.mark.req("PH-7.1")
@pytest.mark.parametrize(
    ("prompt", "fact"),
    [
        ("{steps.zzz.final.summary}", "there is no step 'zzz'"),
        ("{steps.b.final.summary}", "{steps.b.final.summary} is not known when it starts: b does not wait for b"),
        ("{steps.late.run_id}", "{steps.late.run_id} is not known when it starts: b does not wait for late"),
        ("{jobs.zzz.steps.a.run_id}", "there is no job 'zzz'"),
        ("{steps.a}", "{steps.a} is no reference"),
        ("{steps.a.final}", "{steps.a.final} is no reference"),
        ("{steps.a.final.}", "{steps.a.final.} is no reference"),
        ("{steps.a.final_path.x}", "{steps.a.final_path.x} is no reference"),
        ("{steps.a.stdout}", "{steps.a.stdout} is no reference"),
        ("{jobs.one.a.final.summary}", "{jobs.one.a.final.summary} is no reference"),
    ],
)
def test_a_reference_that_nobody_could_fill_in_is_told_at_submission(tmp_path: Path, prompt: str, fact: str) -> None:
    content = two(f"So {prompt} it is.")
    content["jobs"][0]["steps"].append({"step_id": "late", "prompt": "x"})
    problem = only(refuse(tmp_path, content))

    assert (problem.field, problem.fact) == ("jobs[0].steps[1].prompt", fact)
    assert problem.hint


@pytest.mark.parametrize(
    ("written", "prompt"),
    [
        ("{{steps.a.final.summary}}", "{steps.a.final.summary}"),
        ("${steps.length} and ${jobs.a.b}", "${steps.length} and ${jobs.a.b}"),
        ("{ steps.a } {stepsa.b.c} {'steps.a'}", "{ steps.a } {stepsa.b.c} {'steps.a'}"),
    ],
)
def test_what_is_no_reference_is_left_alone(tmp_path: Path, written: str, prompt: str) -> None:
    """Prompts hold code, and text about prompts."""
    step = step_of(accept(tmp_path, two(written)), 2)

    assert (step.prompt, step.references) == (prompt, ())


def test_a_cell_that_looks_like_a_reference_is_text(tmp_path: Path) -> None:
    """A row can't read what another step left; the template can."""
    good = table({"step_id": "a"}, {"prompt": f"{{item}}: {SUMMARY}", "depends_on": "a"})
    good["jobs"][0].update(job_id="job-{row}", for_each=[SUMMARY, "{steps.a.run_id}"])
    steps = [job.steps[1] for job in accept(tmp_path, good).jobs]

    assert [step.prompt for step in steps] == [f"{SUMMARY}: {SUMMARY}", f"{{steps.a.run_id}}: {SUMMARY}"]
    assert [[found.at for found in step.references] for step in steps] == [[25], [18]]


def test_a_template_may_name_the_job_of_another_template_by_its_row(tmp_path: Path) -> None:
    content = table({"step_id": "a"})
    content["jobs"][0].update(job_id="look-{item}", for_each=["x.1", "y"])
    prompt = "{jobs.look-{item}.steps.a.final.summary}"
    step = {"step_id": "b", "prompt": prompt, "depends_on": "look-{item}.a"}
    content["jobs"].append({"job_id": "mend-{item}", "for_each": ["x.1", "y"], "steps": [step]})
    read = accept(tmp_path, content)

    assert [[found.job_id for found in job.steps[0].references] for job in read.jobs[2:]] == [["look-x-1"], ["look-y"]]


def test_a_command_takes_no_references(tmp_path: Path) -> None:
    """An agent's words as an argument of a program would be more than data."""
    content = table({"step_id": "a"}, {"prompt": None, "command": ["echo", SUMMARY], "depends_on": "a"})

    assert "never into a command" in only(refuse(tmp_path, content)).fact


def test_a_place_that_holds_something_else_makes_no_step(tmp_path: Path) -> None:
    """What is read back from a record must be what was checked."""
    kept = step_of(accept(tmp_path, two(SUMMARY)), 2).to_json()
    moved = {**kept, "prompt_references": [{**kept["prompt_references"][0], "at": 1}]}

    with pytest.raises(ValueError, match="is not where it should be"):
        type(step_of(accept(tmp_path, two("x")))).from_json(moved)
    assert Reference.read("steps.a.run_id", at=0).written == "{steps.a.run_id}"
