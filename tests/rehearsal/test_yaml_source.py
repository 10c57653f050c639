"""YAML by the rules of version 1.2, each value with its place."""

from __future__ import annotations

from typing import Any

import pytest

from teamster.model import TableProblems
from teamster.rehearsal.yaml_source import CHARACTERS_MAX, DEPTH_MAX, read_yaml


def problems(text: str) -> list[str]:
    """Return what is wrong with a text, as lines."""
    with pytest.raises(TableProblems) as raised:
        read_yaml(text, "s.yaml")
    return [str(problem) for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("a: true", {"a": True}, id="boolean"),
        pytest.param("a: yes", {"a": "yes"}, id="yes-is-a-word"),
        pytest.param("a: 2026-01-14", {"a": "2026-01-14"}, id="dates-are-text"),
        pytest.param("a: 010", {"a": "010"}, id="no-octal"),
        pytest.param("a: 10", {"a": 10}, id="integer"),
        pytest.param("a: -1.5e3", {"a": -1500.0}, id="float"),
        pytest.param("a: '10'", {"a": "10"}, id="quoted"),
        pytest.param("a: |\n  10\n", {"a": "10\n"}, id="block"),
        pytest.param("a: ~", {"a": None}, id="null"),
        pytest.param("{a: [1, {b: 2}]}", {"a": [1, {"b": 2}]}, id="flow"),
        pytest.param('{"a": [1, "b"]}', {"a": [1, "b"]}, id="json"),
        pytest.param("a: &x [1]\nb: *x", {"a": [1], "b": [1]}, id="alias"),
    ],
)
def test_plain_values_mean_what_yaml_1_2_says(text: str, value: Any) -> None:
    """A word such as `no` is not a surprise."""
    assert read_yaml(text, "s.yaml").value == value


def test_a_key_stands_once() -> None:
    """The second of two would win in silence."""
    assert problems("a: 1\nb: 2\na: 3\n") == ["s.yaml:3:4: a: stands here twice"]


def test_what_is_no_yaml_is_shown_with_its_place() -> None:
    """The reader's own words, at line and column."""
    (problem,) = problems("a: [1, 2\nb: 2\n")

    assert problem == "s.yaml:2:2: yaml: did not find expected ',' or ']'"


def test_a_regular_expression_in_double_quotes_is_told_of_single_ones() -> None:
    """The trap that everybody falls into once."""
    assert problems(r'a: "\w"') == [
        r"s.yaml:1:5: yaml: found unknown escape character (in single quotes a backslash stands for itself)"
    ]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        pytest.param("x" * (CHARACTERS_MAX + 1), f"is longer than {CHARACTERS_MAX} characters", id="long"),
        pytest.param("[" * 5000, "", id="deeper-than-the-reader-goes"),
        pytest.param("[" * (DEPTH_MAX + 2) + "]" * (DEPTH_MAX + 2), "levels", id="deep"),
        pytest.param("a: &a [*a]", "", id="holds-itself"),
        pytest.param("? [1]\n: 2", "has a key that is no word", id="key"),
        pytest.param("a: " + "9" * 100, "too many digits", id="digits"),
        pytest.param("a: \x00", "", id="control"),
        pytest.param("--- 1\n--- 2\n", "", id="two-documents"),
    ],
)
def test_what_can_be_no_scenario_is_refused(text: str, fact: str) -> None:
    """A file of somebody else's must not fill the memory, nor end in a traceback."""
    assert fact in problems(text)[0]


def test_aliases_cannot_multiply_without_an_end() -> None:
    """Nine lists of nine stand for a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]

    assert "holds more than" in problems("\n".join(lines))[0]


def test_a_missing_part_is_placed_where_it_should_stand() -> None:
    """The nearest thing that was written."""
    document = read_yaml("rules:\n  - match: a.b\n", "s.yaml")

    assert document.place(("rules", 0, "match")) == "s.yaml:2:12"
    assert document.place(("rules", 0, "moves")) == "s.yaml:2:5"
    assert document.place(("other",)) == "s.yaml:1:1"
