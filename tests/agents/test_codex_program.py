"""The real Codex: its flags, its version, its settings, its words when something is wrong. No model is needed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from codex_cli_bin import bundled_codex_path

from agents.requests import THREAD, request
from teamster.agents import CodexAgent, Reading
from teamster.model import APPROVAL_POLICIES, SANDBOXES, Exited
from teamster.policy import Facts, FailureClass, decide

PROGRAM: Final = str(bundled_codex_path())
CODEX: Final = CodexAgent(PROGRAM)
SECONDS_MAX: Final = 30
PROVIDER: Final = (  # its key is missing: the program ends before it asks any model
    "--strict-config",
    "--config",
    'model_provider="nobody"',
    "--config",
    'model_providers.nobody={name="nobody",base_url="http://127.0.0.1:9/v1",env_key="NO_SUCH_KEY"}',
)
USERS_CONFIGURATION: Final = """\
model_provider = "nobody"
[model_providers.nobody]
name = "nobody"
base_url = "http://127.0.0.1:9/v1"
env_key = "NO_SUCH_KEY"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run of the real program ended."""

    code: int
    reading: Reading
    stderr: str


def run(folder: Path, **changes: Any) -> Run:
    """Run Codex by its plan, in folders that are made for it."""
    asked = request(
        working_directory=folder,
        home=folder / "home",
        scratch=folder / "scratch",
        staging=folder / "staging",
        base_env=dict(os.environ),
        skip_git_repo_check=True,
        **{"extra_arguments": PROVIDER, **changes},
    )
    plan = CODEX.plan(asked)
    for path in (asked.home, asked.staging, *(asked.scratch / name for name in plan.folders)):
        path.mkdir(parents=True, exist_ok=True)
    for name, content in plan.files:
        (asked.scratch / name).write_bytes(content)
    assert plan.stdin_file is not None
    with (asked.scratch / plan.stdin_file).open("rb") as stdin:
        ended = subprocess.run(
            plan.argv, env=dict(plan.env), stdin=stdin, capture_output=True, timeout=SECONDS_MAX, check=False
        )
    decoder = CODEX.decoder()
    for line in ended.stdout.splitlines():
        decoder.feed(line)
    return Run(code=ended.returncode, reading=decoder.reading, stderr=ended.stderr.decode())


def output_of(argv: tuple[str, ...]) -> str:
    """Return what a call prints."""
    return subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS_MAX, check=True).stdout


def test_the_real_help_names_every_flag_that_we_need() -> None:
    """CLIs rename flags, and then fail a whole batch within seconds."""
    assert CODEX.check_help([output_of(argv) for argv in CODEX.help_argvs]) == ()


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        ("--sandbox", "--confine", ("exec --sandbox",)),
        ("--output-schema", "--schema", ("exec --output-schema", "exec resume --output-schema")),
        ("  resume ", "  continue ", ("exec resume",)),
        ("--cd ", "--cd-to ", ("exec --cd",)),
    ],
    ids=["sandbox", "schema", "resume", "longer"],
)
def test_a_flag_that_went_is_named(old: str, new: str, missing: tuple[str, ...]) -> None:
    """Before the first attempt, not after the last one."""
    texts = [output_of(argv).replace(old, new) for argv in CODEX.help_argvs]

    assert CODEX.check_help(texts) == missing


def test_the_real_version_can_be_read() -> None:
    """It stands in `meta.json`."""
    assert CODEX.version_argv is not None
    version = CODEX.parse_version(output_of(CODEX.version_argv))

    assert version is not None
    assert version.split(".")[:2] == ["0", "163"]
    assert CODEX.parse_version("no version here") is None


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("approval_policy", APPROVAL_POLICIES)
def test_the_real_codex_knows_every_policy_and_setting(tmp_path: Path, sandbox: str, approval_policy: str) -> None:
    """`--strict-config` refuses a setting that it doesn't know; without it, it would be passed over in silence."""
    ended = run(tmp_path, sandbox=sandbox, approval_policy=approval_policy, effort="high", web_search=True, model="any")

    assert ended.reading.thread_id is not None, ended.stderr
    assert ended.reading.terminal == "failed"


def test_a_missing_key_is_told_as_such(tmp_path: Path) -> None:
    """The commonest mistake of a first run; trying again would not help."""
    ended = run(tmp_path)
    facts = Facts(
        outcome=Exited(ended.code),
        announces_end=True,
        requires_report=True,
        events=ended.reading.events,
        terminal=ended.reading.terminal,
        errors=ended.reading.errors,
    )

    verdict = decide(facts)

    assert verdict.failure_class is FailureClass.AUTH
    assert verdict.reason == "exit code 1: Missing environment variable: `NO_SUCH_KEY`."
    assert ended.reading.unknown_events == 0


def test_a_session_that_is_not_there_fails_without_an_event(tmp_path: Path) -> None:
    """By its UUID a missing session is an error; by a name it would have been a new session and exit code 0."""
    ended = run(tmp_path, session=THREAD)

    assert ended.code == 1
    assert f"no rollout found for thread id {THREAD}" in ended.stderr
    assert ended.reading.events == 0


@pytest.mark.parametrize("name", ["plain", "with.dots and blanks", 'a"quote\\'])
def test_the_users_own_configuration_is_read_and_never_written(tmp_path: Path, name: str) -> None:
    """Left alone, Codex notes that it trusts the folder: through the link, into the file of the user."""
    own = tmp_path / "own.toml"
    own.write_text(f'{USERS_CONFIGURATION}[projects."/other"]\ntrust_level = "trusted"\n', encoding="utf-8")
    before = own.read_bytes()
    folder = tmp_path / name
    (folder / "home").mkdir(parents=True)
    (folder / "home" / "config.toml").symlink_to(own)
    subprocess.run(["git", "init", "--quiet", folder], timeout=SECONDS_MAX, check=True)

    ended = run(folder, extra_arguments=("--strict-config",))

    assert ended.reading.errors[-1].message == "Missing environment variable: `NO_SUCH_KEY`.", ended.stderr
    assert own.read_bytes() == before


def test_a_setting_that_went_would_be_noticed(tmp_path: Path) -> None:
    """The proof that the strict run above can fail."""
    ended = run(tmp_path, extra_arguments=(*PROVIDER, "--config", "sandbox_workspace_write.no_such_setting=true"))

    assert ended.code == 1
    assert "unknown configuration field" in ended.stderr
