from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.intake.json import parse_json
from teamster.intake.limits import LIMITS
from teamster.model import TableProblems


def noted(text: str) -> list[str]:
    """Return what is noted about JSON that can be read."""
    return [str(problem) for problem in parse_json(text, source="t.json", limits=LIMITS).noted]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param('{"a": 1,}', "t.json:1:9", id="comma"),
        pytest.param('{\n  "a": 1\n  "b": 2\n}', "t.json:3:3", id="no-comma"),
        pytest.param("", "t.json:1:1", id="empty"),
        pytest.param("{'a': 1}", "t.json:1:2", id="single-quotes"),
        pytest.param('{"a": 1} x', "t.json:1:10", id="something-after"),
    ],
)
def test_what_is_no_json_is_refused_at_its_line_and_column(text: str, place: str) -> None:
    with pytest.raises(TableProblems) as caught:
        parse_json(text, source="t.json", limits=LIMITS)

    assert [problem.place for problem in caught.value.problems] == [place]


def test_keys_that_stand_twice_are_noted_by_their_path_wherever_they_are() -> None:
    """Other programs would take the first, or the last."""
    assert noted('{"jobs": [{"x": 1}, {"x": 1, "y": 2, "x": 3}], "a": 1, "a": 1}') == [
        "t.json: a: the key stands more than once (keep one of them)",
        "t.json: jobs[1].x: the key stands more than once (keep one of them)",
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1234567890123456789"])
def test_numbers_that_no_two_programs_agree_on_are_noted(number: str) -> None:
    found = noted(f'{{"a": [{number}]}}')

    assert found == [f"t.json: a[0]: {number} is no number that can be kept exactly (write it as text, or smaller)"]


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 40 + "]" * 40], ids=["open", "closed"])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(TableProblems, match="1 problem"):
        parse_json(text, source="t.json", limits=LIMITS)


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(TableProblems) as caught:
        parse_json("[1, 2, 3]", source="t.json", limits=replace(LIMITS, nodes_max=3))

    assert "more than 3 values" in str(caught.value.problems[0])


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=20,
    )
)
def test_good_json_comes_back_as_it_was(value: object) -> None:
    parsed = parse_json(json.dumps(value), source="t.json", limits=LIMITS)

    assert parsed.value == value
    assert parsed.noted == ()
