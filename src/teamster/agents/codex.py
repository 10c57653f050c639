"""The Codex dialect: calls, session files, flags. Its events are read in `codex_events`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from teamster.agents.codex_events import CodexDecoder, rollout_usage
from teamster.agents.environment import added, identity, passed
from teamster.agents.flags import names_flag, read_version
from teamster.agents.protocol import Decoder, Plan, Reading, Request, Usage
from teamster.agents.thread_ids import is_uuid
from teamster.kit import document
from teamster.model import APPROVAL_POLICIES, SANDBOXES

EFFORT_PATTERN: Final = re.compile(r"[a-z]{1,16}")
KEY_VARIABLE: Final = "CODEX_API_KEY"
CONFIGURATION: Final = "config.toml"
LAST_MESSAGE_FILE: Final = "last_message.txt"
PROMPT_FILE: Final = "prompt.md"
SCHEMA_FILE: Final = "schema.json"
FIRST_LINE_BYTES_MAX: Final = 4 * 1024 * 1024

_SHARED_FLAGS: Final = (
    "--json",
    "--output-schema",
    "--output-last-message",
    "--config",
    "--model",
    "--skip-git-repo-check",
)
_EXEC_FLAGS: Final = (*_SHARED_FLAGS, "--sandbox", "--cd", "--add-dir")
_UUID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# A thread that goes on in another file names it `<thread>_<segment>`.
_SESSION_FILE: Final = re.compile(
    rf"sessions/(?:[^/]+/)*rollout-[^/]*-(?P<thread>{_UUID})(?:_(?P<segment>{_UUID}))?\.jsonl(?:\.zst)?"
)


class CodexAgent:
    """The Codex CLI, each attempt in a home and with databases of its own."""

    name = "codex"
    sessions = True
    announces_end = True
    requires_report = True
    counts_thread = True
    key_variables = (KEY_VARIABLE, "OPENAI_API_KEY")
    tested_versions = ("0.163.0",)

    def __init__(self, program: str) -> None:
        self._program = program

    def own_files(self, env: Mapping[str, str]) -> Mapping[str, Path]:
        """Say where the user's own configuration may lie."""
        home = Path(env.get("CODEX_HOME") or Path(env.get("HOME", "/"), ".codex"))
        return {CONFIGURATION: home / CONFIGURATION}

    def needed_programs(self, sandbox: str) -> tuple[str, ...]:
        """Nothing: it brings its own sandbox."""
        del sandbox
        return ()

    def plan(self, request: Request) -> Plan:
        """Say how to start a fresh thread, or to resume one by its id.

        Raises:
            ValueError: the session is no UUID, the prompt is blank, or a policy is none that Codex knows.
        """
        _check(request)
        # `resume` has no flags for these, and inherits none of them: without them the agent is read-only in silence.
        place = ["--sandbox", request.sandbox, "--cd", str(request.working_directory)]
        for folder in request.add_dirs:
            place += ["--add-dir", str(folder)]
        what = [] if request.session is None else ["resume"]
        thread = [] if request.session is None else [request.session]
        argv = (self._program, "exec", *place, *what, *request.extra_arguments, *_options(request), *thread, "-")
        return Plan(
            argv=argv,
            env=_environment(request),
            folders=("sqlite", "tmp"),
            files=((PROMPT_FILE, request.prompt.encode()), (SCHEMA_FILE, document(request.schema))),
            stdin_file=PROMPT_FILE,
            staged_report=LAST_MESSAGE_FILE,
        )

    def decoder(self) -> Decoder:
        """Return a decoder of its JSON events."""
        return CodexDecoder()

    def report_text(self, reading: Reading, staged: str | None) -> str | None:
        """Take the last message that it wrote to its file, or the last that it printed."""
        return staged if staged is not None and staged.strip() else reading.last_message

    def is_session_file(self, name: str) -> bool:
        """Tell whether a path, relative to a home, is a rollout."""
        return _SESSION_FILE.fullmatch(name) is not None

    def closure(self, names: Sequence[str], thread_id: str) -> tuple[str, ...]:
        """Choose a thread's rollouts, or one of them. Databases stay out: a copied one leads back to its source."""
        matches = [(name, _SESSION_FILE.fullmatch(name)) for name in names]
        return tuple(
            sorted(
                name
                for name, match in matches
                if match is not None and thread_id in {match["thread"], match["segment"]}
            )
        )

    def session_parent(self, first_line: bytes) -> str | None:
        """Read from a rollout's first line where the history before it stands: another thread, or a part of one."""
        if len(first_line) > FIRST_LINE_BYTES_MAX:
            return None
        try:
            value = json.loads(first_line.decode())
        except (ValueError, RecursionError):
            return None
        match value:
            case {"type": "session_meta", "payload": {"history_base": {"thread_id": str(parent)}}} if is_uuid(parent):
                return parent
            case {"type": "session_meta", "payload": {"forked_from_id": str(parent)}} if is_uuid(parent):
                return parent
            case _:
                return None

    def session_usage(self, lines: Iterable[bytes]) -> Usage | None:
        """Read the newest count of tokens from a rollout: that of the whole thread."""
        return rollout_usage(lines)

    @property
    def help_argvs(self) -> tuple[tuple[str, ...], ...]:
        """Ask the help of both ways to start."""
        return ((self._program, "exec", "--help"), (self._program, "exec", "resume", "--help"))

    def check_help(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the flags that its own help doesn't name."""
        exec_text, resume_text = texts
        missing = [f"exec {flag}" for flag in _EXEC_FLAGS if not names_flag(exec_text, flag)]
        missing += [f"exec resume {flag}" for flag in _SHARED_FLAGS if not names_flag(resume_text, flag)]
        if not re.search(r"^\s+resume\s", exec_text, re.MULTILINE):
            missing.append("exec resume")
        return tuple(missing)

    @property
    def version_argv(self) -> tuple[str, ...] | None:
        """Ask its version."""
        return (self._program, "--version")

    def parse_version(self, text: str) -> str | None:
        """Read `codex-cli 0.163.0`."""
        return read_version(text)


def _check(request: Request) -> None:
    if request.session is not None and not is_uuid(request.session):
        raise ValueError(f"{request.session!r:.80} is not a thread id of Codex, which is a UUID in lower case")
    if not request.prompt.strip():
        raise ValueError("Codex refuses a blank prompt")
    if request.sandbox not in SANDBOXES:
        raise ValueError(f"sandbox {request.sandbox!r:.40} is none of {', '.join(SANDBOXES)}")
    if request.approval_policy not in APPROVAL_POLICIES:
        raise ValueError(f"approval_policy {request.approval_policy!r:.40} is none of {', '.join(APPROVAL_POLICIES)}")
    if request.effort is not None and not EFFORT_PATTERN.fullmatch(request.effort):
        raise ValueError(f"model_reasoning_effort {request.effort!r:.40} is not a word")


def _options(request: Request) -> list[str]:
    """Write the options that stand where they work for `exec` and for `exec resume` alike."""
    options = ["--json"]
    options += ["--output-schema", str(request.scratch / SCHEMA_FILE)]
    options += ["--output-last-message", str(request.staging / LAST_MESSAGE_FILE)]
    if request.skip_git_repo_check:
        options.append("--skip-git-repo-check")
    if request.model is not None:
        options.append(f"--model={request.model}")
    for key, value in _settings(request).items():
        options += ["--config", f"{key}={_toml(value)}"]
    # Codex notes the trust that it takes for granted in its configuration, through a link in the user's own file too.
    # What it is told, it doesn't note.
    return [*options, "--config", f'projects={{{_toml(str(request.working_directory))}={{trust_level="trusted"}}}}']


def _settings(request: Request) -> dict[str, Any]:
    """Choose what overrides the user's own configuration."""
    settings: dict[str, Any] = {
        "approval_policy": request.approval_policy,
        "web_search": "live" if request.web_search else "disabled",
        # Other attempts' files lie in the shared temporary folder; TMPDIR is the attempt's own and stays writable.
        "sandbox_workspace_write.exclude_slash_tmp": True,
        "sandbox_workspace_write.exclude_tmpdir_env_var": False,
        # Tools inherit the nonce by which a tree is found, and never the key.
        "shell_environment_policy.inherit": "all",
        "shell_environment_policy.ignore_default_excludes": False,
        "shell_environment_policy.exclude": sorted({KEY_VARIABLE, request.key_variable or KEY_VARIABLE}),
        "check_for_update_on_startup": False,
        # A login that is lent is a file; a user's own may lie in a keyring, where private homes don't find it.
        "cli_auth_credentials_store": "file",
    }
    if request.effort is not None:
        settings["model_reasoning_effort"] = request.effort
    return settings


def _toml(value: Any) -> str:
    """Write a text, a truth or a list as JSON that TOML reads the same way."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _environment(request: Request) -> dict[str, str]:
    env = {
        **passed(request.base_env),
        **identity(request),
        "CODEX_HOME": str(request.home),
        # A database that comes along with a copied home makes a resume write into the home that it was copied from.
        "CODEX_SQLITE_HOME": str(request.scratch / "sqlite"),
        "TMPDIR": str(request.scratch / "tmp"),
        **added(request),
    }
    if request.key is not None and request.key_variable is not None:
        # Its own provider reads KEY_VARIABLE alone, and ignores even OPENAI_API_KEY; a configured one names its own.
        env |= {KEY_VARIABLE: request.key, request.key_variable: request.key}
    return env
