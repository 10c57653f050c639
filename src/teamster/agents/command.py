"""The `command` agent: any program, called by a template."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from teamster.agents.environment import added, identity, passed
from teamster.agents.protocol import Decoder, Plan, Reading, Request, Usage
from teamster.kit import one_line
from teamster.model import REPORT_STATUSES, AgentChoice

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
ACTIVITY_CHARACTERS_MAX: Final = 120
PROMPT_FILE: Final = "prompt.md"
REPORT_FILE: Final = "report.json"


class CommandAgent:
    """Runs the program that a table names.

    Its report is optional: the file that `TEAMSTER_REPORT_FILE` names, or a last line of output that is a JSON object
    whose `status` is one of a report's. Without any, its exit code speaks for it.
    """

    name = "command"
    sessions = False
    announces_end = False
    requires_report = False
    counts_thread = False
    key_variables = ("CODEX_API_KEY", "OPENAI_API_KEY")
    tested_versions: tuple[str, ...] = ()
    help_argvs: tuple[tuple[str, ...], ...] = ()
    version_argv: tuple[str, ...] | None = None

    def own_files(self, env: Mapping[str, str]) -> Mapping[str, Path]:
        """Nothing is known of an unknown program."""
        del env
        return {}

    def needed_programs(self, sandbox: str) -> tuple[str, ...]:
        """Nothing: it runs without any sandbox."""
        del sandbox
        return ()

    def plan(self, request: Request) -> Plan:
        """Fill the placeholders of the template.

        Raises:
            ValueError: there is no command, it names an unknown placeholder, or the request asks for a session.
        """
        if request.session is not None:
            raise ValueError("a `command` agent has no sessions to resume")
        values = _placeholders(request)
        return Plan(
            argv=AgentChoice(agent="command", command=request.command).argv(values),
            env={**passed(request.base_env), **_key(request), **_own_variables(request, values), **added(request)},
            folders=(),
            files=((PROMPT_FILE, request.prompt.encode()),),
            stdin_file=None,
            staged_report=REPORT_FILE,
        )

    def decoder(self) -> Decoder:
        """Return a decoder that keeps the last line."""
        return LineDecoder()

    def report_text(self, reading: Reading, staged: str | None) -> str | None:
        """Take the staged report, or the last line of output where it looks like one."""
        if staged is not None and staged.strip():
            return staged
        last = reading.last_message
        return last if last is not None and _looks_like_report(last) else None

    def is_session_file(self, name: str) -> bool:
        """Nothing is: this agent has no sessions."""
        del name
        return False

    def closure(self, names: Sequence[str], thread_id: str) -> tuple[str, ...]:
        """Nothing: this agent has no sessions."""
        del names, thread_id
        return ()

    def session_parent(self, first_line: bytes) -> str | None:
        """Nothing: this agent has no sessions."""
        del first_line
        return None

    def session_usage(self, lines: Iterable[bytes]) -> Usage | None:
        """Nothing: this agent has no sessions."""
        del lines
        return None

    def check_help(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Nothing is missing: no flag of an unknown program is needed."""
        del texts
        return ()

    def parse_version(self, text: str) -> str | None:
        """Nothing is known of an unknown program."""
        del text
        return None


class LineDecoder:
    """Keeps the last line that is not blank; each such line counts as an event."""

    def __init__(self) -> None:
        self._last: bytes | None = None
        self._lines = 0

    def feed(self, line: bytes) -> None:
        """Take one line; of a longer one than `LINE_BYTES_MAX` the beginning is kept."""
        stripped = line[:LINE_BYTES_MAX].strip()
        if stripped:
            self._last = stripped
            self._lines += 1

    @property
    def reading(self) -> Reading:
        """The last line, as message and as activity."""
        if self._last is None:
            return Reading()
        text = self._last.decode("utf-8", "replace")
        return Reading(
            last_message=text,
            activity=one_line(text[: 4 * ACTIVITY_CHARACTERS_MAX], characters_max=ACTIVITY_CHARACTERS_MAX),
            events=self._lines,
        )


def _placeholders(request: Request) -> Mapping[str, str]:
    return {
        "prompt_file": str(request.scratch / PROMPT_FILE),
        "report_file": str(request.staging / REPORT_FILE),
        "working_directory": str(request.working_directory),
        "run_id": request.run_id,
        "job_id": request.job_id,
        "step_id": request.step_id,
        "attempt": str(request.attempt),
    }


def _own_variables(request: Request, values: Mapping[str, str]) -> dict[str, str]:
    return {
        **identity(request),
        "TMPDIR": str(request.scratch),
        "TEAMSTER_PROMPT_FILE": values["prompt_file"],
        "TEAMSTER_REPORT_FILE": values["report_file"],
        "TEAMSTER_SCRATCH": str(request.scratch),
    }


def _key(request: Request) -> dict[str, str]:
    if request.key is None or request.key_variable is None:
        return {}
    return {request.key_variable: request.key}


def _looks_like_report(line: str) -> bool:
    if not (line.startswith("{") and line.endswith("}")):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("status") in REPORT_STATUSES
