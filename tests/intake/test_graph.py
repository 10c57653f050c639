from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.writing import accept, lines, only, refuse, step_of, table
from teamster.intake.fields import Fields
from teamster.intake.graph import Wait, Waiter, check_graph
from teamster.intake.parsed import Problems
from teamster.model import Dependency, StepId


@pytest.mark.parametrize("written", [["a"], "a", ["a", "a"]])
def test_a_step_waits_for_those_that_it_names(tmp_path: Path, written: object) -> None:
    read = accept(tmp_path, table({"step_id": "a"}, {"depends_on": written}))

    assert step_of(read, 2).depends_on == (Dependency(step_id=StepId("a")),)


def test_a_circle_is_told_with_its_whole_way(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"step_id": "a", "depends_on": ["c"]}, {"step_id": "b", "depends_on": "a"}]
    problem = only(refuse(tmp_path, table(*steps, {"step_id": "c", "resume_from": "b"}, {"depends_on": ["a"]})))

    assert problem.fact in {
        "it waits for itself: a -> c -> b -> a",
        "it waits for itself: b -> a -> c -> b",
        "it waits for itself: c -> b -> a -> c",
    }


def test_every_circle_is_told(tmp_path: Path) -> None:
    """Two circles are two problems, in one go."""
    steps = [
        {"step_id": "a", "depends_on": ["a"]},
        {"step_id": "b", "depends_on": ["c"]},
        {"step_id": "c", "depends_on": ["b"]},
    ]

    assert len(refuse(tmp_path, table(*steps))) == 2


@pytest.mark.parametrize(
    ("named", "fact", "hint"),
    [
        ("biuld", "there is no step 'biuld'", "did you mean `build`?"),
        ("zzzzz", "there is no step 'zzzzz'", "known are build"),
        ("two.build", "a step of another job is known but not yet supported", ""),
        ("two.nothing", "there is no step 'two.nothing'", "known are build"),
    ],
)
def test_a_name_that_leads_nowhere_is_told_with_the_nearest(tmp_path: Path, named: str, fact: str, hint: str) -> None:
    content = table({"step_id": "build"}, {"depends_on": [named]})
    content["jobs"].append({"job_id": "two", "steps": [{"step_id": "build", "prompt": "x"}]})
    problem = only(refuse(tmp_path, content))

    assert problem.field == "jobs[0].steps[1].depends_on[0]"
    assert problem.fact.startswith(fact)
    assert problem.hint == hint


@pytest.mark.parametrize("value", [7, [7], {"a": 1}, [["a"]]])
def test_dependencies_are_texts(tmp_path: Path, value: object) -> None:
    assert "depends_on" in only(refuse(tmp_path, table({"step_id": "a"}, {"depends_on": value}))).field


def test_a_tangle_is_told_by_a_few_of_its_circles(tmp_path: Path) -> None:
    """A hundred steps that all wait for all have more circles than anybody could read, or we could count."""
    steps = [{"step_id": f"s{n}", "depends_on": [f"s{m}" for m in range(100)]} for n in range(100)]

    assert len(refuse(tmp_path, table(*steps))) == 5


def test_a_long_chain_is_no_problem(tmp_path: Path) -> None:
    steps = [{"step_id": f"s{n}", **({"depends_on": [f"s{n - 1}"]} if n else {})} for n in range(100)]

    assert len(accept(tmp_path, table(*steps)).jobs[0].steps) == 100


NAMES = "abcde"


@given(
    edges=st.dictionaries(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES)), max_size=5),
)
def test_circles_are_found_exactly_where_no_order_exists(edges: dict[str, set[str]]) -> None:
    """Checked against the slow and obvious way: take away whoever waits for nobody, until nothing changes."""
    problems = Problems("t", lambda _: "t")
    fields = Fields(value={}, path=(), problems=problems)
    waiters = [
        Waiter(
            step_id=name,
            fields=fields,
            waits=tuple(Wait(step_id=other, path=(name, other)) for other in sorted(edges.get(name, ()))),
        )
        for name in NAMES
    ]
    left = {name: set(edges.get(name, ())) for name in NAMES}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]

    check_graph(waiters, other_jobs={})

    assert bool(len(problems)) == bool(left), lines(tuple(problems.found()))
