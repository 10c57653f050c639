"""Whatever comes in, either a table comes out or all that is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intake.writing import GOAL, table
from teamster.intake import table_from
from teamster.intake.keys import LEVELS
from teamster.model import Table, TableDefaults, TableProblems

KEYS = sorted({key for level in LEVELS.values() for key in level} | {"x-a", "", "a b"})
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 200)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
    | st.sampled_from(["a", "b", "a.b", "codex", "command", "latest", ".", "..", "~", "none", GOAL, "\ud800", "\0"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=25,
)
QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def taken(folder: Path, text: str, suffix: str) -> Table | None:
    """Read a table; None where it was refused as it should be."""
    try:
        return table_from(text, path=folder / f"t.{suffix}", defaults=TableDefaults())
    except TableProblems as error:
        problems = error.problems
    assert problems
    assert all(problem.place and problem.field and problem.fact for problem in problems)
    assert all(str(problem).isprintable() for problem in problems)
    return None


@QUIET
@given(text=st.text(max_size=200), suffix=st.sampled_from(["yaml", "json", "toml"]))
def test_any_text_is_read_or_refused(tmp_path: Path, text: str, suffix: str) -> None:
    taken(tmp_path, text, suffix)


@QUIET
@given(text=st.text("{}[]:-,'\"&*!|>#%@`? \n\tab1.", max_size=60))
def test_any_punctuation_is_read_or_refused(tmp_path: Path, text: str) -> None:
    """What YAML is made of, in any order."""
    taken(tmp_path, text, "yaml")


@QUIET
@given(value=VALUES)
def test_any_value_is_read_or_refused(tmp_path: Path, value: Any) -> None:
    taken(tmp_path, json.dumps(value), "json")


@QUIET
@given(
    top=st.dictionaries(st.sampled_from(LEVELS["table"]), VALUES, max_size=3),
    job=st.dictionaries(st.sampled_from(LEVELS["job"]), VALUES, max_size=3),
    step=st.dictionaries(st.sampled_from(LEVELS["step"]), VALUES, max_size=3),
)
def test_a_good_table_with_anything_in_it_is_read_or_refused(
    tmp_path: Path, top: dict[str, Any], job: dict[str, Any], step: dict[str, Any]
) -> None:
    """Each field in turn holds what it never should."""
    content = table({"step_id": "a"}, step)
    content["jobs"][0].update(job)
    content.update(top)

    read = taken(tmp_path, json.dumps(content), "json")

    if read is not None:
        assert Table.from_json(json.loads(json.dumps(read.to_json()))) == read


SECONDS = st.integers(1, 1000) | st.floats(1, 1000)
GOOD_STEPS = st.lists(
    st.fixed_dictionaries(
        {"prompt": st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)},
        optional={
            "timeout_seconds": SECONDS,
            "retries": st.fixed_dictionaries(
                {}, optional={"max_attempts": st.integers(1, 9), "backoff_seconds": SECONDS}
            ),
            "execution_policy": st.fixed_dictionaries({}, optional={"model": st.just("m"), "add_dirs": st.just(["."])}),
            "command": st.just(["echo", "{run_id}"]),
        },
    ),
    min_size=1,
    max_size=4,
)


@QUIET
@given(steps=GOOD_STEPS, chained=st.booleans())
def test_normalising_twice_changes_nothing(tmp_path: Path, steps: list[dict[str, Any]], chained: bool) -> None:  # noqa: FBT001
    """What is kept of a batch is read by later versions of us: it must say all, and say it once."""
    for number, step in enumerate(steps[1:], 1):
        step.update({"depends_on": [f"step{number}"]} if chained else {})
    read = taken(tmp_path, json.dumps(table(*steps)), "json")
    assert read is not None

    kept = json.loads(json.dumps(read.to_json()))
    again = Table.from_json(kept)

    assert again == read
    assert again.digest == read.digest
    assert again.to_json() == kept
