from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intake.writing import accept, table
from teamster.intake import changed_steps

OLD = table({"step_id": "a"}, {"step_id": "b", "depends_on": ["a"]})


def changed(tmp_path: Path, new: dict[str, Any]) -> tuple[str, ...]:
    """Compare the old table with a new one."""
    return changed_steps(accept(tmp_path, OLD), accept(tmp_path, new))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (OLD, ()),
        ({**OLD, "batch_id": "other"}, ()),
        (table({"step_id": "a", "prompt": "Else."}, {"step_id": "b", "depends_on": ["a"]}), ("one.a: prompt",)),
        (
            table({"step_id": "a"}, {"step_id": "b", "timeout_seconds": 5}),
            ("one.b: depends_on, timeout_seconds",),
        ),
        (table({"step_id": "a"}), ("one.b: removed",)),
        (table({"step_id": "a"}, {"step_id": "c"}), ("one.b: removed", "one.c: added")),
        (
            table({"step_id": "b", "depends_on": ["a"]}, {"step_id": "a"}),
            ("one: order of steps",),
        ),
        (
            table({"step_id": "a"}, {"step_id": "b", "depends_on": ["a"]}, concurrency=2, labels={"x": "y"}),
            ("the table: labels, concurrency",),
        ),
        (
            table({"step_id": "a", "command": ["true"]}, {"step_id": "b", "depends_on": ["a"]}),
            ("one.a: agent, command",),
        ),
    ],
)
def test_a_person_is_told_what_differs(tmp_path: Path, new: dict[str, Any], expected: tuple[str, ...]) -> None:
    """The offer of another batch is worth nothing without knowing what changed."""
    assert changed(tmp_path, new) == expected


def test_a_job_that_came_brings_all_its_steps(tmp_path: Path) -> None:
    new = {**OLD, "jobs": [*OLD["jobs"], {"job_id": "two", "steps": [{"prompt": "x"}, {"prompt": "y"}]}]}

    assert changed(tmp_path, new) == ("two.step1: added", "two.step2: added")


def test_a_job_that_was_renamed_went_and_came(tmp_path: Path) -> None:
    new = {**OLD, "jobs": [{**OLD["jobs"][0], "job_id": "uno"}]}

    assert changed(tmp_path, new) == ("one.a: removed", "one.b: removed", "uno.a: added", "uno.b: added")


def test_jobs_in_another_order_are_a_change_of_the_table(tmp_path: Path) -> None:
    """Jobs are queued in their order."""
    more = {"job_id": "two", "steps": [{"prompt": "x"}]}
    old, new = ({**OLD, "jobs": jobs} for jobs in ([*OLD["jobs"], more], [more, *OLD["jobs"]]))

    assert changed_steps(accept(tmp_path, old), accept(tmp_path, new)) == ("the table: order of jobs",)


def test_a_label_of_a_job_is_a_change_of_the_job(tmp_path: Path) -> None:
    new = {**OLD, "jobs": [{**OLD["jobs"][0], "tags": ["x"]}]}

    assert changed(tmp_path, new) == ("one: tags",)


STEPS = st.lists(
    st.fixed_dictionaries(
        {"step_id": st.sampled_from("abc")},
        optional={"prompt": st.sampled_from("xy"), "timeout_seconds": st.integers(1, 2)},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda step: step["step_id"],
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(old=STEPS, new=STEPS, bounds=st.tuples(st.integers(1, 2), st.integers(1, 2)))
def test_nothing_differs_exactly_where_the_digests_are_equal(
    tmp_path: Path, old: list[dict[str, Any]], new: list[dict[str, Any]], bounds: tuple[int, int]
) -> None:
    """A refusal that names nothing, or a change that is not seen: neither happens."""
    before = accept(tmp_path, table(*old, concurrency=bounds[0]))
    after = accept(tmp_path, table(*new, concurrency=bounds[1]))

    assert (changed_steps(before, after) == ()) == (before.digest == after.digest)
