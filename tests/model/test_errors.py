"""Errors in three trunks: what a surface shows, and with which exit code."""

from __future__ import annotations

import pytest

from teamster import model
from teamster.model import (
    AgentUnusable,
    LeaseLost,
    Problem,
    StoreUnavailable,
    TableProblems,
    TeamsterError,
    UsageError,
    WorldError,
)

TRUNKS = (UsageError, WorldError, LeaseLost)


def test_every_error_belongs_to_one_trunk() -> None:
    """A surface turns trunks into exit codes; an error without one would be a stack trace."""
    errors = [
        error
        for error in (getattr(model, name) for name in model.__all__)
        if isinstance(error, type) and issubclass(error, TeamsterError) and error is not TeamsterError
    ]

    assert set(errors) >= {*TRUNKS, TableProblems, StoreUnavailable, AgentUnusable}
    assert all(sum(issubclass(error, trunk) for trunk in TRUNKS) == 1 for error in errors)


def test_an_error_is_its_fact_and_carries_the_way_out() -> None:
    """The hint is shown below."""
    error = AgentUnusable("codex lacks --json", hint="install 0.163.0")

    assert (str(error), error.fact, error.hint) == ("codex lacks --json", "codex lacks --json", "install 0.163.0")
    assert LeaseLost("item_1 is somebody else's").hint == ""


@pytest.mark.parametrize(("count", "text"), [(1, "t.yaml has 1 problem"), (3, "t.yaml has 3 problems")])
def test_a_table_is_refused_with_all_its_problems(count: int, text: str) -> None:
    """One at a time would cost a person an hour."""
    problem = Problem(place="t.yaml:3:5", field="jobs.0.steps", fact="it is empty", hint="name one step")
    refused = TableProblems("t.yaml", [problem] * count)

    assert str(refused) == text
    assert refused.problems == (problem,) * count


def test_a_problem_is_one_line_as_compilers_write_it() -> None:
    """Editors jump to it."""
    problem = Problem(place="t.yaml:3:5", field="jobs", fact="it is empty")

    assert str(problem) == "t.yaml:3:5: jobs: it is empty"
    assert str(Problem(place="a", field="b", fact="c", hint="d")) == "a: b: c (d)"
