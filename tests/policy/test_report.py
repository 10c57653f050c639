"""A Run Report is text that a model wrote: read with care, refused with reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.model import REPORT_FIELDS_MIN, RUN_REPORT_SCHEMA
from teamster.policy import Report, report_problems, schema_problems
from teamster.policy.report import PROBLEM_CHARACTERS_MAX, PROBLEMS_MAX, REPORT_CHARACTERS_MAX

ROOT = Path(__file__).resolve().parents[2]
GOOD: Final[dict[str, Any]] = {
    "schema_version": "1.0.0",
    "status": "ok",
    "summary": "All done.",
    "files_read": ["README.md"],
    "files_written": [],
    "artifacts": [{"path": "out.txt", "kind": "file", "description": "the result"}],
}
DEEP: Final = 100_000
DEPTH_READABLE: Final = 400


def problems(text: str, schema: dict[str, Any] | None = None) -> tuple[str, ...]:
    """Return what is wrong with a report that is there."""
    found = report_problems(text, RUN_REPORT_SCHEMA if schema is None else schema)
    assert found is not None
    assert (found.status is None) == bool(found.problems)
    return found.problems


def changed(**changes: Any) -> str:
    """Return the good report with changes, as text."""
    return json.dumps({**GOOD, **changes})


@pytest.mark.req("PH-8.1.1")
@pytest.mark.parametrize("status", ["ok", "failed", "needs_attention"])
def test_a_good_report_is_taken_as_it_is(status: str) -> None:
    """The agent's words are never edited."""
    found = report_problems(changed(status=status), RUN_REPORT_SCHEMA)

    assert found == Report(value={**GOOD, "status": status})
    assert found.status == status


@pytest.mark.parametrize("text", [None, "", "  \n\t"])
def test_no_text_is_no_report(text: str | None) -> None:
    """Missing and invalid are two facts: a `command` may leave the report out."""
    assert report_problems(text, RUN_REPORT_SCHEMA) is None


@pytest.mark.req("PH-8.1.1")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I am done!", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ("{}", "status: it is none of ok, failed, needs_attention"),
        (changed(status="done"), "status: it is none of"),
        (changed(status=["ok"]), "status: it is none of"),
        (changed(summary=7), "summary: 7 is not of type 'string'"),
        (changed(files_read="all"), "files_read: 'all' is not of type 'array'"),
        (changed(artifacts=[{"path": "a", "kind": "thing", "description": ""}]), "artifacts.0.kind: 'thing'"),
        (changed(extra=1), "'extra' was unexpected"),
        ('{"schema_version": "1.0.0", "status": "ok"}', "'summary' is a required property"),
        ('{"status": "failed", "status": "ok"}', "a key stands twice"),
        ('{"status": "ok", "x": NaN}', "NaN is no JSON number"),
        ('{"status": "ok", "x": 1e999}', "beyond any number"),
        ('{"status": "ok", "x": ' + "9" * 10_000 + "}", "it is not JSON"),
        ('{"status": "ok", "x": "\\ud800"}', "surrogate"),
        ("[" * DEEP, "nested too deeply"),
        ('{"status": "ok", "x": ' + "[" * DEEP + "]" * DEEP + "}", "nested too deeply"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_what_is_wrong_is_named(text: str, named: str) -> None:
    """The person who must look should not have to guess."""
    assert any(named in problem for problem in problems(text)), problems(text)


@pytest.mark.req("PH-13")
@pytest.mark.parametrize("version", ["2.0.0", "0.9", 1, None, ""])
def test_an_unknown_version_is_refused_with_its_number(version: object) -> None:
    """A later form may mean something else by the same words."""
    assert problems(changed(schema_version=version)) == (
        f"schema_version: {version!r} is not known; this harness reads 1.x",
    )


def test_a_report_longer_than_its_bound_is_not_even_read() -> None:
    """An agent can print without end."""
    text = changed(summary="x" * REPORT_CHARACTERS_MAX)

    assert problems(text) == (f"it is longer than {REPORT_CHARACTERS_MAX} characters",)


def test_problems_are_few_and_short_and_on_one_line() -> None:
    """They go into `state.json`, which is read all the time."""
    found = problems(changed(files_read=[{"\x1b[2J\n": "é" * 5000}] * 50))

    assert len(found) == PROBLEMS_MAX
    assert all(len(problem) <= PROBLEM_CHARACTERS_MAX and problem.isprintable() for problem in found)


@given(st.text(max_size=300) | st.recursive(st.none() | st.text(max_size=8), st.lists).map(json.dumps))
def test_no_text_ends_in_an_exception(text: str) -> None:
    """What a model writes is anybody's guess."""
    report_problems(text, RUN_REPORT_SCHEMA)


@pytest.mark.req("PH-8.1.1")
def test_the_schema_that_ships_is_the_one_that_the_code_holds() -> None:
    """People read the file, agents get the value."""
    shipped = ROOT / "schemas" / "run_report.schema.json"

    assert json.loads(shipped.read_text(encoding="utf-8")) == RUN_REPORT_SCHEMA
    assert schema_problems(RUN_REPORT_SCHEMA) == ()


@pytest.mark.req("PH-8.1.1b")
@pytest.mark.parametrize("field", REPORT_FIELDS_MIN)
def test_a_schema_of_ones_own_asks_for_the_minimum_fields(field: str) -> None:
    """The next step and the scoreboard rely on them."""
    schema = {**RUN_REPORT_SCHEMA, "required": [name for name in REPORT_FIELDS_MIN if name != field]}

    assert schema_problems(schema) == (f"it does not require {field}",)


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ([], "a schema is an object"),
        (True, "a schema is an object"),
        ({"type": "thing"}, "it is not a JSON Schema"),
        ({"properties": {"status": {"pattern": "("}}}, "it is not a JSON Schema"),
        (json.loads('{"not": ' * DEPTH_READABLE + "{}" + "}" * DEPTH_READABLE), "it is nested too deeply"),
    ],
    ids=["list", "true", "type", "pattern", "deep"],
)
def test_a_schema_that_is_none_is_refused_at_once(schema: object, named: str) -> None:
    """Better at submission than after an hour of work."""
    assert schema_problems(schema)[0].startswith(named)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        ({"$ref": "https://example.org/report.json"}, "points at something that is not there"),
        ({"$ref": "#/$defs/nothing"}, "points at something that is not there"),
        ({"$ref": "#"}, "nested too deeply"),
        ({"properties": {"status": {"pattern": "("}}}, "a pattern that can't be read"),
    ],
    ids=["network", "nowhere", "endless", "pattern"],
)
def test_a_schema_that_fails_late_is_a_problem_and_no_exception(broken: dict[str, Any], named: str) -> None:
    """Nothing is fetched, and one bad schema must not end the runner."""
    assert named in problems(changed(), broken)[0]


@pytest.mark.parametrize("broken", [{"value": None}, {"value": {}, "problems": ("one",)}], ids=["neither", "both"])
def test_a_report_is_a_value_or_its_problems(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match="never both or neither"):
        Report(**broken)
