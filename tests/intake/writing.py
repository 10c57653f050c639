"""Tables for tests: a good one to start from, and two ways to hand it in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from teamster.intake import LIMITS, Limits, table_from
from teamster.model import Problem, Step, Table, TableDefaults, TableProblems

GOAL = " ".join(["word"] * 151)


def table(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a table of one job; a step that says nothing does something harmless."""
    written = [{"prompt": "Do it.", **step} for step in steps] or [{"prompt": "Do it."}]
    return {"batch_goal_summary": GOAL, "jobs": [{"job_id": "one", "steps": written}], **fields}


def accept(
    folder: Path,
    content: dict[str, Any] | str,
    *,
    name: str = "table",
    limits: Limits = LIMITS,
    defaults: TableDefaults | None = None,
    **options: Any,
) -> Table:
    """Read a table that is good: text is YAML, a mapping goes in as JSON."""
    text, suffix = (content, "yaml") if isinstance(content, str) else (json.dumps(content), "json")
    path = folder / f"{name}.{suffix}"
    return table_from(text, path=path, defaults=defaults or TableDefaults(), limits=limits, **options)


def refuse(
    folder: Path, content: dict[str, Any] | str, *, limits: Limits = LIMITS, **options: Any
) -> tuple[Problem, ...]:
    """Read a table that is not good, and return all its problems, places without the folder."""
    with pytest.raises(TableProblems) as caught:
        accept(folder, content, limits=limits, **options)
    return tuple(
        Problem(
            place=problem.place.removeprefix(f"{folder}/"), field=problem.field, fact=problem.fact, hint=problem.hint
        )
        for problem in caught.value.problems
    )


def lines(problems: tuple[Problem, ...]) -> list[str]:
    """Write problems as people see them."""
    return [str(problem) for problem in problems]


def only(problems: tuple[Problem, ...]) -> Problem:
    """Return the one problem that there is."""
    assert len(problems) == 1, lines(problems)
    return problems[0]


def step_of(read: Table, number: int = 1) -> Step:
    """Return a step of the first job."""
    return read.jobs[0].steps[number - 1]
