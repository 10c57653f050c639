from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.model import AgentChoice, ExecutionPolicy, RetryPolicy, TableDefaults

SETTINGS = TableDefaults(
    policy=ExecutionPolicy(sandbox="read-only", model="small"),
    retry=RetryPolicy(attempts_max=2, backoff_seconds=1.0, backoff_seconds_max=9.0),
    timeout_seconds=100.0,
    concurrency=5,
)


def nested(on_table: dict[str, Any], on_job: dict[str, Any], on_step: dict[str, Any]) -> dict[str, Any]:
    """Return a table of one step that says something on each level."""
    content = table({"step_id": "a", **on_step}, **on_table)
    content["jobs"][0].update(on_job)
    return content


@pytest.mark.req("PH-6.2b")
def test_without_a_word_in_the_table_the_settings_hold(tmp_path: Path) -> None:
    read = accept(tmp_path, table(), defaults=SETTINGS)
    step = step_of(read)

    assert (step.agent, step.policy, step.retry) == (SETTINGS.agent, SETTINGS.policy, SETTINGS.retry)
    assert (step.timeout_seconds, read.concurrency) == (100.0, 5)


@pytest.mark.req("PH-6.2b")
@pytest.mark.parametrize(
    ("levels", "seconds"),
    [
        (({}, {}, {}), 100.0),
        (({"timeouts": {"step_timeout_seconds": 1}}, {}, {}), 1.0),
        (({"timeout_seconds": 1}, {"timeouts": {"step_timeout_seconds": 2}}, {}), 2.0),
        (({"timeout_seconds": 1}, {"timeout_seconds": 2}, {"timeout_seconds": 3}), 3.0),
        (({"timeout_seconds": 1}, {}, {"timeout_seconds": None}), 1.0),
    ],
)
def test_the_innermost_timeout_wins(tmp_path: Path, levels: tuple[Any, Any, Any], seconds: float) -> None:
    assert step_of(accept(tmp_path, nested(*levels), defaults=SETTINGS)).timeout_seconds == seconds


@pytest.mark.req("PH-6.2b")
def test_policies_are_laid_over_each_other_field_by_field(tmp_path: Path) -> None:
    """A step that asks for the web doesn't thereby get another sandbox."""
    content = nested(
        {"execution_policy": {"sandbox": "danger-full-access", "approval_policy": "on-request"}},
        {"execution_policy": {"model_reasoning_effort": "high", "sandbox": "workspace-write"}},
        {
            "execution_policy": {
                "web_search_enabled": True,
                "skip_git_repo_check": True,
                "capture_events_jsonl": False,
                "capture_codex_thread_id": False,
            }
        },
    )

    assert step_of(accept(tmp_path, content, defaults=SETTINGS)).policy == ExecutionPolicy(
        sandbox="workspace-write",
        approval_policy="on-request",
        web_search_enabled=True,
        model="small",
        model_reasoning_effort="high",
        skip_git_repo_check=True,
        capture_events_jsonl=False,
    )


@pytest.mark.req("PH-6.2b")
def test_retry_policies_are_laid_over_each_other_field_by_field(tmp_path: Path) -> None:
    content = nested({"retries": {"max_attempts": 7}}, {}, {"retry_policy": {"backoff_seconds": 3}})
    read = step_of(accept(tmp_path, content, defaults=SETTINGS)).retry

    assert read == RetryPolicy(attempts_max=7, backoff_seconds=3.0, backoff_seconds_max=9.0)


def test_a_long_first_wait_lengthens_the_longest_one(tmp_path: Path) -> None:
    """Tables of the original say nothing of a longest wait."""
    read = step_of(accept(tmp_path, table(retries={"backoff_seconds": 999_999}))).retry

    assert (read.backoff_seconds, read.backoff_seconds_max) == (999_999.0, 999_999.0)


def test_a_short_longest_wait_shortens_the_inherited_first_one(tmp_path: Path) -> None:
    read = step_of(accept(tmp_path, table(retries={"backoff_seconds_max": 2}))).retry

    assert (read.backoff_seconds, read.backoff_seconds_max) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("levels", "choice"),
    [
        (({}, {}, {}), AgentChoice()),
        (({}, {}, {"command": ["make", "test"]}), AgentChoice(agent="command", command=("make", "test"))),
        (
            ({"agent": "command"}, {"command": ["make"]}, {}),
            AgentChoice(agent="command", command=("make",)),
        ),
        (({"command": ["make"]}, {}, {"agent": "codex"}), AgentChoice()),
        (
            ({"command": ["make"]}, {"agent": "codex"}, {"agent": "command"}),
            AgentChoice(agent="command", command=("make",)),
        ),
    ],
)
def test_agent_and_command_are_inherited_together(
    tmp_path: Path, levels: tuple[Any, Any, Any], choice: AgentChoice
) -> None:
    assert step_of(accept(tmp_path, nested(*levels))).agent == choice


@pytest.mark.parametrize(
    ("said", "field", "fact"),
    [
        ({"agent": "codxe"}, "agent", "'codxe' is none of codex, claude, opencode, command"),
        ({"agent": "command"}, "command", "it is missing"),
        ({"command": []}, "command", "it names no program"),
        ({"command": [""]}, "command", "it names no program"),
        ({"command": "make test"}, "command", "'make test' is not a list"),
        ({"command": ["sleep", 5]}, "command[1]", "5 is not text"),
        ({"command": ["a\0b"]}, "command[0]", "it holds a NUL character"),
        ({"agent": "codex", "command": ["make"]}, "command", "the agent is codex, which takes none"),
        ({"command": ["echo", "{promt_file}"]}, "command", "{promt_file} is no placeholder"),
        ({"timeout_seconds": 0}, "timeout_seconds", "0 is not within 1 and"),
        ({"timeout_seconds": "5m"}, "timeout_seconds", "'5m' is not a number"),
        ({"timeout_seconds": 10**9}, "timeout_seconds", "1000000000 is not within"),
        ({"timeouts": {"step_timeout_seconds": 1}, "timeout_seconds": 1}, "timeout_seconds", "both stand here"),
        ({"retries": {}, "retry_policy": {}}, "retry_policy", "both stand here"),
        ({"retries": 3}, "retries", "3 is not a mapping"),
        ({"retries": {"max_attempts": 0}}, "retries.max_attempts", "0 is not within 1 and 100"),
        ({"retries": {"max_attempts": 101}}, "retries.max_attempts", "101 is not within 1 and 100"),
        ({"retries": {"max_attempts": 1.5}}, "retries.max_attempts", "1.5 is not a whole number"),
        ({"retries": {"backoff_seconds": -1}}, "retries.backoff_seconds", "-1 is not within"),
        (
            {"retries": {"backoff_seconds": 5, "backoff_seconds_max": 4}},
            "retries.backoff_seconds_max",
            "4 s is less than the first wait of 5 s",
        ),
        ({"retries": {"mode": "again"}}, "retries.mode", "'again' is none of fresh"),
        ({"execution_policy": {"sandbox": "none"}}, "execution_policy.sandbox", "'none' is none of read-only"),
        ({"execution_policy": {"approval_policy": "ask"}}, "execution_policy.approval_policy", "'ask' is none of"),
        ({"execution_policy": {"web_search_enabled": "yes"}}, "execution_policy.web_search_enabled", "not a boolean"),
        ({"execution_policy": {"model": " "}}, "execution_policy.model", "it is blank"),
        ({"execution_policy": {"modle": "x"}}, "execution_policy.modle", "an execution_policy has no such key"),
        ({"workspace_policy": {"mode": "own"}}, "workspace_policy.mode", "'own' is none of shared"),
        ({"workspace_policy": {}, "timeouts": []}, "timeouts", "a list is not a mapping"),
    ],
)
def test_what_cannot_hold_is_told_where_it_stands(tmp_path: Path, said: dict[str, Any], field: str, fact: str) -> None:
    problem = only(refuse(tmp_path, table(said)))

    assert problem.field == f"jobs[0].steps[0].{field}"
    assert fact in problem.fact


def test_a_wrong_placeholder_is_answered_with_the_nearest_and_with_the_way_out(tmp_path: Path) -> None:
    problem = only(refuse(tmp_path, table({"command": ["echo", "{promt_file}"]})))

    assert problem.hint == "did you mean `prompt_file`?; {{promt_file}} passes the braces on"


def test_braces_that_are_no_placeholder_are_left_alone(tmp_path: Path) -> None:
    """Shell and JSON have braces of their own."""
    argv = ["sh", "-c", "awk '{print $1}' ${HOME} {{run_id}} {run_id}", '{"a": 1}']

    assert step_of(accept(tmp_path, table({"command": argv}))).agent.command == tuple(argv)


def test_more_folders_are_relative_to_the_job_and_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "lib").mkdir()
    policy = {"execution_policy": {"add_dirs": ["../lib", "../libs"]}}
    content = table(**policy)
    content["jobs"][0]["working_directory"] = "app"

    problem = only(refuse(tmp_path, content))
    policy["execution_policy"]["add_dirs"].pop()

    assert (problem.field, problem.hint) == ("execution_policy.add_dirs[1]", "did you mean `lib`?")
    assert step_of(accept(tmp_path, content)).policy.add_dirs == (str(tmp_path.resolve() / "lib"),)
