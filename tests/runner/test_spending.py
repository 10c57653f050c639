"""What an attempt has used is its own share, and is known of a killed one too."""

from __future__ import annotations

import json
from pathlib import Path

from runner.codex_words import THREAD, rollout
from teamster.agents import ClaudeAgent, CodexAgent, Reading, Usage
from teamster.model import RunId, StepId
from teamster.runner.source import Source
from teamster.runner.spending import Spending, spent

CODEX = CodexAgent("codex")


def source(**usage: int) -> Source:
    """Return a base whose thread had used something."""
    known = {"input": 0, "cached": 0, "output": 0, "reasoning": 0, **usage}
    return Source(
        step_id=StepId("a"), run_id=RunId("r"), directory="d", session_sha256="s", thread_id=THREAD, thread_usage=known
    )


def test_what_the_base_had_used_is_taken_away(tmp_path: Path) -> None:
    """Codex counts on where a thread is resumed: five branches of one base would pay for it five times."""
    reading = Reading(thread_id=THREAD, usage=Usage(input=100, cached=20, output=30, reasoning=5))
    found = spent(CODEX, reading, source(input=60, cached=20, output=10, reasoning=5), home=tmp_path)

    assert found == Spending(own=Usage(input=40, cached=0, output=20, reasoning=0), thread=reading.usage)


def test_an_agent_that_counts_each_run_keeps_its_count(tmp_path: Path) -> None:
    reading = Reading(thread_id=THREAD, usage=Usage(input=100, cached=20, output=30, reasoning=0, cost_usd=0.5))

    assert spent(ClaudeAgent("claude"), reading, source(input=60), home=tmp_path) == Spending(
        own=Usage(input=100, cached=20, output=30, reasoning=0, cost_usd=0.5), thread=None
    )


def test_a_killed_run_is_looked_up_in_the_session_that_it_left(tmp_path: Path) -> None:
    """Its last event never came, and it was paid for all the same."""
    used = {"input_tokens": 70, "cached_input_tokens": 10, "output_tokens": 8, "reasoning_output_tokens": 1}
    record = {"type": "token_usage_record", "payload": {"thread_token_usage": used}}
    file = tmp_path / rollout()
    file.parent.mkdir(parents=True)
    file.write_bytes(json.dumps(record).encode() + b"\n" + b'{"type":"token_usage_record","pay')
    found = spent(CODEX, Reading(thread_id=THREAD), source(input=50), home=tmp_path)

    assert found is not None
    assert found.own == Usage(input=20, cached=10, output=8, reasoning=1)


def test_nothing_is_said_where_nothing_is_known(tmp_path: Path) -> None:
    assert spent(CODEX, Reading(), None, home=tmp_path) is None
    assert spent(CODEX, Reading(thread_id=THREAD), None, home=tmp_path) is None
