from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.writing import accept, only, refuse, table
from teamster.intake import batch_stem
from teamster.intake.names import slug
from teamster.model import is_id


@pytest.mark.req("PH-5.2")
def test_a_batch_is_named_after_its_file_and_what_it_asks_for(tmp_path: Path) -> None:
    """The same table is the same batch: that is how running it again goes on."""
    read = accept(tmp_path, table(), name="Nightly Build (v2)")

    assert read.batch_id == f"nightly-build-v2-{read.digest[:12]}"
    assert batch_stem(tmp_path / "Nightly Build (v2).yaml") == "nightly-build-v2"


@pytest.mark.req("PH-5.2")
def test_form_order_and_spelling_of_numbers_make_no_other_batch(tmp_path: Path) -> None:
    """What a person means is the table, not its bytes."""
    first = accept(tmp_path, table(timeout_seconds=60, concurrency=8))
    second = accept(tmp_path, {"concurrency": 8.0, "timeouts": {"step_timeout_seconds": 60.0}, **table()})

    assert first.batch_id == second.batch_id


@pytest.mark.parametrize(
    "changed",
    [
        table({"prompt": "Do it!"}),
        table(concurrency=1),
        table(timeout_seconds=61),
        table({}, {}),
        {**table(), "batch_goal_summary": "other " * 151},
    ],
)
def test_whatever_changes_what_is_done_makes_another_batch(tmp_path: Path, changed: dict[str, object]) -> None:
    assert accept(tmp_path, changed).batch_id != accept(tmp_path, table()).batch_id


def test_a_prompt_in_a_file_is_part_of_the_batch(tmp_path: Path) -> None:
    """Editing a prompt is a change of the table that names it."""
    content = {**table(), "jobs": [{"steps": [{"prompt_ref": "p.md"}]}]}
    (tmp_path / "p.md").write_text("one", encoding="utf-8")
    first = accept(tmp_path, content)
    (tmp_path / "p.md").write_text("two", encoding="utf-8")

    assert accept(tmp_path, content).batch_id != first.batch_id


@pytest.mark.req("PH-5.2")
def test_a_given_id_holds_and_new_makes_another(tmp_path: Path) -> None:
    assert accept(tmp_path, table(batch_id="mine")).batch_id == "mine"
    assert accept(tmp_path, table(batch_id="mine"), new="b2").batch_id == "mine-b2"
    assert accept(tmp_path, table(), new="b2").batch_id == f"{accept(tmp_path, table()).batch_id}-b2"


def test_another_id_of_a_long_one_still_is_an_id(tmp_path: Path) -> None:
    read = accept(tmp_path, table(batch_id="x" * 64), new="0123456789")

    assert read.batch_id == "x" * 53 + "-0123456789"


@given(stem=st.text(max_size=100))
def test_any_file_name_gives_an_id(stem: str) -> None:
    """People name files as they like."""
    name = slug(stem)

    assert is_id(name)
    assert len(name) <= 40
    assert slug(name) == name


@pytest.mark.req("PH-5.2")
def test_jobs_and_steps_without_ids_are_numbered_by_their_place(tmp_path: Path) -> None:
    content = {**table(), "jobs": [{"steps": [{"prompt": "x"}]}, {"job_id": "b", "steps": [{"prompt": "x"}] * 2}]}
    read = accept(tmp_path, content)

    assert [job.job_id for job in read.jobs] == ["job1", "b"]
    assert [step.step_id for step in read.jobs[1].steps] == ["step1", "step2"]


@pytest.mark.req("PH-5.2")
@pytest.mark.parametrize(
    ("ids", "fact", "hint"),
    [
        (("a", "a"), "'a' is taken: see jobs[0].steps[0].step_id", "choose another"),
        (("Build", "build"), "'build' differs from 'Build' only by case", "choose another"),
        (("step2", None), "'step2' is taken", "give this one a `step_id` of its own"),
    ],
)
def test_no_id_stands_twice(tmp_path: Path, ids: tuple[str | None, ...], fact: str, hint: str) -> None:
    """Folders carry these names, also on file systems that don't tell case apart."""
    problem = only(refuse(tmp_path, table(*({"step_id": name} for name in ids))))

    assert problem.field == "jobs[0].steps[1].step_id"
    assert problem.fact.startswith(fact)
    assert problem.hint == hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tidy up", "write `tidy-up`"),
        ("-a", "write `a`"),
        ("a.b", "write `a-b`"),
        ("ä", ""),
        ("", ""),
        ("../etc", "write `etc`"),
        (7, "quote it"),
    ],
)
def test_what_is_no_id_is_refused_with_one_that_is(tmp_path: Path, name: object, hint: str) -> None:
    problem = only(refuse(tmp_path, table({"step_id": name})))

    assert (problem.field, problem.hint) == ("jobs[0].steps[0].step_id", hint)


def test_a_wrong_id_is_told_once_and_not_again_where_it_is_named(tmp_path: Path) -> None:
    assert only(refuse(tmp_path, table({"step_id": "a b"}, {"depends_on": "a b"}))).field == "jobs[0].steps[0].step_id"
