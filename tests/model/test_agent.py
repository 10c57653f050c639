"""Which program does a step, and with which words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.model import PLACEHOLDERS, AgentChoice, ExecutionPolicy, unknown_placeholders

VALUES = {name: f"<{name}>" for name in PLACEHOLDERS}


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("{run_id}", "<run_id>"),
        ("--x={run_id}:{attempt}", "--x=<run_id>:<attempt>"),
        ("{{run_id}}", "{run_id}"),
        ("{{anything_else}}", "{anything_else}"),
        ("{}", "{}"),
        ("{0}", "{0}"),
        ("${HOME}", "${HOME}"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_words_are_filled(word: str, filled: str) -> None:
    """Placeholders are replaced, doubled braces lose one, everything else stays."""
    assert AgentChoice(agent="command", command=(word,)).argv(VALUES) == (filled,)


def test_a_value_is_not_read_again() -> None:
    """A path with braces in it is a path."""
    assert AgentChoice(agent="command", command=("{run_id}",)).argv({"run_id": "{attempt}"}) == ("{attempt}",)


@given(st.lists(st.text(st.sampled_from("{}ab_run id"), max_size=12), min_size=1, max_size=3).map(tuple))
def test_a_template_is_refused_or_can_be_filled(command: tuple[str, ...]) -> None:
    """There is no template that fails only when it runs."""
    if unknown_placeholders(command):
        with pytest.raises(ValueError, match="is not a placeholder"):
            AgentChoice(agent="command", command=command)
    else:
        assert len(AgentChoice(agent="command", command=command).argv(VALUES)) == len(command)


def test_unknown_names_are_found_in_their_order() -> None:
    """All at once, for a person who mends them."""
    assert unknown_placeholders(("{promt_file}", "{run_id} {x}", "{{y}}")) == ("promt_file", "x")


@pytest.mark.parametrize(
    "broken", [{"agent": "command"}, {"command": ("tool",)}, {"agent": "codex", "command": ("x",)}]
)
def test_an_argv_goes_with_a_command_alone(broken: dict[str, Any]) -> None:
    """Illegal values cannot be built."""
    with pytest.raises(ValueError, match="an argv goes with"):
        AgentChoice(**broken)


@pytest.mark.parametrize("choice", [AgentChoice(), AgentChoice(agent="command", command=("tool", "{run_id}"))])
def test_a_choice_reads_back(choice: AgentChoice) -> None:
    """Alone or within a step."""
    assert AgentChoice.from_json({**choice.to_json(), "step_id": "step1"}) == choice


def test_a_policy_reads_back() -> None:
    """Every field of it."""
    policy = ExecutionPolicy(
        sandbox="danger-full-access",
        approval_policy="on-request",
        web_search_enabled=True,
        model="m",
        model_reasoning_effort="high",
        skip_git_repo_check=True,
        add_dirs=("/a", "/b"),
        capture_events_jsonl=False,
    )

    assert ExecutionPolicy.from_json(policy.to_json()) == policy


@pytest.mark.parametrize(
    ("broken", "named"),
    [({"sandbox": "none"}, "is not a sandbox"), ({"approval_policy": "untrusted"}, "is not an approval policy")],
    ids=["sandbox", "approvals"],
)
def test_a_policy_that_no_agent_knows_is_refused(broken: dict[str, Any], named: str) -> None:
    """Codex would refuse to start: `untrusted` is one that it knew once."""
    with pytest.raises(ValueError, match=named):
        ExecutionPolicy(**broken)
