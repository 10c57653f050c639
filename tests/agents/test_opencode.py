"""The OpenCode dialect: what it is called with, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.requests import KEY, request
from teamster.agents import OpenCodeAgent, Reading

OPENCODE = OpenCodeAgent("/programs/opencode")
SESSION = "ses_e09e621baffejToZHBuYsifsua"
DATABASE = ("data/opencode/opencode.db", "data/opencode/opencode.db-wal")


def configuration(**changes: Any) -> dict[str, Any]:
    """Return the configuration that a plan lays over all others."""
    value: dict[str, Any] = json.loads(OPENCODE.plan(request(**changes)).env["OPENCODE_CONFIG_CONTENT"])
    return value


@pytest.mark.parametrize(
    ("sandbox", "edit", "bash", "outside", "pure"),
    [
        ("read-only", "deny", "deny", {"*": "deny"}, True),
        ("workspace-write", "allow", "deny", {"*": "deny"}, True),
        ("danger-full-access", "allow", "allow", "allow", False),
    ],
)
def test_each_sandbox_has_its_permissions(sandbox: str, edit: str, bash: str, outside: Any, *, pure: bool) -> None:
    """It has no sandbox: a shell that must be confined is one that it can't have."""
    permission = configuration(sandbox=sandbox)["permission"]

    assert (permission["edit"], permission["bash"], permission["external_directory"]) == (edit, bash, outside)
    assert configuration(sandbox=sandbox)["agent"]["build"]["permission"] == permission
    assert ("--pure" in OPENCODE.plan(request(sandbox=sandbox)).argv) == pure


def test_the_key_of_a_named_model_is_read_from_a_file() -> None:
    """A variable would reach its tools."""
    plan = OPENCODE.plan(request(model="anthropic/opus", key=KEY, key_variable="ANTHROPIC_API_KEY"))
    given = json.loads(plan.env["OPENCODE_CONFIG_CONTENT"])

    assert given["provider"] == {"anthropic": {"options": {"apiKey": "{file:/spool/scratch/key}"}}}
    assert dict(plan.files)["key"] == KEY.encode()
    assert not [value for value in plan.env.values() if KEY in value]


def test_without_a_model_nobody_knows_whose_key_it_is() -> None:
    plan = OPENCODE.plan(request(key=KEY, key_variable="OPENAI_API_KEY"))

    assert plan.env["OPENAI_API_KEY"] == KEY
    assert "provider" not in configuration(key=KEY, key_variable="OPENAI_API_KEY")


def test_what_was_configured_stays_below_ours() -> None:
    """A rehearsal brings its provider, and must not bring rights."""
    given = {"provider": {"x": {"options": {"baseURL": "http://127.0.0.1:1"}}}, "permission": {"bash": "allow"}}
    merged = configuration(variables={"OPENCODE_CONFIG_CONTENT": json.dumps(given)}, model="x/m", sandbox="read-only")

    assert merged["provider"]["x"]["options"]["baseURL"] == "http://127.0.0.1:1"
    assert merged["permission"]["bash"] == "deny"


def test_the_schema_stands_in_the_prompt() -> None:
    """It has no other place for one."""
    prompt = dict(OPENCODE.plan(request(schema={"title": "of this step"})).files)["prompt.md"].decode()

    assert prompt.startswith("Fix the failing test.\n")
    assert prompt.endswith('{"title": "of this step"}\n')


@pytest.mark.parametrize(
    ("said", "report"),
    [
        ('{"status": "ok"}', '{"status": "ok"}'),
        ('```json\n{"status": "ok"}\n```', '{"status": "ok"}'),
        ('Here it is:\n```json\n{"status": "ok"}\n```', 'Here it is:\n```json\n{"status": "ok"}\n```'),
        (None, None),
    ],
    ids=["plain", "fenced", "with-words", "none"],
)
def test_the_last_text_is_the_report(said: str | None, report: str | None) -> None:
    """A fence around all of it is taken off; what has words around it is judged as it is."""
    assert OPENCODE.report_text(Reading(last_message=said), None) == report


@pytest.mark.parametrize(
    "changes",
    [
        {"session": "ses_"},
        {"session": "01a1f597-4370-79b2-a48a-fada053bd682"},
        {"prompt": "\n"},
        {"approval_policy": "on-failure"},
        {"effort": "Very High"},
        {"model": "opus"},
        {"variables": {"OPENCODE_CONFIG_CONTENT": "{"}},
        {"variables": {"OPENCODE_CONFIG_CONTENT": "[]"}},
    ],
    ids=["session", "uuid", "blank", "approval", "effort", "model", "no-json", "no-object"],
)
def test_what_it_can_t_do_is_refused_when_it_is_planned(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        OPENCODE.plan(request(**changes))


def test_what_a_table_asks_for_is_passed_on() -> None:
    plan = OPENCODE.plan(request(model="x/m", effort="high", session=SESSION, web_search=True, add_dirs=(Path("/a"),)))

    assert {"--model=x/m", "--variant=high", f"--session={SESSION}"} <= set(plan.argv)
    permission = json.loads(plan.env["OPENCODE_CONFIG_CONTENT"])["permission"]
    assert (permission["websearch"], permission["external_directory"]["/a/**"]) == ("allow", "allow")


def test_a_session_is_the_database_with_its_log() -> None:
    """A database that was not closed stands partly in its log; the index beside it is made again."""
    names = (*DATABASE, "data/opencode/opencode.db-shm", "data/opencode/auth.json", "config/opencode/opencode.json")

    assert [name for name in names if OPENCODE.is_session_file(name)] == list(DATABASE)
    assert OPENCODE.closure(names, SESSION) == DATABASE
    assert OPENCODE.closure(DATABASE[1:], SESSION) == ()
