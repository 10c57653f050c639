"""The Claude Code dialect: what it is called with, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.requests import KEY, THREAD, request
from teamster.agents import ClaudeAgent

CLAUDE = ClaudeAgent("/programs/claude")


def settings(**changes: Any) -> dict[str, Any]:
    """Return the settings file that a plan makes."""
    value: dict[str, Any] = json.loads(dict(CLAUDE.plan(request(**changes)).files)["settings.json"])
    return value


def test_a_resume_says_everything_again() -> None:
    """Nothing is inherited in silence."""
    fresh, resumed = (CLAUDE.plan(request(session=session)).argv for session in (None, THREAD))

    assert resumed == (*fresh, "--resume", THREAD)


def test_the_key_is_read_from_a_file_by_a_helper() -> None:
    """A variable would reach its tools; a path may hold anything."""
    changes = {"key_variable": "ANTHROPIC_API_KEY", "key": KEY, "scratch": Path("/it's/scratch")}
    plan = CLAUDE.plan(request(**changes))

    assert settings(**changes)["apiKeyHelper"] == "cat '/it'\"'\"'s/scratch/key'"
    assert dict(plan.files)["key"] == KEY.encode()
    assert KEY not in plan.env.values()


def test_a_token_of_a_subscription_has_no_other_way_in() -> None:
    plan = CLAUDE.plan(request(key_variable="CLAUDE_CODE_OAUTH_TOKEN", key=KEY))

    assert plan.env["CLAUDE_CODE_OAUTH_TOKEN"] == KEY
    assert "key" not in dict(plan.files)


@pytest.mark.parametrize(
    ("sandbox", "mode", "hooks_off", "confined"),
    [
        ("read-only", "dontAsk", True, False),
        ("workspace-write", "acceptEdits", True, True),
        ("danger-full-access", "dontAsk", False, False),
    ],
)
def test_each_sandbox_has_its_mode(sandbox: str, mode: str, *, hooks_off: bool, confined: bool) -> None:
    argv = CLAUDE.plan(request(sandbox=sandbox)).argv

    assert argv[argv.index("--permission-mode") + 1] == mode
    assert ("--tools" in argv) == (sandbox == "read-only")
    assert settings(sandbox=sandbox).get("disableAllHooks", False) == hooks_off
    assert settings(sandbox=sandbox).get("sandbox", {}).get("failIfUnavailable", False) == confined
    assert CLAUDE.needed_programs(sandbox) == (("bwrap", "socat") if confined else ())


def test_what_a_table_asks_for_is_passed_on() -> None:
    folders = (Path("/a"), Path("/b"))
    changes = {"model": "opus", "effort": "high", "web_search": True, "add_dirs": folders, "linked": {"user.json"}}
    argv = CLAUDE.plan(request(**changes)).argv

    assert {"--model=opus", "--effort=high"} <= set(argv)
    assert [argv[place + 1] for place, word in enumerate(argv) if word == "--add-dir"] == ["/a", "/b"]
    assert argv[argv.index("--mcp-config") + 1] == "/root-of-ours/codex_home/user.json"
    assert "WebSearch" in argv[argv.index("--allowedTools") + 1]
    assert "WebSearch" not in argv[argv.index("--disallowedTools") + 1]
    assert "WebFetch" in CLAUDE.plan(request()).argv[-1]


@pytest.mark.parametrize(
    "changes",
    [
        {"session": THREAD.upper()},
        {"prompt": " \n"},
        {"approval_policy": "on-request"},
        {"effort": "minimal"},
        {"schema": {"description": "x" * 200_000}},
    ],
    ids=["session", "blank", "approval", "effort", "schema"],
)
def test_what_it_can_t_do_is_refused_when_it_is_planned(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        CLAUDE.plan(request(**changes))


def test_sockets_fit_below_a_deep_root() -> None:
    """The bridges of its sandbox lie in TMPDIR; with a longer path its shell could not be started at all."""
    deep = Path("/deep" * 20)
    confined = CLAUDE.plan(request(scratch=deep, sandbox="workspace-write")).env
    free = CLAUDE.plan(request(scratch=deep, sandbox="danger-full-access")).env

    assert (confined["TMPDIR"], confined["CLAUDE_CODE_TMPDIR"]) == ("/tmp", f"{deep}/tmp")  # noqa: S108
    assert free["TMPDIR"] == f"{deep}/tmp"  # noqa: S108 # no folder of the system


def test_a_session_is_its_transcript_and_nothing_beside_it() -> None:
    mine, other = f"projects/-work/{THREAD}.jsonl", "projects/-work/00000000-0000-0000-0000-000000000000.jsonl"
    names = (mine, other, f"projects/-work/{THREAD}.jsonl.tmp", ".claude.json", "projects/-work/memory/a.md")

    assert [name for name in names if CLAUDE.is_session_file(name)] == [mine, other]
    assert CLAUDE.closure(names, THREAD) == (mine,)


def test_the_user_s_own_files_are_looked_for_where_they_are() -> None:
    at_home = CLAUDE.own_files({"HOME": "/h"})
    elsewhere = CLAUDE.own_files({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"})

    assert (at_home["settings.json"], at_home["user.json"]) == (
        Path("/h/.claude/settings.json"),
        Path("/h/.claude.json"),
    )
    assert elsewhere["user.json"] == Path("/c/.claude.json")
    assert not [name for name in at_home if "credentials" in name]
