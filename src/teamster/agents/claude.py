"""The Claude Code dialect: calls, session files, flags. Its events are read in `claude_events`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from teamster.agents.claude_events import ClaudeDecoder
from teamster.agents.environment import added, identity, passed
from teamster.agents.flags import missing_flags, read_version
from teamster.agents.protocol import Decoder, Plan, Reading, Request, Usage
from teamster.agents.thread_ids import is_uuid
from teamster.kit import document
from teamster.model import SANDBOXES

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
KEY_FILE: Final = "key"
PROMPT_FILE: Final = "prompt.md"
SETTINGS_FILE: Final = "settings.json"
REPORT_FILE: Final = "report.json"
USERS_SERVERS: Final = "user.json"
SCHEMA_CHARACTERS_MAX: Final = 100_000
SHARED_TEMPORARY: Final = "/tmp"  # noqa: S108 # a place for sockets that is never too deep
TEMPORARY_BYTES_MAX: Final = 70
RETRIES_MAX: Final = 6
"""About half a minute: its own 10 keep a refused key waiting for four."""

_FLAGS: Final = (
    "--print",
    "--output-format",
    "--verbose",
    "--permission-mode",
    "--setting-sources",
    "--settings",
    "--json-schema",
    "--tools",
    "--allowedTools",
    "--disallowedTools",
    "--add-dir",
    "--mcp-config",
    "--model",
    "--effort",
    "--resume",
)
_READING: Final = ("Read", "Glob", "Grep")
_WRITING: Final = ("Edit", "Write", "NotebookEdit")
_WEB: Final = ("WebFetch", "WebSearch")
# What waits for a clock or for another session: an attempt ends, and nobody is there to answer.
_WAITING: Final = ("CronCreate", "ScheduleWakeup", "SendMessage", "EnterWorktree")
_OWN_FILES: Final = ("settings.json", "CLAUDE.md", "agents", "commands", "skills")
_SESSION_FILE: Final = re.compile(r"projects/[^/]+/(?P<thread>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")


class ClaudeAgent:
    """Claude Code, each attempt in a configuration folder of its own."""

    name = "claude"
    sessions = True
    announces_end = True
    requires_report = True
    counts_thread = False
    key_variables = (KEY_VARIABLE, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    tested_versions = ("2.1.327",)

    def __init__(self, program: str) -> None:
        self._program = program

    def own_files(self, env: Mapping[str, str]) -> Mapping[str, Path]:
        """Say where the user's settings, instructions and MCP servers may lie; never the login."""
        home = Path(env.get("HOME", "/"))
        given = env.get("CLAUDE_CONFIG_DIR")
        folder = Path(given) if given else home / ".claude"
        servers = (folder if given else home) / ".claude.json"
        return {**{name: folder / name for name in _OWN_FILES}, USERS_SERVERS: servers}

    def needed_programs(self, sandbox: str) -> tuple[str, ...]:
        """Name what its own sandbox is made of."""
        return ("bwrap", "socat") if sandbox == "workspace-write" else ()

    def plan(self, request: Request) -> Plan:
        """Say how to start a fresh session, or to resume one by its id.

        Raises:
            ValueError: the session is no UUID, the prompt is blank, or it can't do what a policy asks for.
        """
        _check(request)
        files = [(PROMPT_FILE, request.prompt.encode()), (SETTINGS_FILE, document(_settings(request)))]
        if _has_key_file(request):
            assert request.key is not None
            files.append((KEY_FILE, request.key.encode()))
        session = [] if request.session is None else ["--resume", request.session]
        return Plan(
            argv=(self._program, *request.extra_arguments, *_options(request), *session),
            env=_environment(request),
            folders=("tmp",),
            files=tuple(files),
            stdin_file=PROMPT_FILE,
            staged_report=REPORT_FILE,
        )

    def decoder(self) -> Decoder:
        """Return a decoder of its JSON events."""
        return ClaudeDecoder()

    def report_text(self, reading: Reading, staged: str | None) -> str | None:
        """Take its last message: with a schema that is the JSON that it was asked for."""
        del staged
        return reading.last_message

    def is_session_file(self, name: str) -> bool:
        """Tell whether a path, relative to a home, is a transcript."""
        return _SESSION_FILE.fullmatch(name) is not None

    def closure(self, names: Sequence[str], thread_id: str) -> tuple[str, ...]:
        """Choose a session's transcript. A fork holds the whole history before it."""
        matches = [(name, _SESSION_FILE.fullmatch(name)) for name in names]
        return tuple(sorted(name for name, match in matches if match is not None and match["thread"] == thread_id))

    def session_parent(self, first_line: bytes) -> str | None:
        """Nothing: a transcript stands alone."""
        del first_line
        return None

    def session_usage(self, lines: Iterable[bytes]) -> Usage | None:
        """Nothing: its events say with each message what was used."""
        del lines
        return None

    @property
    def help_argvs(self) -> tuple[tuple[str, ...], ...]:
        """Ask the one help that it has."""
        return ((self._program, "--help"),)

    def check_help(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the flags that its own help doesn't name."""
        return missing_flags(texts[0], _FLAGS, call="claude")

    @property
    def version_argv(self) -> tuple[str, ...] | None:
        """Ask its version."""
        return (self._program, "--version")

    def parse_version(self, text: str) -> str | None:
        """Read `2.1.327 (Claude Code)`."""
        return read_version(text)


def _check(request: Request) -> None:
    if request.session is not None and not is_uuid(request.session):
        raise ValueError(f"{request.session!r:.80} is not a session id of Claude Code, which is a UUID in lower case")
    if not request.prompt.strip():
        raise ValueError("Claude Code refuses a blank prompt")
    if request.sandbox not in SANDBOXES:
        raise ValueError(f"sandbox {request.sandbox!r:.40} is none of {', '.join(SANDBOXES)}")
    if request.approval_policy != "never":
        raise ValueError(f"approval_policy {request.approval_policy!r:.40}: nobody is there whom Claude Code could ask")
    if request.effort is not None and request.effort not in EFFORTS:
        raise ValueError(f"model_reasoning_effort {request.effort!r:.40} is none of {', '.join(EFFORTS)}")
    if len(_schema(request)) > SCHEMA_CHARACTERS_MAX:
        raise ValueError(
            f"the schema is an argument of Claude Code, and longer than {SCHEMA_CHARACTERS_MAX} characters"
        )


def _options(request: Request) -> list[str]:
    options = ["--print", "--output-format", "stream-json", "--verbose"]
    options += ["--permission-mode", "acceptEdits" if request.sandbox == "workspace-write" else "dontAsk"]
    # The instructions of the repository come with its settings, and with nothing else.
    options += ["--setting-sources", "user,project", "--settings", str(request.scratch / SETTINGS_FILE)]
    options += ["--json-schema", _schema(request)]
    web = _WEB if request.web_search else ()
    refused = _WAITING if request.web_search else (*_WAITING, *_WEB)
    if request.sandbox == "read-only":
        options += ["--tools", ",".join((*_READING, *web))]
    allowed = ("Bash", *_WRITING, *_READING, *web) if request.sandbox == "danger-full-access" else (*_READING, *web)
    options += ["--allowedTools", ",".join(allowed), "--disallowedTools", ",".join(refused)]
    for folder in request.add_dirs:
        options += ["--add-dir", str(folder)]
    if USERS_SERVERS in request.linked:
        options += ["--mcp-config", str(request.home / USERS_SERVERS)]
    if request.model is not None:
        options.append(f"--model={request.model}")
    if request.effort is not None:
        options.append(f"--effort={request.effort}")
    return options


def _schema(request: Request) -> str:
    """Write the schema without the name of its dialect: one that it can't fetch makes Claude Code refuse to start."""
    return json.dumps({key: value for key, value in request.schema.items() if key != "$schema"})


def _settings(request: Request) -> dict[str, Any]:
    """Choose what overrides the settings of the user and of the repository."""
    settings: dict[str, Any] = {}
    key_path = request.scratch / KEY_FILE
    if _has_key_file(request):
        # A variable would reach its tools.
        settings["apiKeyHelper"] = f"cat {shlex.quote(str(key_path))}"
        settings["permissions"] = {"deny": [f"Read(/{key_path})"]}
    if request.sandbox != "danger-full-access":
        settings["disableAllHooks"] = True  # they are commands that run outside of any sandbox
    if request.sandbox == "workspace-write":
        settings["sandbox"] = {
            "enabled": True,
            "failIfUnavailable": True,
            "autoAllowBashIfSandboxed": True,
            "allowUnsandboxedCommands": False,
            "filesystem": {
                "denyRead": [str(key_path)],
                "allowWrite": [str(folder) for folder in request.add_dirs],
            },
        }
    return settings


def _environment(request: Request) -> dict[str, str]:
    env = {
        **passed(request.base_env),
        **identity(request),
        "CLAUDE_CONFIG_DIR": str(request.home),
        **_temporary(request),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(RETRIES_MAX),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        **added(request),
    }
    if request.key is not None and request.key_variable is not None and not _has_key_file(request):
        env[request.key_variable] = request.key  # a token of a subscription has no other way in
    return env


def _temporary(request: Request) -> dict[str, str]:
    """Give it a temporary folder of its own, where that can be.

    The bridges of its sandbox are sockets in TMPDIR, whose paths may not be longer than the system allows. Below a deep
    root TMPDIR is the shared folder: its own files stay in the attempt's, those of its tools don't.
    """
    own = str(request.scratch / "tmp")
    if request.sandbox == "workspace-write" and len(own.encode()) > TEMPORARY_BYTES_MAX:
        return {"TMPDIR": SHARED_TEMPORARY, "CLAUDE_CODE_TMPDIR": own}
    return {"TMPDIR": own}


def _has_key_file(request: Request) -> bool:
    return request.key is not None and request.key_variable == KEY_VARIABLE
