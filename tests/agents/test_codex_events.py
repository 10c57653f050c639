"""Codex's events, as the real 0.163.0 printed them; and whatever else may stand in its output."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.agents import AgentError, CodexAgent, Reading, Usage
from teamster.agents.events import (
    ACTIVITY_CHARACTERS_MAX,
    ERROR_CHARACTERS_MAX,
    ERRORS_MAX,
    LINE_BYTES_MAX,
    classify,
)
from teamster.policy import FailureClass

THREAD: Final = "01a1f597-4370-79b2-a48a-fada053bd682"
GOOD_RUN: Final = f"""\
{{"type":"thread.started","thread_id":"{THREAD}"}}
{{"type":"item.completed","item":{{"id":"item_0","type":"error","message":"Model metadata for `m` not found. Defaulting to fallback metadata."}}}}
{{"type":"turn.started"}}
{{"type":"item.started","item":{{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'make test'","aggregated_output":"","exit_code":null,"status":"in_progress"}}}}
{{"type":"item.completed","item":{{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'make test'","aggregated_output":"ok\\n","exit_code":0,"status":"completed"}}}}
{{"type":"item.completed","item":{{"id":"item_2","type":"agent_message","text":"{{\\"status\\": \\"ok\\"}}"}}}}
{{"type":"turn.completed","usage":{{"input_tokens":24,"cached_input_tokens":6,"cache_write_input_tokens":0,"output_tokens":10,"reasoning_output_tokens":2}}}}
""".encode()  # noqa: E501  # real lines are not wrapped
REFUSED_RUN: Final = f"""\
{{"type":"thread.started","thread_id":"{THREAD}"}}
{{"type":"turn.started"}}
{{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized: no, url: http://127.0.0.1:9/v1/responses)"}}
{{"type":"error","message":"unexpected status 401 Unauthorized: no, url: http://127.0.0.1:9/v1/responses"}}
{{"type":"turn.failed","error":{{"message":"unexpected status 401 Unauthorized: no, url: http://127.0.0.1:9/v1/responses"}}}}
""".encode()
COMPLAINTS: Final = {
    "exceeded retry limit, last status: 429 Too Many Requests": FailureClass.QUOTA,
    "You've hit your usage limit. Try again at 7:31 PM.": FailureClass.QUOTA,
    "unexpected status 401 Unauthorized: scripted, url: http://127.0.0.1:9/v1/responses": FailureClass.AUTH,
    "unexpected status 403 Forbidden: scripted": FailureClass.AUTH,
    "Missing environment variable: `CODEX_API_KEY`.": FailureClass.AUTH,
    "We’re currently experiencing high demand, which may cause temporary errors.": FailureClass.NETWORK,  # noqa: RUF001  # as it came
    "unexpected status 503 Service Unavailable: scripted": FailureClass.NETWORK,
    "stream disconnected before completion: stream closed before response.completed": FailureClass.NETWORK,
    "Connection failed: error sending request": FailureClass.NETWORK,
    '{"error": {"message": "scripted", "type": "x", "code": "y"}}': FailureClass.AGENT_FAILED,
    "": FailureClass.AGENT_FAILED,
}


def read(*lines: bytes) -> Reading:
    """Feed lines to a new decoder."""
    decoder = CodexAgent("codex").decoder()
    for line in lines:
        decoder.feed(line)
    return decoder.reading


def event(kind: str, **fields: Any) -> bytes:
    """Write an event."""
    return json.dumps({"type": kind, **fields}).encode()


def item(kind: str, **fields: Any) -> bytes:
    """Write the end of an item."""
    return event("item.completed", item={"type": kind, **fields})


def test_a_good_run_is_read_whole() -> None:
    """An `item.completed` of type `error` comes in good runs too: it is no failure."""
    assert read(*GOOD_RUN.splitlines(keepends=True)) == Reading(
        thread_id=THREAD,
        activity="turn completed",
        last_message='{"status": "ok"}',
        usage=Usage(input=24, cached=6, output=10, reasoning=2),
        terminal="completed",
        errors=(),
        events=7,
        unknown_events=0,
    )


def test_what_it_does_can_be_followed() -> None:
    """A person who looks wants to see more than `running`."""
    decoder = CodexAgent("codex").decoder()
    seen: list[str | None] = []
    for line in GOOD_RUN.splitlines():
        decoder.feed(line)
        seen.append(decoder.reading.activity)

    assert seen == [
        None,
        "warns Model metadata for `m` not found. Defaulting to fallback metadata.",
        "waits for the model",
        "runs /bin/bash -lc 'make test'",
        "runs /bin/bash -lc 'make test'",
        'says {"status": "ok"}',
        "turn completed",
    ]


@pytest.mark.parametrize(
    ("line", "activity"),
    [
        (item("reasoning", text="Hm."), "thinks"),
        (item("file_change", changes=[{"path": "a.py", "kind": "add"}, {"path": "b.py"}]), "edits a.py, b.py"),
        (item("file_change", changes=7), "edits files"),
        (item("mcp_tool_call", server="docs", tool="search"), "calls docs.search"),
        (item("web_search", query="exit codes"), "searches exit codes"),
        (item("todo_list", items=[]), "plans"),
        (item("new_kind_of_item"), "new kind of item"),
        (event("error", message="Reconnecting... waiting for network"), "Reconnecting... waiting for network"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_kind_of_item_has_a_line(line: bytes, activity: str) -> None:
    """A kind that we don't know yet is shown by its name."""
    assert read(line).activity == activity


def test_a_refused_run_is_read_with_its_one_complaint() -> None:
    """`turn.failed` repeats what `error` said; a reconnect is no complaint yet."""
    reading = read(*REFUSED_RUN.splitlines())

    assert reading.terminal == "failed"
    assert reading.errors == (
        AgentError("unexpected status 401 Unauthorized: no, url: http://127.0.0.1:9/v1/responses", FailureClass.AUTH),
    )


@pytest.mark.parametrize(("message", "failure_class"), COMPLAINTS.items(), ids=lambda value: str(value)[:40])
def test_the_class_of_a_complaint_is_taken_from_its_words(message: str, failure_class: FailureClass) -> None:
    """The words are the real program's."""
    assert classify(message) is failure_class


def test_the_first_thread_is_the_answer_to_what_was_asked() -> None:
    """A later one can't make a wrong answer right."""
    assert read(event("thread.started", thread_id="a"), event("thread.started", thread_id="b")).thread_id == "a"


def test_tokens_are_the_sum_that_codex_states() -> None:
    """It counts on over the turns of a session: adding them up would count the first turn twice."""
    turns = [event("turn.completed", usage={"input_tokens": tokens, "output_tokens": 1}) for tokens in (12, 36)]

    assert read(*turns).usage == Usage(input=36, cached=0, output=1, reasoning=0)
    assert read(*turns, event("turn.completed")).usage == Usage(input=36, cached=0, output=1, reasoning=0)


def test_a_new_turn_takes_the_end_back() -> None:
    """A run is done when its last turn is."""
    assert read(event("turn.completed"), event("turn.started")).terminal is None


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"type": 7}',
        b'{"type": ["error"]}',
        b'{"type": "thing.happened"}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"type": "error", "x": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda line: line[:20].decode("latin-1"),
)
def test_a_line_that_makes_no_sense_is_counted_and_passed_over(line: bytes) -> None:
    """CLIs change without notice."""
    assert read(line, event("turn.started")) == Reading(activity="waits for the model", events=1, unknown_events=1)


def test_empty_lines_are_nothing() -> None:
    """A blank line is no event."""
    assert read(b"", b"\n", b"  \r\n") == Reading()


def test_a_long_line_is_read_and_an_endless_one_is_counted() -> None:
    """A line may be longer than any buffer; none may fill the memory."""
    long = item("agent_message", text="x" * (LINE_BYTES_MAX // 2))
    endless = item("agent_message", text="y" * LINE_BYTES_MAX)
    reading = read(long, endless)

    assert reading.last_message == "x" * (LINE_BYTES_MAX // 2)
    assert reading.unknown_events == 1
    assert len(reading.activity or "") == ACTIVITY_CHARACTERS_MAX


def test_complaints_are_few_short_and_the_newest() -> None:
    """They go into `state.json`, which is read all the time."""
    reading = read(*(event("error", message=f"{number} \x1b[31m" + "x" * 1000) for number in range(20)))

    assert len(reading.errors) == ERRORS_MAX
    assert reading.errors[-1].message.startswith("19 \\u001b[31m")
    assert all(len(error.message) <= ERROR_CHARACTERS_MAX for error in reading.errors)


def test_half_of_a_surrogate_pair_does_not_reach_a_file() -> None:
    """JSON may hold it; no file can."""
    reading = read(b'{"type":"item.completed","item":{"type":"agent_message","text":"a\\ud800b"}}')

    assert reading.last_message == "a?b"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
kinds = st.sampled_from(
    ("thread.started", "turn.started", "turn.completed", "turn.failed", "error", "item.started", "item.completed")
)
items = st.fixed_dictionaries(
    {"type": st.sampled_from(("agent_message", "file_change", "mcp_tool_call", "web_search")) | values},
    optional=dict.fromkeys(("text", "message", "command", "changes", "server", "tool", "query"), values),
)
events = st.fixed_dictionaries(
    {"type": kinds},
    optional={"item": items | values, "error": values, "message": values, "usage": values, "thread_id": values},
).map(lambda value: json.dumps(value).encode())


@given(st.lists(events | st.binary(max_size=200), max_size=8))
def test_no_bytes_end_in_an_exception(lines: list[bytes]) -> None:
    """Whatever is printed: the reading can be kept in a file, and every line was counted."""
    reading = read(*lines)

    json.dumps([reading.thread_id, reading.activity, reading.last_message], ensure_ascii=False).encode()
    assert reading.events + reading.unknown_events == sum(bool(line.strip()) for line in lines)
    assert "\n" not in (reading.activity or "")
