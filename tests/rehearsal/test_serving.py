"""A model that a person serves: until it is told to end, and one at a time."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from teamster.kit import FileLock
from teamster.model import UsageError
from teamster.rehearsal import Model, find_model, serve_model

END_SECONDS_MAX = 20
SERVE = (
    "import sys; from pathlib import Path; from teamster.rehearsal import serve_model; "
    "serve_model(folder=Path(sys.argv[1]), scenario=None, port=0, tell=lambda model: print(model.base_url, flush=True))"
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Serve from a process that is gone with the test; its first line is the address."""
    argv = [sys.executable, "-c", SERVE, str(tmp_path / "served")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def never(_model: Model) -> None:
    """Take the word that it listens, where it must not come."""
    raise AssertionError("it listens")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_it_is_told_to_end(
    served: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C is the usual end, and no failure."""
    assert served.stdout is not None
    address = served.stdout.readline().strip()
    model = find_model(tmp_path / "served")
    assert model is not None
    assert model.base_url == address

    served.send_signal(number)

    assert served.wait(END_SECONDS_MAX) == 0
    assert find_model(tmp_path / "served") is None


def test_a_second_one_in_the_same_folder_is_told_of_the_first(served: subprocess.Popen[str], tmp_path: Path) -> None:
    """Two would write one record."""
    assert served.stdout is not None
    address = served.stdout.readline().strip()

    with pytest.raises(UsageError, match=f"served already, at {address}") as caught:
        serve_model(folder=tmp_path / "served", scenario=None, port=0, tell=never)
    assert caught.value.hint == f"end process {served.pid} first"


def test_one_that_has_not_told_its_address_yet_counts_too(tmp_path: Path) -> None:
    """Between the lock and the record lies a moment."""
    with FileLock(tmp_path / "model.lock"), pytest.raises(UsageError, match="is about to be served"):
        serve_model(folder=tmp_path, scenario=None, port=0, tell=never)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    """Who names a port wants that one, and no other."""
    taking: Callable[[], socket.socket] = socket.socket
    with taking() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} can't be had: address already in use"):
            serve_model(folder=tmp_path, scenario=None, port=port, tell=never)
