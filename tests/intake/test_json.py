from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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
        "t.json:1:22: jobs[1].x: the key stands more than once (keep one of them)",
        "t.json:1:48: a: the key stands more than once (keep one of them)",
    ]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1234567890123456789"])
def test_numbers_that_no_two_programs_agree_on_are_noted(number: str) -> None:
    found = noted(f'{{"a": [{number}]}}')

    assert found == [f"t.json:1:8: a[0]: {number} is no number that can be kept exactly (write it as text, or smaller)"]


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 40 + "]" * 40], ids=["open", "closed"])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(TableProblems, match="1 problem"):
        parse_json(text, source="t.json", limits=LIMITS)


def test_the_number_of_values_is_bounded() -> None:
    with pytest.raises(TableProblems) as caught:
        parse_json("[1, 2, 3]", source="t.json", limits=replace(LIMITS, nodes_max=3))

    assert "more than 3 values" in str(caught.value.problems[0])


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(value=JSON_VALUES)
def test_good_json_comes_back_as_it_was(value: object) -> None:
    parsed = parse_json(json.dumps(value), source="t.json", limits=LIMITS)

    assert parsed.value == value
    assert parsed.noted == ()


def paths_of(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path of everything within a value, and what stands there."""
    yield path, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_of(inner, (*path, key))


@given(value=JSON_VALUES, indent=st.sampled_from([None, 0, 3]))
def test_each_field_is_placed_at_its_key_and_each_entry_at_its_beginning(value: Any, indent: int | None) -> None:
    """A place that is wrong is worse than none; checked for every value that there can be."""
    text = json.dumps(value, indent=indent)
    parsed = parse_json(text, source="t", limits=LIMITS)

    for path, inner in paths_of(value):
        _, line, column = parsed.place(path).split(":")
        rest = "\n".join(text.split("\n")[int(line) - 1 :])[int(column) - 1 :]
        begins = json.dumps(path[-1]) if path and isinstance(path[-1], str) else json.dumps(inner)[0]
        assert rest.startswith(begins), (path, rest)


def test_what_is_missing_is_placed_at_what_lacks_it() -> None:
    parsed = parse_json('{"a": [\n  {"b": 1}]}', source="t", limits=LIMITS)

    assert parsed.place(("a", 0, "c", "d")) == "t:2:3"
    assert parsed.place(("z",)) == "t:1:1"
