"""One grammar for all names."""

from __future__ import annotations

import pytest

from teamster.model import BatchId, JobId, StepId, StepKey, is_id


@pytest.mark.parametrize("text", ["a", "A-1_b", "0", "x" * 64])
def test_names_are_taken(text: str) -> None:
    """Letters, digits, `_` and `-`."""
    assert is_id(text)


@pytest.mark.parametrize(
    "text", ["", "_system", "-x", "a.b", "a/b", "..", "a b", "a\n", "ä", "x" * 65, "a\0", "A\u202e"]
)
def test_what_is_no_name_is_refused(text: str) -> None:
    """A name becomes a folder, and `job.step` is a reference; `_` at the front is ours."""
    assert not is_id(text)


def test_a_key_is_made_of_names() -> None:
    """Dependencies point at steps by it."""
    key = StepKey(BatchId("batch_1"), JobId("job_1"), StepId("step1"))

    assert str(key) == "job_1.step1"
    with pytest.raises(ValueError, match="is not an id"):
        StepKey(BatchId("batch_1"), JobId("job.1"), StepId("step1"))
