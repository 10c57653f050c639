"""Who is talking."""

from __future__ import annotations

import pytest

from teamster.rehearsal.conversation import ATTEMPT_HEADER, JOB_HEADER, STEP_HEADER, Conversation, conversation_of


def test_the_headers_name_the_attempt() -> None:
    """The agent program copies them from its environment; the model needs no other tie to the harness."""
    asked = conversation_of({JOB_HEADER: "docs", STEP_HEADER: "outline", ATTEMPT_HEADER: "3", "host": "x"})

    assert asked == Conversation(job_id="docs", step_id="outline", attempt_number=3)
    assert str(asked) == "docs.outline, attempt 3"


@pytest.mark.parametrize("number", ["", "0", "-1", "x", "1e3", "9" * 30, "²"])
def test_a_strange_number_is_the_first_attempt(number: str) -> None:
    """A header is what anybody may send."""
    assert conversation_of({JOB_HEADER: "a", STEP_HEADER: "b", ATTEMPT_HEADER: number}).attempt_number == 1


@pytest.mark.parametrize("headers", [{}, {JOB_HEADER: "a"}, {JOB_HEADER: "a.b", STEP_HEADER: "c"}])
def test_somebody_unknown_is_answered_too(headers: dict[str, str]) -> None:
    """A person who tries the model by hand plays by the rules for `*`."""
    assert conversation_of(headers) == Conversation()
