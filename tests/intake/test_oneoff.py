from __future__ import annotations

from pathlib import Path

import pytest

from intake.writing import step_of
from teamster.intake import one_job
from teamster.model import (
    GOAL_WORDS_MIN,
    AgentChoice,
    ExecutionPolicy,
    RetryPolicy,
    Table,
    TableDefaults,
    UsageError,
)

DEFAULTS = TableDefaults(
    policy=ExecutionPolicy(sandbox="read-only"), retry=RetryPolicy(attempts_max=3), timeout_seconds=77
)


def test_one_word_makes_a_batch_whose_goal_is_long_and_true(tmp_path: Path) -> None:
    """Nobody writes 150 words for a one-off; what is said for them must be what happens."""
    goal = one_job("Hello", tmp_path, DEFAULTS).goal_summary

    assert len(goal.split()) >= GOAL_WORDS_MIN
    for fact in ("`teamster run -p`", "`codex`", "`read-only`", "`never`", "77 seconds", "at most 3", str(tmp_path)):
        assert fact in goal
    assert goal.endswith("The prompt was:\n\nHello")


def test_the_batch_has_one_step_done_as_the_settings_say(tmp_path: Path) -> None:
    read = one_job("Fix the failing test.\n", tmp_path, DEFAULTS)
    step = step_of(read)

    assert len(read.jobs) == len(read.jobs[0].steps) == 1
    assert (step.prompt, step.agent) == ("Fix the failing test.\n", AgentChoice())
    assert (step.policy, step.retry, step.timeout_seconds) == (DEFAULTS.policy, DEFAULTS.retry, 77.0)
    assert step.working_directory == str(tmp_path.resolve())
    assert Table.from_json(read.to_json()) == read


def test_its_id_tells_the_prompt_and_is_another_for_another_place(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first = one_job("Fix the failing test", tmp_path, DEFAULTS)

    assert first.batch_id == f"fix-the-failing-test-{first.digest[:12]}"
    assert one_job("Fix the failing test", tmp_path, DEFAULTS).batch_id == first.batch_id
    assert one_job("Fix the failing test", tmp_path / "b", DEFAULTS).batch_id != first.batch_id
    assert one_job("Fix the failing test", tmp_path, DEFAULTS, new="2").batch_id == f"{first.batch_id}-2"
    assert one_job("直して", tmp_path, DEFAULTS).batch_id.startswith("prompt-")


@pytest.mark.parametrize(
    ("prompt", "fact"),
    [
        ("", "the prompt is blank"),
        (" \n", "the prompt is blank"),
        ("a\0b", "the prompt can't be taken: it holds a NUL character"),
        ("\udcff", "the prompt can't be taken: it holds half of a surrogate pair"),
        ("x" * 1_048_577, "the prompt can't be taken: 1048577 characters"),
        ("ä" * 600_000, "the prompt can't be taken: it has 1200000 bytes"),
    ],
)
def test_a_prompt_that_no_agent_could_use_is_refused(tmp_path: Path, prompt: str, fact: str) -> None:
    """What a shell passes on is not always text."""
    with pytest.raises(UsageError, match=fact) as caught:
        one_job(prompt, tmp_path, DEFAULTS)

    assert caught.value.hint


def test_a_directory_that_is_none_or_holds_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()

    with pytest.raises(UsageError, match="is not there") as missing:
        one_job("x", tmp_path / "rusn", DEFAULTS)
    with pytest.raises(UsageError, match="keeps its records"):
        one_job("x", tmp_path / "runs", DEFAULTS, root=tmp_path)
    assert missing.value.hint


def test_braces_in_a_prompt_stay_what_they_are(tmp_path: Path) -> None:
    assert one_job("Explain {agent} and {0}", tmp_path, DEFAULTS).goal_summary.endswith("Explain {agent} and {0}")
