"""A program that outlives who started it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from teamster.model import WorldError
from teamster.process import is_alive, spawn_daemon

END_SECONDS_MAX = 20
ABOUT_ITSELF = (
    "import json, os, signal, sys; "
    "about = {'pid': os.getpid(), 'parent': os.getppid(), 'session': os.getsid(0), 'input': sys.stdin.read(), "
    "'env': os.environ.get('WORD'), 'folder': os.getcwd(), 'files': len(os.listdir('/proc/self/fd')), "
    "'pipe': signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN}; "
    "print(json.dumps(about), flush=True); "
)


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], END_SECONDS_MAX)[0], "it did not end"
    finally:
        os.close(descriptor)


def test_it_is_nobodys_child_in_a_session_of_its_own(tmp_path: Path) -> None:
    """It neither dies with a terminal, nor waits for us to look after it, nor holds a file of ours open."""
    log = tmp_path / "log"

    identity = spawn_daemon((sys.executable, "-c", ABOUT_ITSELF), env={"WORD": "lantern"}, log_path=log)
    wait_for_end(identity.pid)

    about = json.loads(log.read_text(encoding="utf-8"))
    assert about["pid"] == identity.pid
    assert about["parent"] != os.getpid()
    assert about["session"] not in {os.getsid(0), 0}
    assert (about["input"], about["env"], about["folder"]) == ("", "lantern", "/")
    assert about["files"] <= 4  # input, output, complaints, and the folder that it looks at
    assert not is_alive(identity)


def test_it_is_known_by_more_than_its_pid(tmp_path: Path) -> None:
    """A pid is reused; boot and start time are not."""
    program = (sys.executable, "-c", "import time; time.sleep(60)")

    identity = spawn_daemon(program, env={}, log_path=tmp_path / "log")

    assert is_alive(identity)
    os.kill(identity.pid, signal.SIGKILL)
    wait_for_end(identity.pid)
    assert not is_alive(identity)


def test_it_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The whole session of the parent is ended the hard way."""
    starting = (
        "import os, signal, sys; from pathlib import Path; from teamster.process import spawn_daemon; "
        "program = (sys.executable, '-c', 'import time; time.sleep(60)'); "
        f"print(spawn_daemon(program, env={{}}, log_path=Path({str(tmp_path / 'log')!r})).pid, flush=True); "
        "os.killpg(0, signal.SIGKILL)"
    )

    done = subprocess.run(
        [sys.executable, "-c", starting],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=END_SECONDS_MAX,
        check=False,
    )

    assert done.returncode == -signal.SIGKILL
    os.kill(int(done.stdout), signal.SIGTERM)  # it is there
    wait_for_end(int(done.stdout))


def test_its_words_are_added_to_the_log(tmp_path: Path) -> None:
    """What an earlier one complained about stays to be read."""
    log = tmp_path / "log"
    for word in ("first", "second"):
        identity = spawn_daemon((sys.executable, "-c", f"raise SystemExit({word!r})"), env={}, log_path=log)
        wait_for_end(identity.pid)

    assert log.read_text(encoding="utf-8") == "first\nsecond\n"
    assert log.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_started_is_an_error_at_once(tmp_path: Path) -> None:
    """Nobody should wait for a program that is not there, or whose complaints nobody could read."""
    with pytest.raises(WorldError, match="it is no program"):
        spawn_daemon((str(tmp_path / "missing"),), env={}, log_path=tmp_path / "log")
    with pytest.raises(WorldError, match="No such file"):
        spawn_daemon((sys.executable, "-c", ""), env={}, log_path=tmp_path / "missing" / "log")
