"""The whole program as a process: signals, readers that go away, two at once, a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.teamster import ended, start
from operations.place import Place, step
from teamster.model import BatchId

SEEN_SECONDS_MAX = 30.0
LOOK_SECONDS = 0.1
SLOW = "echo began; echo $$ > $TEAMSTER_JOB_ID.began; while ! test -f go; do sleep 0.05; done; echo went"
JOBS = {
    "a": [step("slow", SLOW), step("after", "true", depends_on=["slow"])],
    "b": [step("slow", SLOW), step("after", "true", depends_on=["slow"])],
}


def wait_for(fact: Callable[[], bool]) -> None:
    """Wait until something is so."""
    pause = threading.Event()
    for _ in range(int(SEEN_SECONDS_MAX / LOOK_SECONDS)):
        if fact():
            return
        pause.wait(LOOK_SECONDS)
    raise AssertionError("it never came to be")


def began(place: Place) -> bool:
    """Tell whether both slow agents run."""
    return all((place.folder / "work" / f"{job}.began").exists() for job in ("a", "b"))


def running(place: Place) -> subprocess.Popen[str]:
    """Start a run and wait until its agents run."""
    process = start(place, "run", "table.json")
    wait_for(lambda: began(place))
    return process


def let_go(place: Place) -> None:
    """Let the slow agents end."""
    (place.folder / "work" / "go").touch()


@pytest.fixture
def batch(place: Place) -> BatchId:
    """Write the table and say what its batch will be called."""
    return place.read(place.write("table.json", JOBS)).batch_id


def test_an_interrupt_drains(place: Place, batch: BatchId) -> None:
    """Once: what runs is finished, nothing new is started, and the exit code says that it was interrupted."""
    process = running(place)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    wait_for(lambda: "draining" in (process.stderr.readline() if process.stderr else ""))
    let_go(place)
    said = ended(process)

    assert said.code == 130
    assert set(place.statuses(batch).values()) == {"succeeded", "ready"}
    assert "go on: teamster up" in said.err
    assert ended(start(place, "run", "table.json")).code == 0


def test_a_second_interrupt_stops(place: Place, batch: BatchId) -> None:
    """Twice: agents are ended, and their steps run again when somebody asks."""
    process = running(place)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: "draining" in (process.stderr.readline() if process.stderr else ""))
    process.send_signal(signal.SIGINT)
    said = ended(process)

    assert said.code == 130
    assert "stopping: agents are ended" in said.err
    assert place.statuses(batch) == {"a.slow": "ready", "a.after": "blocked", "b.slow": "ready", "b.after": "blocked"}
    let_go(place)
    assert ended(start(place, "run", "table.json")).code == 0
    assert [row.attempts for row in place.board(batch).steps] == [2, 1, 2, 1]


def test_a_termination_leaves_the_agents_to_the_next_run(place: Place, batch: BatchId) -> None:
    """An upgrade, or a shutdown of the harness alone, costs no agent its work."""
    process = running(place)
    process.terminate()
    assert ended(process).code == 143
    assert place.statuses(batch)["a.slow"] == "running"

    again = start(place, "run", "table.json", "--json")
    let_go(place)
    said = ended(again)

    assert said.code == 0
    assert [row["attempts"] for row in said.json["steps"]] == [1, 1, 1, 1]
    assert len(place.attempts(batch, "a", "slow")) == 1
    assert ended(start(place, "verify")).code == 0


@pytest.mark.req("PH-7.6")
def test_a_cancel_ends_what_runs_and_keeps_what_it_said(place: Place) -> None:
    """The owner carries it out: the agent is gone with what it started in another session, its output stays."""
    spawning = f"setsid sleep 300 & echo $! > child; {SLOW}"
    jobs = {**JOBS, "a": [step("slow", spawning), step("after", "true", depends_on=["slow"])]}
    batch = place.read(place.write("table.json", jobs)).batch_id
    process = running(place)
    assert ended(start(place, "cancel", batch, "a")).out.splitlines() == ["a.after: canceled", "a.slow: asked to end"]
    wait_for(lambda: place.statuses(batch)["a.slow"] == "canceled")
    pids = [(place.folder / "work" / name).read_text(encoding="utf-8").strip() for name in ("a.began", "child")]
    assert [pid for pid in pids if Path("/proc", pid).exists()] == []
    let_go(place)
    said = ended(process)

    assert said.code == 1
    assert place.statuses(batch) == {
        "a.slow": "canceled",
        "a.after": "canceled",
        "b.slow": "succeeded",
        "b.after": "succeeded",
    }
    (attempt,) = place.attempts(batch, "a", "slow")
    assert json.loads((attempt / "state.json").read_bytes())["status"] == "canceled"
    assert ended(start(place, "logs", batch, "a.slow")).out == "began\n"
    assert ended(start(place, "verify")).out.startswith("clean: ")


def test_two_runs_of_one_table_at_once_join(place: Place, batch: BatchId) -> None:
    """Both see it through, and nothing runs twice."""
    first, second = start(place, "run", "table.json", "--json"), start(place, "run", "table.json", "--json")
    wait_for(lambda: began(place))
    let_go(place)
    answers = [ended(first), ended(second)]

    assert [answer.code for answer in answers] == [0, 0]
    assert [answer.json["counts"]["succeeded"] for answer in answers] == [4, 4]
    assert sorted(answer.json["created"] for answer in answers) == [False, True]
    assert [len(place.attempts(batch, job, name)) for job in ("a", "b") for name in ("slow", "after")] == [1] * 4


def test_up_works_on_what_is_submitted_meanwhile_until_it_is_told_to_leave(place: Place) -> None:
    process = start(place, "up", "--json")
    place.write("late.json", {"a": [step("only", "true")]})
    batch = BatchId(ended(start(place, "submit", "late.json", "--json")).json["batch_id"])
    wait_for(lambda: place.statuses(batch) == {"a.only": "succeeded"})
    process.send_signal(signal.SIGINT)
    said = ended(process)

    assert said.code == 0
    assert [row["batch_id"] for row in said.json["batches"]] == [batch]


def test_up_claims_no_batch_whose_agent_was_not_checked_when_it_came(place: Place) -> None:
    """Without its key an agent hangs until its timeout, and the try is spent."""
    process = start(place, "up", env={"CODEX_API_KEY": "", "OPENAI_API_KEY": ""})
    asks = {"step_id": "only", "prompt": "Do it.", "execution_policy": {"skip_git_repo_check": True}}
    place.write("codex.json", {"a": [asks]})
    place.write("late.json", {"a": [step("only", "true")]})
    held, fine = (
        BatchId(ended(start(place, "submit", name, "--json")).json["batch_id"]) for name in ("codex.json", "late.json")
    )
    wait_for(lambda: place.statuses(fine) == {"a.only": "succeeded"})
    process.send_signal(signal.SIGINT)
    said = ended(process)

    assert said.code == 130
    assert said.err.count(f"held back {held}: codex has no key and no login; it stays queued") == 1
    assert place.statuses(held) == {"a.only": "ready"}
    assert place.attempts(held, "a", "only") == []


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error(place: Place, arguments: list[str]) -> None:
    """`teamster status | head -1` is what people type."""
    place.submit(JOBS)
    process = start(place, *arguments)
    assert process.stdout is not None
    process.stdout.close()
    _, complaint = process.communicate(timeout=SEEN_SECONDS_MAX)

    assert process.returncode == 0
    assert [line for line in complaint.splitlines() if not line.startswith("root ")] == []


def test_a_run_whose_readers_go_away_is_finished(place: Place, batch: BatchId) -> None:
    """A closed terminal window or a `head` must not cost a night's work."""
    process = running(place)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    let_go(place)

    assert process.wait(timeout=SEEN_SECONDS_MAX) == 0
    assert set(place.statuses(batch).values()) == {"succeeded"}


@pytest.mark.parametrize(("more", "colours"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["colour", "no_colour"])
def test_a_terminal_is_drawn_in_its_width(place: Place, more: dict[str, str], *, colours: bool) -> None:
    """Narrow terminals wrap notes, not ids; `NO_COLOR` is respected."""
    batch = place.submit({"a": [step("only", "true")]})
    place.work()
    ours, theirs = pty.openpty()
    env = {"TERM": "xterm-256color", "COLUMNS": "40", **more}
    process = start_in_terminal(place, theirs, env, "status", batch)
    os.close(theirs)
    text = read_terminal(ours)

    assert process.wait(timeout=SEEN_SECONDS_MAX) == 0
    assert ("\x1b[32m" in text) is colours
    plain = text.replace("\x1b[32m", "").replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "")
    drawn = [line.rstrip() for line in plain.splitlines() if line.startswith("a.only")]
    assert drawn[0].startswith("a.only  succeeded  1      ")
    assert len(drawn[0]) <= 40


def start_in_terminal(place: Place, terminal: int, env: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    """Start it with a terminal as its standard output."""
    return subprocess.Popen(
        [sys.executable, "-m", "teamster", *arguments, "--root", str(place.root)],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env={**place.env, **env},
        cwd=place.folder,
        start_new_session=True,
    )


def read_terminal(ours: int) -> str:
    """Read what was drawn until the other side is closed."""
    text = b""
    try:
        while piece := os.read(ours, 1 << 16):
            text += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
    return text.decode()
