"""The OpenCode dialect: calls, session files, flags. Its events are read in `opencode_events`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from teamster.agents.environment import added, identity, passed
from teamster.agents.flags import missing_flags, read_version
from teamster.agents.opencode_events import OpenCodeDecoder
from teamster.agents.protocol import Decoder, Plan, Reading, Request, Usage
from teamster.model import SANDBOXES

AGENT: Final = "build"
CONFIGURATION: Final = "OPENCODE_CONFIG_CONTENT"
KEY_FILE: Final = "key"
PROMPT_FILE: Final = "prompt.md"
REPORT_FILE: Final = "report.json"
DATA: Final = "data"
USERS: Final = "config"

_FLAGS: Final = ("--format", "--agent", "--title", "--print-logs", "--log-level", "--pure", "--model", "--variant")
_FLAGS_OF_SESSIONS: Final = ("--session",)
_OWN_FILES: Final = ("opencode.json", "opencode.jsonc", "AGENTS.md", "agent", "command")
_EFFORT: Final = re.compile(r"[a-z]{1,16}")
_MODEL: Final = re.compile(r"(?P<provider>[^/\s]+)/\S+")
_SESSION: Final = re.compile(r"ses_[0-9A-Za-z]{8,64}")
# A database that was not closed stands partly in its log.
_SESSION_FILES: Final = (f"{DATA}/opencode/opencode.db", f"{DATA}/opencode/opencode.db-wal")
_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*?)\n\s*```\s*", re.DOTALL)
_ASK: Final = """

When the work is done, report. Your last message must be one JSON object and nothing else: no words around it, no \
code fence. It must be valid against this JSON Schema:

"""


class OpenCodeAgent:
    """OpenCode, each attempt with data, state and caches of its own."""

    name = "opencode"
    sessions = True
    announces_end = True
    requires_report = True
    counts_thread = False
    key_variables = ("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY")
    tested_versions = ("1.18.33",)

    def __init__(self, program: str) -> None:
        self._program = program

    def own_files(self, env: Mapping[str, str]) -> Mapping[str, Path]:
        """Say where the user's configuration, instructions and commands may lie; never the login."""
        given = env.get("XDG_CONFIG_HOME")
        folder = (Path(given) if given else Path(env.get("HOME", "/"), ".config")) / "opencode"
        return {f"{USERS}/opencode/{name}": folder / name for name in _OWN_FILES}

    def needed_programs(self, sandbox: str) -> tuple[str, ...]:
        """Nothing: it has no sandbox that could need any."""
        del sandbox
        return ()

    def plan(self, request: Request) -> Plan:
        """Say how to start a fresh session, or to resume one by its id.

        Raises:
            ValueError: the session is none of OpenCode's, the prompt is blank, or it can't do what a policy asks for.
        """
        _check(request)
        prompt = f"{request.prompt}{_ASK}{json.dumps(request.schema)}\n"
        files = [(PROMPT_FILE, prompt.encode())]
        if _provider(request) is not None and request.key is not None:
            files.append((KEY_FILE, request.key.encode()))
        return Plan(
            argv=(self._program, "run", *request.extra_arguments, *_options(request)),
            env=_environment(request),
            folders=("tmp", "state", "cache"),
            files=tuple(files),
            stdin_file=PROMPT_FILE,
            staged_report=REPORT_FILE,
        )

    def decoder(self) -> Decoder:
        """Return a decoder of its JSON events."""
        return OpenCodeDecoder()

    def report_text(self, reading: Reading, staged: str | None) -> str | None:
        """Take its last message, or what a fence around all of it encloses: models are fond of fences."""
        del staged
        last = reading.last_message
        fenced = None if last is None else _FENCED.fullmatch(last)
        return last if fenced is None else fenced["inside"]

    def is_session_file(self, name: str) -> bool:
        """Tell whether a path, relative to a home, is the database or its log."""
        return name in _SESSION_FILES

    def closure(self, names: Sequence[str], thread_id: str) -> tuple[str, ...]:
        """Choose the database with its log. A home of an attempt holds one thread and what it goes back to."""
        del thread_id
        return tuple(name for name in _SESSION_FILES if name in names) if _SESSION_FILES[0] in names else ()

    def session_parent(self, first_line: bytes) -> str | None:
        """Nothing: a database holds all of its history."""
        del first_line
        return None

    def session_usage(self, lines: Iterable[bytes]) -> Usage | None:
        """Nothing: its events say with each step what was used."""
        del lines
        return None

    @property
    def help_argvs(self) -> tuple[tuple[str, ...], ...]:
        """Ask the help of the one way to start."""
        return ((self._program, "run", "--help"),)

    def check_help(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the flags that its own help doesn't name."""
        return missing_flags(texts[0], (*_FLAGS, *_FLAGS_OF_SESSIONS), call="run")

    @property
    def version_argv(self) -> tuple[str, ...] | None:
        """Ask its version."""
        return (self._program, "--version")

    def parse_version(self, text: str) -> str | None:
        """Read `1.18.33`."""
        return read_version(text)


def _check(request: Request) -> None:
    if request.session is not None and not _SESSION.fullmatch(request.session):
        raise ValueError(f"{request.session!r:.80} is not a session id of OpenCode, which begins with ses_")
    if not request.prompt.strip():
        raise ValueError("OpenCode refuses a blank prompt")
    if request.sandbox not in SANDBOXES:
        raise ValueError(f"sandbox {request.sandbox!r:.40} is none of {', '.join(SANDBOXES)}")
    if request.approval_policy != "never":
        raise ValueError(f"approval_policy {request.approval_policy!r:.40}: nobody is there whom OpenCode could ask")
    if request.effort is not None and not _EFFORT.fullmatch(request.effort):
        raise ValueError(f"model_reasoning_effort {request.effort!r:.40} is not a word")
    if request.model is not None and not _MODEL.fullmatch(request.model):
        raise ValueError(f"model {request.model!r:.80}: OpenCode wants it as provider/model")


def _options(request: Request) -> list[str]:
    # Without a title it asks a model for one; without the log, nothing says why it waits.
    options = ["--format", "json", "--agent", AGENT, "--title", f"{request.job_id}.{request.step_id}"]
    options += ["--print-logs", "--log-level", "ERROR"]
    if request.sandbox != "danger-full-access":
        options.append("--pure")  # plug-ins of the repository are code that nothing confines
    if request.model is not None:
        options.append(f"--model={request.model}")
    if request.effort is not None:
        options.append(f"--variant={request.effort}")
    if request.session is not None:
        options.append(f"--session={request.session}")
    return options


def _configuration(request: Request) -> dict[str, Any]:
    """Choose what overrides the configuration of the user and of the repository."""
    permission = _permission(request)
    configuration: dict[str, Any] = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # what it changed is seen by the harness
        "permission": permission,
        "agent": {AGENT: {"permission": permission}},  # an agent's own rules would go before those of all
    }
    provider = _provider(request)
    if provider is not None and request.key is not None:
        # A variable would reach its tools.
        key = f"{{file:{request.scratch / KEY_FILE}}}"
        configuration["provider"] = {provider: {"options": {"apiKey": key}}}
    return _merged(_given(request), configuration)


def _permission(request: Request) -> dict[str, Any]:
    """Say what its tools may do. It has no sandbox: a shell that must be confined is one that it can't have."""
    web = "allow" if request.web_search else "deny"
    free = request.sandbox == "danger-full-access"
    folders = {f"{folder}/**": "allow" for folder in request.add_dirs}
    return {
        "edit": "deny" if request.sandbox == "read-only" else "allow",
        "bash": "allow" if free else "deny",
        "external_directory": "allow" if free else {"*": "deny", **folders},
        "webfetch": web,
        "websearch": web,
        "question": "deny",
    }


def _provider(request: Request) -> str | None:
    """Say whose key it is; only a model that is named tells."""
    matched = None if request.model is None else _MODEL.fullmatch(request.model)
    return None if matched is None else matched["provider"]


def _given(request: Request) -> dict[str, Any]:
    try:
        given = json.loads(added(request).get(CONFIGURATION, "{}"))
    except ValueError as error:
        raise ValueError(f"{CONFIGURATION} is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise ValueError(f"{CONFIGURATION} is no JSON object")  # noqa: TRY004 # what a plan can't do is a ValueError
    return given


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        known = merged.get(name)
        merged[name] = _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return merged


def _environment(request: Request) -> dict[str, str]:
    env = {
        **passed(request.base_env),
        **identity(request),
        "XDG_DATA_HOME": str(request.home / DATA),
        "XDG_CONFIG_HOME": str(request.home / USERS),
        "XDG_STATE_HOME": str(request.scratch / "state"),
        "XDG_CACHE_HOME": str(request.scratch / "cache"),
        "TMPDIR": str(request.scratch / "tmp"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        **({"OPENCODE_ENABLE_EXA": "1"} if request.web_search else {}),
        **added(request),
        CONFIGURATION: json.dumps(_configuration(request)),
    }
    if request.key is not None and request.key_variable is not None and _provider(request) is None:
        env[request.key_variable] = request.key  # only it knows which of its providers will want it
    return env
