"""Short programs, run to their end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from process.stage import all_gone, boot_seconds, read_pids, until
from teamster.model import WorldError
from teamster.process import ToolResult, run_tool

ENV = {"PATH": "/usr/bin:/bin"}
LARGE = 1 << 20


def shell(script: str, folder: Path, *, stdin: bytes = b"", timeout_seconds: float = 60.0) -> ToolResult:
    """Run a shell script."""
    return run_tool(
        ["sh", "-c", script],
        cwd=folder,
        env=ENV,
        timeout_seconds=timeout_seconds,
        output_bytes_max=LARGE,
        stdin=stdin,
    )


def test_a_tool_says_what_it_has_to_say(tmp_path: Path) -> None:
    """Exit code and both outputs, apart."""
    result = shell("pwd; echo no >&2; exit 3", tmp_path)

    assert result == ToolResult(
        exit_code=3, stdout=f"{tmp_path}\n".encode(), stderr=b"no\n", truncated=False, timed_out=False
    )


def test_a_tool_has_the_environment_that_it_is_given(tmp_path: Path) -> None:
    """Nothing of ours: git reads a dozen variables."""
    result = run_tool(["/usr/bin/env"], cwd=tmp_path, env={"A": "1"}, timeout_seconds=60.0, output_bytes_max=LARGE)

    assert result.stdout == b"A=1\n"


def test_large_input_and_output_pass_each_other(tmp_path: Path) -> None:
    """Pipes are small: who only writes first, or only reads, waits for ever."""
    content = os.urandom(LARGE)

    assert shell("cat", tmp_path, stdin=content).stdout == content


def test_a_tool_that_does_not_read_its_input_may(tmp_path: Path) -> None:
    """A broken pipe is no failure of ours."""
    assert shell("exit 0", tmp_path, stdin=b"x" * LARGE).exit_code == 0


def test_output_over_the_cap_is_dropped_and_said(tmp_path: Path) -> None:
    """The tool goes on to its end: a kill in the middle could leave a lock file of git."""
    result = run_tool(
        ["sh", "-c", "head -c 300000 /dev/zero; echo end >&2; exit 2"],
        cwd=tmp_path,
        env=ENV,
        timeout_seconds=60.0,
        output_bytes_max=1000,
    )

    assert result.stdout == b"\0" * 1000
    assert result.stderr == b"end\n"
    assert (result.exit_code, result.truncated) == (2, True)


def test_at_its_timeout_a_tool_and_its_children_are_killed(tmp_path: Path) -> None:
    """Whatever it said until then is kept."""
    result = shell("echo before; sleep 1000 & echo $! > pids; wait", tmp_path, timeout_seconds=1.5)

    assert (result.exit_code, result.timed_out, result.stdout) == (-9, True, b"before\n")
    children = read_pids(tmp_path / "pids")
    until(lambda: all_gone(children), "the kernel took it apart")


def test_a_child_that_holds_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    """Git starts helpers in the background; the end is the end of the program."""
    begun = boot_seconds()

    result = shell("echo done; sleep 1000 & exit 0", tmp_path)

    assert (result.exit_code, result.stdout, result.timed_out) == (0, b"done\n", False)
    assert boot_seconds() - begun < 10


def test_a_child_that_floods_the_output_does_not_keep_us(tmp_path: Path) -> None:
    """It left its group, and writes for ever."""
    result = shell("setsid yes & exit 0", tmp_path)

    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("argv", "folder", "fact", "hint"),
    [
        (["no-such-tool"], ".", "there is no program no-such-tool", "PATH"),
        (["/etc/passwd"], ".", "/etc/passwd may not be run", "modes"),
        (["sh"], "nowhere", "no such folder", ""),
        (["a\0b"], ".", "embedded null byte", ""),
    ],
    ids=["missing", "no-program", "no-folder", "null-byte"],
)
def test_a_tool_that_cannot_start_says_what_to_try(
    tmp_path: Path, argv: list[str], folder: str, fact: str, hint: str
) -> None:
    """The world failed, not the caller: a later try may do."""
    with pytest.raises(WorldError, match=fact) as failure:
        run_tool(argv, cwd=tmp_path / folder, env=ENV, timeout_seconds=60.0, output_bytes_max=LARGE)

    assert hint in failure.value.hint


def test_a_tool_whose_input_stays_open_is_let_go_when_it_has_answered(tmp_path: Path) -> None:
    """Some programs go at the end of their input, in the middle of what they are at."""
    script = "read asked; echo noise; echo answer to $asked; cat >/dev/null; echo done"
    result = run_tool(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=ENV,
        timeout_seconds=60.0,
        output_bytes_max=LARGE,
        stdin=b"me\n",
        until=lambda output: b"answer to me" in output,
    )

    assert (result.exit_code, result.timed_out) == (0, False)
    assert result.stdout == b"noise\nanswer to me\ndone\n"


def test_a_tool_that_never_answers_is_ended_at_its_time(tmp_path: Path) -> None:
    result = run_tool(
        ["sh", "-c", "cat"],
        cwd=tmp_path,
        env=ENV,
        timeout_seconds=0.2,
        output_bytes_max=LARGE,
        stdin=b"me\n",
        until=lambda _: False,
    )

    assert (result.stdout, result.timed_out) == (b"me\n", True)
