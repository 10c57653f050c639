"""How Codex is called, and what makes up its sessions. The facts are those of the real program."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.requests import KEY, THREAD, USERS_ENV, request
from teamster.agents import CODEX_KEY_VARIABLE, CodexAgent, Plan, Reading, agents_by_name
from teamster.agents.codex import FIRST_LINE_BYTES_MAX
from teamster.model import AGENT_NAMES, RUN_REPORT_SCHEMA
from teamster.settings import KEY_VARIABLES

CODEX: Final = CodexAgent("/bin/codex")
OUTPUT: Final = (
    "--json",
    "--output-schema",
    "/spool/scratch/schema.json",
    "--output-last-message",
    "/root-of-ours/staging/last_message.txt",
)
SETTINGS: Final = (
    "--config",
    'approval_policy="never"',
    "--config",
    'web_search="disabled"',
    "--config",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "--config",
    "sandbox_workspace_write.exclude_tmpdir_env_var=false",
    "--config",
    'shell_environment_policy.inherit="all"',
    "--config",
    "shell_environment_policy.ignore_default_excludes=false",
    "--config",
    'shell_environment_policy.exclude=["CODEX_API_KEY"]',
    "--config",
    "check_for_update_on_startup=false",
    "--config",
    'cli_auth_credentials_store="file"',
    "--config",
    'projects={"/repo"={trust_level="trusted"}}',
)
ROLLOUT: Final = f"sessions/2026/11/19/rollout-2026-11-19T20-54-53-{THREAD}.jsonl"


def settings_of(argv: tuple[str, ...]) -> Mapping[str, Any]:
    """Read the settings in an argv as Codex does: as TOML, the last of a name wins."""
    texts = [value for flag, value in pairwise(argv) if flag == "--config"]
    return {name: tomllib.loads(f"x={value}")["x"] for name, _, value in (text.partition("=") for text in texts)}


def test_a_fresh_attempt_is_called_exactly_so() -> None:
    """Each word was tried on the real program; a changed one is a decision."""
    plan = CODEX.plan(request())

    assert plan.argv == (
        "/bin/codex", "exec", "--sandbox", "workspace-write", "--cd", "/repo", *OUTPUT, *SETTINGS, "-",
    )  # fmt: skip
    assert plan.program == "/bin/codex"
    assert plan.stdin_file == "prompt.md"
    assert plan.staged_report == "last_message.txt"
    assert plan.folders == ("sqlite", "tmp")
    assert dict(plan.files)["prompt.md"] == b"Fix the failing test."
    assert json.loads(dict(plan.files)["schema.json"]) == RUN_REPORT_SCHEMA


def test_a_resumed_attempt_is_called_exactly_so() -> None:
    """`resume` inherits neither mode nor directory: both stand before it, the id after everything else."""
    plan = CODEX.plan(request(session=THREAD))

    assert plan.argv == (
        "/bin/codex", "exec", "--sandbox", "workspace-write", "--cd", "/repo",
        "resume", *OUTPUT, *SETTINGS, THREAD, "-",
    )  # fmt: skip


def test_the_environment_is_exactly_this() -> None:
    """Home and databases are the attempt's own; of the user's variables only the listed ones pass."""
    assert CODEX.plan(request()).env == {
        "PATH": "/usr/bin",
        "HOME": "/homes/user",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy:3128",
        "TERM": "dumb",
        "CODEX_HOME": "/root-of-ours/codex_home",
        "CODEX_SQLITE_HOME": "/spool/scratch/sqlite",
        "TMPDIR": "/spool/scratch/tmp",
        "TEAMSTER_RUN_ID": "run_1",
        "TEAMSTER_JOB_ID": "job_1",
        "TEAMSTER_STEP_ID": "step1",
        "TEAMSTER_ATTEMPT": "2",
        "CODEX_API_KEY": KEY,
    }


def test_a_resume_gets_the_same_environment() -> None:
    """A database of its own above all: one that is shared with the base makes a resume write into the base."""
    assert CODEX.plan(request(session=THREAD)).env == CODEX.plan(request()).env


@pytest.mark.parametrize("session", [None, THREAD], ids=["fresh", "resumed"])
@pytest.mark.parametrize("variable", [*KEY_VARIABLES, "MY_PROVIDERS_KEY"])
def test_the_key_is_in_the_environment_and_nowhere_else(variable: str, session: str | None) -> None:
    """Arguments are seen by everybody on the machine, and the tools of an agent do what a model says."""
    plan = CODEX.plan(request(key_variable=variable, session=session))

    assert plan.env[variable] == plan.env[CODEX_KEY_VARIABLE] == KEY
    assert not any(KEY in word for word in plan.argv)
    assert not any(KEY.encode() in content for _, content in plan.files)
    assert KEY not in repr(plan)
    assert {variable, CODEX_KEY_VARIABLE} == set(settings_of(plan.argv)["shell_environment_policy.exclude"])
    assert settings_of(plan.argv)["shell_environment_policy.ignore_default_excludes"] is False


def test_without_a_key_no_variable_of_one_is_there() -> None:
    """An empty key is worse than none: the program would try it."""
    env = CODEX.plan(request(key=None)).env

    assert not {*KEY_VARIABLES} & set(env)


def test_the_key_is_not_shown_by_a_request() -> None:
    """What is logged by accident holds no secret."""
    text = repr(request())

    assert not any(secret in text for secret in (KEY, USERS_ENV["OPENAI_API_KEY"]))


def test_what_a_step_asks_for_is_passed_on() -> None:
    """Each field of the policy has its flag."""
    plan = CODEX.plan(
        request(
            sandbox="read-only",
            approval_policy="on-request",
            model="gpt-x",
            effort="high",
            web_search=True,
            add_dirs=(Path("/data"), Path("/more")),
            skip_git_repo_check=True,
        )
    )

    place = plan.argv[: plan.argv.index("--json")]
    assert place[2:] == ("--sandbox", "read-only", "--cd", "/repo", "--add-dir", "/data", "--add-dir", "/more")
    assert {"--skip-git-repo-check", "--model=gpt-x"} <= set(plan.argv)
    settings = settings_of(plan.argv)
    assert settings["approval_policy"] == "on-request"
    assert settings["model_reasoning_effort"] == "high"
    assert settings["web_search"] == "live"


def test_arguments_of_the_operator_stand_before_ours() -> None:
    """The last of a setting wins: nobody turns the filter of the tools' environment off by accident."""
    plan = CODEX.plan(
        request(extra_arguments=("--config", "shell_environment_policy.ignore_default_excludes=true"), session=THREAD)
    )

    assert plan.argv.index("resume") < plan.argv.index("--config") < plan.argv.index("--json")
    assert settings_of(plan.argv)["shell_environment_policy.ignore_default_excludes"] is False


@given(st.text(min_size=1).filter(lambda text: text.isprintable() and text.strip()))
def test_a_prompt_is_no_argument_whatever_it_says(prompt: str) -> None:
    """A prompt may be long, secret, or begin with a dash."""
    plan = CODEX.plan(request(prompt=prompt))

    assert dict(plan.files)["prompt.md"] == prompt.encode()
    assert plan.argv == CODEX.plan(request()).argv


@pytest.mark.parametrize("name", ["plain", "with.dots and blanks", 'a"quote\\', "ünï", "\x7f\x01\n"])
def test_a_working_directory_may_be_called_anything(name: str) -> None:
    """It stands within a setting, where a quote would end it."""
    settings = settings_of(CODEX.plan(request(working_directory=Path("/repos", name))).argv)

    assert settings["projects"] == {f"/repos/{name}": {"trust_level": "trusted"}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"session": "the-last-one"}, "is not a thread id"),
        ({"session": THREAD.upper()}, "is not a thread id"),
        ({"session": THREAD.replace("-", "")}, "is not a thread id"),
        ({"session": f"{{{THREAD}}}"}, "is not a thread id"),
        ({"session": ""}, "is not a thread id"),
        ({"session": "--last"}, "is not a thread id"),
        ({"prompt": " \n"}, "blank prompt"),
        ({"prompt": "\ud800"}, "surrogates not allowed"),
        ({"sandbox": "none"}, "sandbox 'none' is none of read-only, workspace-write, danger-full-access"),
        ({"approval_policy": "always"}, "approval_policy 'always' is none of"),
        ({"effort": 'high"\nx="y'}, "model_reasoning_effort"),
        ({"model": "m\0"}, "NUL"),
        ({"key": "k\0"}, "NUL"),
    ],
    ids=lambda value: repr(value)[:30] if isinstance(value, dict) else None,
)
def test_what_codex_would_misread_is_refused(changes: dict[str, Any], named: str) -> None:
    """A thread that is no UUID is taken for a name: Codex starts a new one, answers, and exits 0."""
    with pytest.raises(ValueError, match=named):
        CODEX.plan(request(**changes))


@pytest.mark.parametrize("field", ["working_directory", "home", "scratch", "staging"])
def test_every_path_is_absolute(field: str) -> None:
    """Codex starts in another folder than we do."""
    with pytest.raises(ValueError, match="is not absolute"):
        request(**{field: Path("here")})


def test_what_stands_on_standard_input_is_a_file_that_is_made() -> None:
    """Without it the program would read ours, and wait for ever."""
    with pytest.raises(ValueError, match="none of the files"):
        Plan(argv=("x",), env={}, folders=(), files=(), stdin_file="prompt.md", staged_report="report.json")


def test_a_key_has_a_name() -> None:
    """Nobody would find it otherwise."""
    with pytest.raises(ValueError, match="needs the name"):
        request(key_variable=None)


def test_a_session_is_its_rollouts_and_nothing_else() -> None:
    """A database that comes along leads back to the source; a credential must not come along."""
    other = ROLLOUT.replace(THREAD, "01a1f597-4370-79b2-a48a-000000000000")
    names = [
        f"{ROLLOUT}.zst",
        ROLLOUT,
        other,
        f"{ROLLOUT}.tmp",
        f"archived_{ROLLOUT}",
        "auth.json",
        "config.toml",
        "history.jsonl",
        "state_5.sqlite",
        "sessions/notes.jsonl",
    ]

    assert CODEX.closure(names, THREAD) == (ROLLOUT, f"{ROLLOUT}.zst")
    assert [name for name in names if CODEX.is_session_file(name)] == [f"{ROLLOUT}.zst", ROLLOUT, other]


def test_a_thread_that_goes_on_in_another_file_is_both() -> None:
    """The first file alone ends in the middle; a fork may begin at either."""
    part = "01a1f597-4370-79b2-a48a-000000000001"
    later = ROLLOUT.replace(".jsonl", f"_{part}.jsonl")

    assert CODEX.closure([later, ROLLOUT], THREAD) == tuple(sorted([ROLLOUT, later]))
    assert CODEX.closure([later, ROLLOUT], part) == (later,)
    assert CODEX.is_session_file(later)


@pytest.mark.parametrize(
    ("first_line", "parent"),
    [
        (
            json.dumps(
                {
                    "type": "session_meta",
                    "payload": {
                        "forked_from_id": "01a1f597-4370-79b2-a48a-000000000000",
                        "history_base": {"thread_id": THREAD},
                    },
                }
            ).encode(),
            THREAD,
        ),
        (json.dumps({"type": "session_meta", "payload": {"forked_from_id": THREAD}}).encode() + b"\n", THREAD),
        (json.dumps({"type": "session_meta", "payload": {"id": THREAD}}).encode(), None),
        (json.dumps({"type": "session_meta", "payload": {"forked_from_id": "../../etc"}}).encode(), None),
        (json.dumps({"type": "turn", "payload": {"forked_from_id": THREAD}}).encode(), None),
        (b"\xff\xfe", None),
        (b"[" * 100_000, None),
        (b" " * FIRST_LINE_BYTES_MAX + b"{}", None),
        (b"", None),
    ],
    ids=["fork of a part", "fork", "root", "no-uuid", "other-type", "no-text", "deep", "endless", "empty"],
)
def test_a_fork_names_the_thread_that_it_needs(first_line: bytes, parent: str | None) -> None:
    """A fork's rollout alone can't be resumed."""
    assert CODEX.session_parent(first_line) == parent


def test_a_report_is_what_it_wrote_or_else_what_it_last_said() -> None:
    """The file may be missing where the program was ended after its last word."""
    said = Reading(last_message="said")

    assert CODEX.report_text(said, "written") == "written"
    assert CODEX.report_text(said, " \n") == "said"
    assert CODEX.report_text(Reading(), None) is None


def test_tables_and_agents_agree_on_the_names() -> None:
    """A table must not name an agent that nobody can call."""
    agents = agents_by_name(codex_program="codex")

    assert tuple(agents) == AGENT_NAMES
    assert all(agents[name].name == name for name in AGENT_NAMES)
