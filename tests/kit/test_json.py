"""JSON as bytes: equal values give equal bytes, whatever their order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import canonical, digest, document, sha256

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_canonical_json_reads_back_and_is_the_same_again(value: Any) -> None:
    """A digest that changed by itself would refuse a table that is running."""
    written = canonical(value)

    assert json.loads(written) == value
    assert canonical(json.loads(written)) == written
    assert digest(value) == sha256(written)


@given(st.dictionaries(st.text(max_size=5), values, max_size=5))
def test_the_order_of_keys_does_not_count(value: dict[str, Any]) -> None:
    """Not for the digest; a file that people read keeps the order that it was given."""
    turned = dict(reversed(value.items()))

    assert digest(turned) == digest(value)
    assert list(json.loads(document(turned))) == list(turned)


def test_the_bytes_are_these() -> None:
    """Digests are kept in files: another way of writing would not find them again."""
    value = {"b": [1, 1.5, True, None], "a": "é\n", "": {}}

    assert canonical(value) == '{"":{},"a":"é\\n","b":[1,1.5,true,null]}'.encode()
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert document({"b": 1, "a": "é"}) == '{"b": 1,\n "a": "é"}\n'.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_what_is_no_json_is_not_written(number: float) -> None:
    """Python would write it, and nobody else could read it."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": number})
    with pytest.raises(ValueError, match="not JSON compliant"):
        document({"a": number})
