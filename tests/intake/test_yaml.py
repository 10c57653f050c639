from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from teamster.intake.limits import LIMITS
from teamster.intake.yaml import parse_yaml
from teamster.model import TableProblems


def value_of(text: str) -> Any:
    """Parse YAML in which nothing is wrong."""
    parsed = parse_yaml(text, source="t.yaml", limits=LIMITS)
    assert parsed.noted == ()
    return parsed.value


def noted(text: str) -> list[str]:
    """Return what is noted about YAML that can be read."""
    return [str(problem) for problem in parse_yaml(text, source="t.yaml", limits=LIMITS).noted]


def refused(text: str, **bounds: int) -> str:
    """Return why YAML can't be read."""
    with pytest.raises(TableProblems) as caught:
        parse_yaml(text, source="t.yaml", limits=replace(LIMITS, **bounds))
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("Off", "Off"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0x1f", "0x1f"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-14", "2026-01-14"),
        ("-7", -7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'no'", "no"),
        ('"true"', "true"),
        ("!!str 7", "7"),
        ("=", "="),
    ],
)
def test_scalars_follow_the_rules_of_yaml_1_2(scalar: str, value: object) -> None:
    """A country code is no boolean, a zip code no octal number, a release date no date."""
    read = value_of(f"key: {scalar}")["key"]

    assert read == value
    assert type(read) is type(value)


def test_a_key_that_stands_twice_is_noted_with_both_places() -> None:
    """The last one would win in silence."""
    assert noted("a: 1\nb: 2\na: 3\n") == ["t.yaml:3:1: a: the key stands twice, first at 1:1 (keep one of them)"]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n", "merge keys are not part of YAML 1.2", id="merge"),
        pytest.param("a: !!int '7'\n", "the tag tag:yaml.org,2002:int means nothing here", id="tag"),
        pytest.param("a: !!python/object:os.system {}\n", "means nothing here", id="dangerous-tag"),
        pytest.param("7: a\n", "the key 7 is not text", id="number-as-key"),
        pytest.param("true: a\n", "the key true is not text", id="boolean-as-key"),
        pytest.param("a: .inf\n", "is no number that can be kept exactly", id="infinite"),
        pytest.param("a: 1234567890123456789\n", "is no number that can be kept exactly", id="too-many-digits"),
    ],
)
def test_what_readers_disagree_about_is_noted(text: str, fact: str) -> None:
    found = noted(text)

    assert len(found) == 1
    assert fact in found[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [1, 2\nb: 3\n", "t.yaml:2:2: the table: it is not YAML", id="open-list"),
        pytest.param("a:\n\t- b\n", "t.yaml:2:1: the table: it is not YAML", id="tab"),
        pytest.param("a: *nobody\n", "t.yaml:1:4: a: nothing that ends before here is called &nobody", id="alias"),
        pytest.param("a: &x [*x]\n", "t.yaml:1:8: a[0]: nothing that ends before here is called &x", id="itself"),
        pytest.param("{a: 1}: b\n", "a list or mapping can't be a key", id="mapping-as-key"),
        pytest.param("a: 1\n---\nb: 2\n", "t.yaml:2:1: the table: a second document begins", id="two-documents"),
        pytest.param("", "t.yaml: the table: it is empty", id="empty"),
        pytest.param("# nothing\n", "t.yaml: the table: it is empty", id="comment"),
        pytest.param("a: \x00\n", "t.yaml: the table: it is not YAML", id="nul"),
    ],
)
def test_what_is_no_yaml_is_refused_at_its_place(text: str, message: str) -> None:
    assert message in refused(text)


def test_an_alias_bomb_is_refused_by_what_it_would_become() -> None:
    """Nine lines of aliases stand for ten to the ninth values."""
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))

    assert "more than 500000 values, aliases expanded" in refused(bomb)


def test_depth_counts_through_aliases() -> None:
    text = "a: &a [[[x]]]\nb: [[*a]]\n"

    assert value_of(text)["b"] == [[[[["x"]]]]]
    assert "nested deeper than 5 levels" in refused(text, depth_max=5)


def test_deep_nesting_ends_without_deep_recursion() -> None:
    assert "nested deeper than 32 levels" in refused("[" * 100_000)


def test_aliases_are_bounded() -> None:
    assert "there are more than 2 aliases" in refused("a: &a x\nb: [*a, *a, *a]\n", aliases_max=2)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("jobs",), "t.yaml:2:1"),
        (("jobs", 0), "t.yaml:3:5"),
        (("jobs", 1, "id"), "t.yaml:6:5"),
        (("jobs", 1, "missing", "deeper"), "t.yaml:6:5"),
        (("jobs", 0, "list", 1), "t.yaml:4:15"),
        (("nothing",), "t.yaml:1:1"),
    ],
)
def test_a_field_is_found_where_it_stands_or_would_stand(path: tuple[str | int, ...], place: str) -> None:
    """A person looks there first."""
    text = "top: 1\njobs:\n  - id: a\n    list: [x, y]\n  # between\n  - id: b\n"
    parsed = parse_yaml(text, source="t.yaml", limits=LIMITS)

    assert parsed.place(path) == place


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(st.characters(codec="ascii"), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner),
    max_leaves=20,
)
DUMPERS: list[Callable[[Any], str]] = [
    lambda value: yaml.dump(value, default_style='"', default_flow_style=False),
    lambda value: yaml.dump(value, default_style='"', default_flow_style=True),
]


@given(
    value=st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text(max_size=20)), dump=st.sampled_from(DUMPERS)
)
def test_quoted_text_comes_back_as_it_was(value: dict[str, str], dump: Callable[[Any], str]) -> None:
    """Whatever a quoted scalar looks like, it is text."""
    assert value_of(dump(value)) == value


@given(value=PLAIN)
def test_json_is_yaml(value: object) -> None:
    """Programs write JSON into files that are called YAML."""
    assert value_of(json.dumps({"value": value})) == {"value": value}
