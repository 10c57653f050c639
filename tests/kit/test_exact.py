"""JSON from outside: whatever comes, a value comes out or every reason why not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamster.kit import INTEGER_MAX, JSON_LIMITS, JsonLimits, exact_faults, parse_exactly

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-INTEGER_MAX, INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


def told(content: str | bytes, limits: JsonLimits = JSON_LIMITS) -> list[str]:
    """Return the paths and facts of what is wrong."""
    _, faults = parse_exactly(content, limits=limits)
    assert all(fault.hint and str(fault).isprintable() for fault in faults)
    return [f"{fault.path}: {fault.fact}" for fault in faults]


@settings(deadline=None)
@given(values)
def test_good_json_comes_back_as_it_was(value: object) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False).encode()):
        assert parse_exactly(written) == (value, ())


@settings(deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60) | st.text('{}[]:,"\\u0d8f1eE+-.NaIinfty ', max_size=30))
def test_no_text_ends_in_an_exception(content: str | bytes) -> None:
    """What another program writes is anybody's guess."""
    value, faults = parse_exactly(content)

    assert faults or json.loads(content) == value


@pytest.mark.req("DC-ver")
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "$: it is not JSON: Expecting value (line 1, column 1)"),
        ('{"a": 1,\n "b" 2}', "$: it is not JSON: Expecting ':' delimiter (line 2, column 6)"),
        ("\ufeff{}", "$: it is not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) (line 1, column 1)"),
        (b'{"a": "\xff"}', "$: byte 7 is no UTF-8"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', "$.a.b: the key stands more than once"),
        ('{"a": [NaN]}', "$.a[0]: NaN is no number that is read alike everywhere"),
        ('{"a": -Infinity}', "$.a: -Infinity is no number that is read alike everywhere"),
        ("[1e999]", "$[0]: 1e999 is no number that is read alike everywhere"),
        ("[9007199254740992]", "$[0]: 9007199254740992 is no number that is read alike everywhere"),
        (f"[-{'9' * 5000}]", f"$[0]: -{'9' * 39} is no number that is read alike everywhere"),
        ('{"a b": "\\ud800"}', '$["a b"]: the text holds half a surrogate pair'),
        ('{"\\udfff": 1}', '$["\\udfff"]: the key holds half a surrogate pair'),
    ],
)
def test_what_is_not_read_alike_everywhere_is_told_by_its_path(content: str | bytes, expected: str) -> None:
    """Another runtime would take the last key, another number, or nothing at all."""
    assert told(content) == [expected]


def test_all_faults_are_told_in_the_order_of_the_text_up_to_a_bound() -> None:
    """One at a time would cost a person an hour."""
    assert told('{"b": NaN, "a": ["\\ud800", 1e400], "b": 1}') == [
        "$.b: the key stands more than once",
        "$.a[0]: the text holds half a surrogate pair",
        "$.a[1]: 1e400 is no number that is read alike everywhere",
    ]
    assert len(told(f"[{', '.join(['NaN'] * 1000)}]")) == 50


@pytest.mark.req("DC-ver")
@pytest.mark.parametrize("content", ["[" * 100_000, "[" * 70 + "]" * 70, '{"a":' * 70 + "1" + "}" * 70])
def test_deep_nesting_is_refused(content: str) -> None:
    """It would end a recursive reader."""
    (fault,) = told(content)

    assert fault.endswith("it is nested deeper than 64 levels")


def test_size_and_number_of_values_are_bounded() -> None:
    assert told("[1, 2, 3]", JsonLimits(values_max=3)) == ["$: it has more than 3 values"]
    assert told(" " * 11, JsonLimits(bytes_max=10)) == ["$: it has more than 10 bytes"]


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**400, -(2**53), b"", (1,), {1}, {1: 2}, {None: 1}, object(), "\ud800"],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_no_json_gives_is_told_too(value: Any) -> None:
    """A caller may have parsed it with something more generous."""
    assert exact_faults({"a": [value]})


def test_a_value_that_holds_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)

    assert exact_faults(loop)
