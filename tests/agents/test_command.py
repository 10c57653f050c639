"""The `command` agent: any program, called by a template, judged by its report or its exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.requests import KEY, THREAD, request
from teamster.agents import CommandAgent, Reading
from teamster.agents.command import ACTIVITY_CHARACTERS_MAX, LINE_BYTES_MAX
from teamster.model import PLACEHOLDERS

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
COMMAND: Final = CommandAgent()
VALUES: Final = {
    "prompt_file": "/spool/scratch/prompt.md",
    "report_file": "/root-of-ours/staging/report.json",
    "working_directory": "/repo",
    "run_id": "run_1",
    "job_id": "job_1",
    "step_id": "step1",
    "attempt": "2",
}


def read(*lines: bytes) -> Reading:
    """Feed lines to a new decoder."""
    decoder = COMMAND.decoder()
    for line in lines:
        decoder.feed(line)
    return decoder.reading


def test_every_placeholder_of_a_table_is_filled() -> None:
    """The list of the model and the values here are the same names."""
    plan = COMMAND.plan(request(command=("tool", *(f"--x={{{name}}}" for name in PLACEHOLDERS))))

    assert plan.argv == ("tool", *(f"--x={VALUES[name]}" for name in PLACEHOLDERS))


def test_doubled_braces_are_the_programs_own() -> None:
    """No shell and no template language reads them."""
    plan = COMMAND.plan(request(command=("awk", "{{print}} $1", "${HOME}", "{}", "{run_id}{step_id}")))

    assert plan.argv == ("awk", "{print} $1", "${HOME}", "{}", "run_1step1")


def test_the_environment_is_exactly_this() -> None:
    """Of the user's variables only the listed ones pass."""
    plan = COMMAND.plan(request(command=("tool",), key_variable="OPENAI_API_KEY"))

    assert plan.env == {
        "PATH": "/usr/bin",
        "HOME": "/homes/user",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy:3128",
        "TERM": "dumb",
        "TMPDIR": "/spool/scratch",
        "OPENAI_API_KEY": KEY,
        "TEAMSTER_RUN_ID": "run_1",
        "TEAMSTER_JOB_ID": "job_1",
        "TEAMSTER_STEP_ID": "step1",
        "TEAMSTER_ATTEMPT": "2",
        "TEAMSTER_PROMPT_FILE": VALUES["prompt_file"],
        "TEAMSTER_REPORT_FILE": VALUES["report_file"],
        "TEAMSTER_SCRATCH": "/spool/scratch",
    }


@pytest.mark.parametrize(
    "variable", ["PROMPT_FILE", "REPORT_FILE", "RUN_ID", "JOB_ID", "STEP_ID", "ATTEMPT", "SCRATCH"]
)
def test_the_page_names_each_variable_and_placeholder(variable: str) -> None:
    """Who writes a program for it reads the page."""
    text = PAGE.read_text(encoding="utf-8")

    assert f"`TEAMSTER_{variable}`" in text
    assert variable == "SCRATCH" or f"`{{{variable.lower()}}}`" in text


def test_the_plan_says_what_must_be_there_before() -> None:
    """The prompt is a file, standard input is empty."""
    plan = COMMAND.plan(request(command=("tool",)))

    assert plan.files == (("prompt.md", b"Fix the failing test."),)
    assert plan.folders == ()
    assert plan.stdin_file is None
    assert plan.staged_report == "report.json"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "an argv goes with"),
        ({"command": ("tool", "{nonsense}")}, "is not a placeholder"),
        ({"command": ("tool",), "session": THREAD}, "no sessions"),
        ({"command": ("tool\0",)}, "NUL"),
        ({"command": ("tool",), "prompt": "\ud800"}, "surrogates not allowed"),
    ],
    ids=["no-command", "unknown-placeholder", "session", "nul", "surrogate"],
)
def test_what_it_can_not_do_is_refused(changes: dict[str, Any], named: str) -> None:
    """Before anything is started."""
    with pytest.raises(ValueError, match=named):
        COMMAND.plan(request(**changes))


@pytest.mark.parametrize(
    ("printed", "staged", "chosen"),
    [
        ([b'{"status": "ok"}\n'], '{"status": "failed"}', '{"status": "failed"}'),
        ([b'{"status": "ok"}\n'], " \n", '{"status": "ok"}'),
        ([b"working\n", b'{"status": "needs_attention"}\n', b"\n"], None, '{"status": "needs_attention"}'),
        ([b'{"status": "ok"}\n', b"bye\n"], None, None),
        ([b'{"status": "healthy"}\n'], None, None),
        ([b'{"status": "ok"'], None, None),
        ([b'{"a": ' + b"[" * 100_000 + b"}"], None, None),
        ([b"[1]"], None, None),
        ([], None, None),
    ],
    ids=["file-first", "blank-file", "last-line", "not-last", "another-status", "torn", "deep", "list", "nothing"],
)
def test_a_report_is_its_file_or_its_last_line(printed: list[bytes], staged: str | None, chosen: str | None) -> None:
    """A line that only looks like JSON is no report: a program may print what it likes."""
    assert COMMAND.report_text(read(*printed), staged) == chosen


def test_the_last_line_is_what_it_is_doing() -> None:
    """Each line that is not blank counts."""
    reading = read(b"one\n", b"\n", b" two \x1b[0m\xff\n")

    assert reading.last_message == "two \x1b[0m�"
    assert reading.activity == "two \\u001b[0m�"
    assert reading.events == 2


def test_a_long_line_is_cut() -> None:
    """No line can fill the memory."""
    reading = read(b"x" * (LINE_BYTES_MAX + 1))

    assert len(reading.last_message or "") == LINE_BYTES_MAX
    assert len(reading.activity or "") == ACTIVITY_CHARACTERS_MAX


@given(st.lists(st.binary(max_size=200), max_size=8))
def test_no_bytes_end_in_an_exception(lines: list[bytes]) -> None:
    """A program may print anything."""
    reading = read(*lines)

    COMMAND.report_text(reading, None)
    json.dumps([reading.activity, reading.last_message], ensure_ascii=False).encode()


def test_it_has_no_session_no_help_and_no_version() -> None:
    """Nothing is known of an unknown program."""
    assert not COMMAND.is_session_file("sessions/rollout.jsonl")
    assert COMMAND.closure(["a"], THREAD) == ()
    assert COMMAND.session_parent(b"{}") is None
    assert COMMAND.check_help(()) == ()
    assert COMMAND.help_argvs == ()
    assert COMMAND.version_argv is None
    assert COMMAND.parse_version("1.2.3") is None


def test_a_real_program_can_report_by_what_it_is_given(tmp_path: Path) -> None:
    """The variables lead to the files."""
    script = 'cat "$TEAMSTER_PROMPT_FILE"; echo "{\\"status\\": \\"ok\\"}" > "$TEAMSTER_REPORT_FILE"'
    plan = COMMAND.plan(request(command=("/bin/sh", "-c", script), scratch=tmp_path, staging=tmp_path))
    for name, content in plan.files:
        (tmp_path / name).write_bytes(content)

    ended = subprocess.run(plan.argv, env=dict(plan.env), capture_output=True, timeout=10, check=True)

    assert ended.stdout == b"Fix the failing test."
    staged = (tmp_path / plan.staged_report).read_text(encoding="utf-8")
    assert COMMAND.report_text(Reading(), staged) == '{"status": "ok"}\n'
