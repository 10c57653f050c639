from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake.writing import accept, lines, only, refuse, step_of, table
from teamster.intake import LIMITS
from teamster.intake.graph import Wait, Waiter, check_graph
from teamster.intake.parsed import Problems
from teamster.model import Dependency, Step, StepId


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
        ("two.nothing", "there is no step 'two.nothing'", "known are two.build"),
        ("two.biuld", "there is no step 'two.biuld'", "did you mean `two.build`?"),
        ("tow.build", "there is no job 'tow'", "did you mean `two`?"),
        ("zzzzz.build", "there is no job 'zzzzz'", "known are one, two"),
        (".build", "there is no job ''", "known are one, two"),
        ("two.build.more", "there is no step 'two.build.more'", "did you mean `two.build`?"),
        ("on*.build", "no other job 'on*' has a step 'build'", "`*` stands for a part of a job's id"),
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
    jobs=st.lists(st.sampled_from("xyz"), min_size=5, max_size=5),
)
def test_circles_are_found_exactly_where_no_order_exists(edges: dict[str, set[str]], jobs: list[str]) -> None:
    """Checked against the slow and obvious way: take away whoever waits for nobody, until nothing changes.

    The same holds however the steps are spread over jobs.
    """
    problems = Problems("t", lambda _: "t")
    home = dict(zip(NAMES, jobs, strict=True))
    waiters = [
        Waiter(
            step=(home[name], name),
            problems=problems,
            waits=tuple(Wait(step=(home[other], other), path=(name, other)) for other in sorted(edges.get(name, ()))),
        )
        for name in NAMES
    ]
    left = {name: set(edges.get(name, ())) for name in NAMES}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]

    check_graph([[waiter for waiter in waiters if waiter.step[0] == job] for job in "xyz"])

    assert bool(len(problems)) == bool(left), lines(tuple(problems.found()))


def jobs_of(**jobs: object) -> dict[str, Any]:
    """Return a table of jobs of one step `s`, each with what it waits for."""
    written = [
        {"job_id": name, "steps": [{"step_id": "s", "prompt": "Do it.", "depends_on": waits}]}
        for name, waits in jobs.items()
    ]
    return table(jobs=written)


@pytest.mark.req("PH-6.2e")
@pytest.mark.parametrize(
    ("written", "waits"),
    [
        (["a.s"], ["a.s"]),
        ("a.s", ["a.s"]),
        (["a.s", "a.s"], ["a.s"]),
        (["a.s", "b.s"], ["a.s", "b.s"]),
        (["*.s"], ["a.s", "b.s"]),
        (["b.s", "?.s", "[ab].s", "*.s"], None),
    ],
)
def test_a_step_waits_for_steps_of_other_jobs(tmp_path: Path, written: object, waits: list[str] | None) -> None:
    """`job.step`, or `*` for a part of a job's id: nothing else is a pattern, and nobody waits for himself by one."""
    content = jobs_of(a=[], b=[], last=written)

    if waits is None:
        facts = [problem.fact for problem in refuse(tmp_path, content)]
        assert facts == ["there is no job '?'", "there is no job '[ab]'"]
    else:
        step = accept(tmp_path, content).jobs[2].steps[0]
        assert [str(need) for need in step.depends_on] == waits
        assert Step.from_json(step.to_json()) == step


def test_a_step_of_the_same_job_may_be_named_in_full(tmp_path: Path) -> None:
    """It is the same dependency, and the same table."""
    short = accept(tmp_path, table({"step_id": "a"}, {"depends_on": "a"}))
    full = accept(tmp_path, table({"step_id": "a"}, {"depends_on": "one.a", "step_id": "step2"}))

    assert short.digest == full.digest


@pytest.mark.req("PH-7.1")
def test_a_circle_through_several_jobs_is_told_with_its_whole_way(tmp_path: Path) -> None:
    """Nobody can mend a circle who sees but a part of it."""
    problem = only(refuse(tmp_path, jobs_of(a=["c.s"], b=["a.s"], c=["b.s"], other=["a.s"])))

    assert problem.field.endswith("depends_on[0]")
    assert problem.fact in {
        "it waits for itself: a.s -> c.s -> b.s -> a.s",
        "it waits for itself: b.s -> a.s -> c.s -> b.s",
        "it waits for itself: c.s -> b.s -> a.s -> c.s",
    }


def test_circles_within_jobs_and_between_them_are_all_told(tmp_path: Path) -> None:
    problems = refuse(tmp_path, jobs_of(a=["s"], b=["c.s"], c=["b.s"], d=["d.s"]))

    assert sorted(problem.fact for problem in problems if problem.field[:7] in {"jobs[0]", "jobs[3]"}) == [
        "it waits for itself: s -> s",
        "it waits for itself: s -> s",
    ]
    assert len(problems) == 3


def test_a_conversation_stays_within_its_job(tmp_path: Path) -> None:
    content = jobs_of(a=[], b=[])
    content["jobs"][1]["steps"][0]["resume_from"] = "a.s"

    assert only(refuse(tmp_path, content)).fact.startswith("'a.s' is a step of another job")


def test_stars_that_stand_for_too_many_are_refused_early(tmp_path: Path) -> None:
    """A hundred steps that wait for a hundred jobs each are ten thousand dependencies; here it is nine times eight."""
    limits = replace(LIMITS, dependencies_max=50)
    problem = only(refuse(tmp_path, jobs_of(**{name: [] for name in "abcdefgh"}, z=["*.s"] * 9), limits=limits))

    assert "more than 50 dependencies" in problem.fact


def test_thousands_of_jobs_that_wait_for_each_other_are_read(tmp_path: Path) -> None:
    """A long chain through many jobs is an ordinary table."""
    written = [
        {
            "job_id": f"j{n}",
            "steps": [{"step_id": "s", "command": ["true"], "depends_on": [f"j{n - 1}.s"] if n else []}],
        }
        for n in range(3000)
    ]

    assert len(accept(tmp_path, table(jobs=written)).jobs) == 3000
