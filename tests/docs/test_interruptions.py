"""What the README says about Ctrl-C, SIGTERM and `kill -9`, done to the real program."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from docs.reading import README, rows
from teamster.settings import Settings

WAIT_SECONDS_MAX = 60.0
GOAL = "Two steps wait for a word, so that whoever watches can interrupt the harness between them. " * 12
WAITING = 'echo "$TEAMSTER_STEP_ID" >> ran; echo up > up; read word < go'
STEPS = (
    {"step_id": "one", "command": ["sh", "-c", WAITING]},
    {"step_id": "two", "command": ["sh", "-c", WAITING], "depends_on": "one"},
)


@dataclass(frozen=True, slots=True)
class Desk:
    """A table whose agents say when they are up, and then wait for a word."""

    folder: Path
    up: int
    go: int
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self) -> subprocess.Popen[str]:
        """Run the table, or go on with it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "teamster", "run", "table.yaml", "--root", "root"],
            cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def until_up(self) -> None:
        """Wait until the next agent runs."""
        assert select.select([self.up], [], [], WAIT_SECONDS_MAX)[0], "no agent came up"
        os.read(self.up, len("up\n"))

    def say(self, words: int) -> None:
        """Let so many agents end."""
        os.write(self.go, b"go\n" * words)

    def ran(self) -> list[str]:
        """Return the steps whose agents were started, one for each start."""
        return (self.folder / "ran").read_text(encoding="utf-8").split()

    def leave(self) -> None:
        """Leave nobody behind, also where a test failed: agents that still wait get their word."""
        self.say(len(STEPS))
        for process in self.started:
            process.kill()
            process.communicate()
        for descriptor in (self.up, self.go):
            os.close(descriptor)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Lay out a table of two steps, one after the other."""
    for name in ("up", "go"):
        os.mkfifo(tmp_path / name)
    table = {"batch_goal_summary": GOAL, "jobs": [{"job_id": "job", "steps": list(STEPS)}]}
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    up, go = (os.open(tmp_path / name, os.O_RDWR | os.O_CLOEXEC) for name in ("up", "go"))
    laid = Desk(tmp_path, up, go)
    yield laid
    laid.leave()


def said(word: str) -> int:
    """Return the exit code that the README states beside an interruption."""
    [code] = [row[-1] for row in rows(README, "what happens") if row[0] == word]
    return int(code)


def heard(process: subprocess.Popen[str], word: str) -> None:
    """Read what a harness says until it says this."""
    assert process.stderr is not None
    assert any(word in line for line in process.stderr), f"never said {word}"


def finish(desk: Desk) -> None:
    """Type the same command again, to its end."""
    process = desk.start()
    desk.say(2)
    _, complaint = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == 0, complaint


def test_ctrl_c_finishes_what_runs_and_starts_nothing_new(desk: Desk) -> None:
    """The second step waits for the same command, typed again."""
    process = desk.start()
    desk.until_up()

    process.send_signal(signal.SIGINT)
    heard(process, "draining")
    desk.say(1)

    _, complaint = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == said("Ctrl-C"), complaint
    assert desk.ran() == ["one"]
    finish(desk)
    assert desk.ran() == ["one", "two"]


def test_ctrl_c_twice_ends_what_runs_and_costs_no_attempt(desk: Desk) -> None:
    """`max_attempts` is 1 here: that the step runs again says that the first try did not count."""
    process = desk.start()
    desk.until_up()

    process.send_signal(signal.SIGINT)
    heard(process, "draining")
    process.send_signal(signal.SIGINT)

    _, complaint = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == said("Ctrl-C twice"), complaint
    finish(desk)
    assert desk.ran() == ["one", "one", "two"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_agents_live_on_when_the_harness_goes(desk: Desk, number: signal.Signals) -> None:
    """The next one adopts them: no step runs twice."""
    process = desk.start()
    desk.until_up()

    process.send_signal(number)

    _, complaint = process.communicate(timeout=WAIT_SECONDS_MAX)
    assert process.returncode == (said("SIGTERM") if number == signal.SIGTERM else -number), complaint
    finish(desk)
    assert desk.ran() == ["one", "two"]


def test_every_line_of_the_table_is_tried_here_or_named() -> None:
    """The two that take minutes or a reboot are shown where processes and stores are tested."""
    assert [row[0] for row in rows(README, "what happens")] == [
        "Ctrl-C",
        "Ctrl-C twice",
        "SIGTERM",
        "`kill -9`, a crash",
        f"nobody comes back for {Settings().orphan_seconds_max:g} seconds",
        "a reboot, a power cut",
    ]
