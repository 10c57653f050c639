"""What the decoders learn from the words of the real programs, and what no line can do to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.agents import ClaudeAgent, CodexAgent, CommandAgent, Decoder, OpenCodeAgent, Reading, Usage
from teamster.agents.events import ERRORS_MAX
from teamster.policy import FailureClass
from testing.words import CLAUDE, CODEX, OPENCODE, SESSION, THREAD

AGENTS = (CodexAgent("codex"), ClaudeAgent("claude"), OpenCodeAgent("opencode"), CommandAgent())
DECODERS: dict[str, Callable[[], Decoder]] = {agent.name: agent.decoder for agent in AGENTS}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(
    ["thread.started", "turn.completed", "error", "item.completed", "system", "assistant", "user", "result",
     "step_start", "text", "tool_use", "step_finish"]
)  # fmt: skip
KEYS = ("thread_id", "usage", "error", "message", "item", "session_id", "result", "model_usage_since_last_result",
        "sessionID", "part", "subtype", "errors")  # fmt: skip
EVENTS = st.fixed_dictionaries({"type": TYPES}, optional=dict.fromkeys(KEYS, VALUES))
LINES = st.binary(max_size=80) | EVENTS.map(lambda event: json.dumps(event).encode())


def read(agent: str, *events: bytes | dict[str, Any]) -> Reading:
    """Read lines, given as they are or as objects."""
    decoder = DECODERS[agent]()
    for event in events:
        decoder.feed(event if isinstance(event, bytes) else json.dumps(event).encode())
    return decoder.reading


@pytest.mark.parametrize("agent", DECODERS)
@given(lines=st.lists(LINES, max_size=12))
def test_no_line_breaks_a_decoder(agent: str, lines: list[bytes]) -> None:
    """Whatever it is, it is counted, and what was learned can be kept."""
    reading = read(agent, *lines)

    assert reading.events + reading.unknown_events == sum(1 for line in lines if line.strip())
    assert len(reading.errors) <= ERRORS_MAX
    "".join([reading.activity or "", reading.last_message or "", reading.thread_id or ""]).encode()


@pytest.mark.parametrize(("agent", "events"), [("codex", CODEX), ("claude", CLAUDE), ("opencode", OPENCODE)])
@given(cut=st.integers(min_value=0, max_value=400))
def test_a_run_that_was_cut_anywhere_says_no_last_word(agent: str, events: tuple[bytes, ...], cut: int) -> None:
    """The last line is torn where a run is killed."""
    *whole, last = events

    assert read(agent, *whole, last[: min(cut, len(last) - 1)]).terminal is None


def test_claude_counts_what_came_since_its_last_word() -> None:
    """The sums beside it hold the session that was resumed, too: it would be paid twice."""
    reading = read("claude", *CLAUDE)

    assert reading.thread_id == THREAD
    assert reading.last_message == "{}"
    assert reading.usage == Usage(input=300, cached=60, output=14, reasoning=0, cost_usd=0.25)


def test_claude_counts_what_a_killed_run_had_read() -> None:
    """It has no last word: each message says what it took in."""
    assert read("claude", *CLAUDE[:-1]).usage == Usage(input=300, cached=60, output=2, reasoning=0)


def test_opencode_adds_up_its_steps() -> None:
    reading = read("opencode", *OPENCODE)

    assert reading.thread_id == SESSION
    assert reading.usage == Usage(input=210, cached=60, output=16, reasoning=2, cost_usd=0.5)


def test_opencode_knows_no_price_where_it_says_nothing() -> None:
    """It says 0 of a model that it doesn't know: nobody should believe that it was free."""
    step = {"type": "step_finish", "part": {"reason": "stop", "cost": 0, "tokens": {"input": 1}}}

    assert read("opencode", step).usage == Usage(input=1, cached=0, output=0, reasoning=0)


@pytest.mark.parametrize(
    ("status", "error", "failure_class"),
    [
        (429, "rate_limit", FailureClass.QUOTA),
        (None, "billing_error", FailureClass.QUOTA),
        (401, "authentication_failed", FailureClass.AUTH),
        (403, "oauth_org_not_allowed", FailureClass.AUTH),
        (529, "overloaded", FailureClass.NETWORK),
        (500, "server_error", FailureClass.NETWORK),
        (None, "unknown", FailureClass.AGENT_FAILED),
    ],
)
def test_claude_s_errors_have_classes(status: int | None, error: str, failure_class: FailureClass) -> None:
    """By the status and the word that it states, as the real program does; the last word says it again."""
    said = {"content": [{"type": "text", "text": "It did not work."}]}
    told = {"type": "assistant", "message": said, "error": error, "api_error_status": status}
    last = {"type": "result", "subtype": "success", "is_error": True, "result": "It did not work."}
    reading = read("claude", told, {**last, "api_error_status": status})

    assert [error.failure_class for error in reading.errors] == [failure_class]
    assert reading.terminal == "failed"


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        ({"name": "APIError", "data": {"message": "Incorrect API key", "statusCode": 401}}, FailureClass.AUTH),
        ({"name": "ProviderAuthError", "data": {"message": "no login"}}, FailureClass.AUTH),
        ({"name": "APIError", "data": {"message": "slow down", "statusCode": 429}}, FailureClass.QUOTA),
        ({"name": "APIError", "data": {"message": "it broke", "statusCode": 503}}, FailureClass.NETWORK),
        ({"name": "UnknownError", "data": {"message": "Unable to connect."}}, FailureClass.NETWORK),
        ({"name": "UnknownError"}, FailureClass.AGENT_FAILED),
    ],
    ids=["401", "auth", "429", "503", "connect", "unknown"],
)
def test_opencode_s_errors_have_classes(error: dict[str, Any], failure_class: FailureClass) -> None:
    reading = read("opencode", {"type": "error", "sessionID": SESSION, "error": error})

    assert [error.failure_class for error in reading.errors] == [failure_class]
    assert (reading.terminal, reading.thread_id) == ("failed", SESSION)


def test_opencode_that_stops_for_another_reason_has_not_finished() -> None:
    """Cut by a limit, it exits 0 all the same."""
    reading = read("opencode", {"type": "step_finish", "part": {"reason": "length"}})

    assert reading.terminal == "failed"
    assert reading.errors[-1].message == "the model stopped: length"


def test_a_killed_codex_is_counted_from_its_rollout() -> None:
    """The newest record counts, that of the whole thread; a torn last line is passed over."""
    record = {"type": "token_usage_record", "payload": {"thread_token_usage": {"input_tokens": 7, "output_tokens": 3}}}
    later = json.dumps(record).replace("7", "9").encode()
    lines = [b'{"type":"session_meta"}', json.dumps(record).encode(), later, later[:60]]

    assert CodexAgent("codex").session_usage(lines) == Usage(input=9, cached=0, output=3, reasoning=0)
    assert CodexAgent("codex").session_usage(lines[:1]) is None
