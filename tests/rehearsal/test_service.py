"""The model as a process of its own: started, found, kept through a kill, ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from rehearsal.conftest import IDLE_SECONDS_MAX, StartModel
from teamster.kit import write_snapshot
from teamster.model import ProcessIdentity, TableProblems, UsageError, WorldError
from teamster.process import spawn_daemon
from teamster.rehearsal import Model, find_model, start_model, stop_model
from teamster.rehearsal.record import LOG_NAME, RECORD_NAME

END_SECONDS_MAX = 20


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


def answer(model: Model) -> str:
    """Ask a model and return its words."""
    request = urllib.request.Request(  # noqa: S310 - loopback
        f"{model.base_url}/responses", data=b'{"input": "go"}', headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=END_SECONDS_MAX) as response:  # noqa: S310 - loopback
        text = json.load(response)["output"][0]["content"][0]["text"]
        return str(text)


def scenario_of(word: str) -> str:
    """Return a scenario whose every step says one word."""
    return f"rules: [{{moves: [{{invalid_report: {word}}}]}}]"


def test_it_is_found_again_by_its_record(start: StartModel, tmp_path: Path) -> None:
    """A second harness, or the same one after a kill, uses the model that is there."""
    model = start(scenario_of("one"))

    assert find_model(tmp_path / "model") == model
    assert start(scenario_of("one")) == model
    assert answer(model) == "one"


def test_it_outlives_a_harness_that_is_killed(tmp_path: Path) -> None:
    """Agents that live on must find their model."""
    folder = tmp_path / "model"
    harness = (
        "import os, signal; from pathlib import Path; from teamster.process import spawn_daemon; "
        "from teamster.rehearsal import start_model; "
        f"start_model(folder=Path({str(folder)!r}), scenario=None, spawn=spawn_daemon, "
        f"idle_seconds_max={IDLE_SECONDS_MAX}); "
        "os.killpg(0, signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", harness], start_new_session=True, timeout=END_SECONDS_MAX, check=False)

    model = find_model(folder)

    assert done.returncode == -signal.SIGKILL
    assert model is not None
    assert json.loads(answer(model))["status"] == "ok"
    assert stop_model(folder)


def test_a_killed_one_comes_back_on_its_port(start: StartModel, tmp_path: Path) -> None:
    """It remembers nothing, so that agents who ask again go on as if nothing had happened."""
    first = start(scenario_of("one"))
    os.kill(first.pid, signal.SIGKILL)
    wait_for_end(first.pid)
    assert find_model(tmp_path / "model") is None

    second = start(scenario_of("one"))

    assert second.base_url == first.base_url
    assert second.pid != first.pid
    assert answer(second) == "one"


def test_another_scenario_takes_the_place_of_the_first(start: StartModel) -> None:
    """At the same address: what runs is told the new story."""
    first = start(scenario_of("one"))

    second = start(scenario_of("two"))

    assert second.base_url == first.base_url
    assert answer(second) == "two"
    wait_for_end(first.pid)


def test_it_takes_another_port_where_its_own_is_taken(start: StartModel, tmp_path: Path) -> None:
    """Somebody else may have it by now."""
    first = start(scenario_of("one"))
    record = json.loads((tmp_path / "model" / RECORD_NAME).read_bytes())
    other = start_model(folder=tmp_path / "other", scenario=None, spawn=spawn_daemon, idle_seconds_max=IDLE_SECONDS_MAX)
    stop_model(tmp_path / "model")
    taken = int(other.base_url.rpartition(":")[2].removesuffix("/v1"))
    write_snapshot(tmp_path / "model" / RECORD_NAME, json.dumps({**record, "port": taken}).encode())

    try:
        assert find_model(tmp_path / "model") is None
        second = start(scenario_of("one"))
        assert second.base_url not in {other.base_url, ""}
        assert answer(second) == "one"
        assert find_model(tmp_path / "other") == other
    finally:
        stop_model(tmp_path / "other")
    assert first.pid != second.pid


def test_it_ends_by_itself_when_nobody_asks(tmp_path: Path) -> None:
    """A rehearsal that nobody looks after any more leaves nothing behind."""
    model = start_model(folder=tmp_path / "model", scenario=None, spawn=spawn_daemon, idle_seconds_max=0.2)

    wait_for_end(model.pid)

    assert find_model(tmp_path / "model") is None


def test_it_ends_when_its_folder_is_gone(start: StartModel, tmp_path: Path) -> None:
    """Nobody could find it any more, nor stop it."""
    model = start("")

    (tmp_path / "model" / RECORD_NAME).unlink()

    wait_for_end(model.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_by_a_signal(start: StartModel, number: signal.Signals) -> None:
    """An operator's way."""
    model = start("")

    os.kill(model.pid, number)

    wait_for_end(model.pid)


def test_stopping_waits_for_the_end_and_may_be_repeated(start: StartModel, tmp_path: Path) -> None:
    """The folder can be removed after it."""
    model = start("")

    assert stop_model(tmp_path / "model")
    wait_for_end(model.pid)
    assert not stop_model(tmp_path / "model")
    assert not stop_model(tmp_path / "never")


def test_two_who_start_at_once_get_the_same_one(tmp_path: Path) -> None:
    """One folder, one model."""
    found: list[Model] = []

    def begin() -> None:
        found.append(
            start_model(folder=tmp_path / "model", scenario=None, spawn=spawn_daemon, idle_seconds_max=IDLE_SECONDS_MAX)
        )

    threads = [threading.Thread(target=begin) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(END_SECONDS_MAX)

    assert len(found) == 3
    assert len({model.pid for model in found}) == 1
    assert stop_model(tmp_path / "model")


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b'{"port": 1}'])
def test_a_record_that_cannot_be_read_is_no_model(start: StartModel, tmp_path: Path, record: bytes) -> None:
    """A new one is started."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / RECORD_NAME).write_bytes(record)

    assert find_model(folder) is None
    assert json.loads(answer(start("")))["status"] == "ok"


def test_a_scenario_that_cannot_be_played_starts_nothing(start: StartModel, tmp_path: Path) -> None:
    """All its problems come before anything runs."""
    with pytest.raises(TableProblems):
        start("rules: 3")
    with pytest.raises(UsageError, match="can't be read"):
        start_model(folder=tmp_path / "model", scenario=tmp_path / "missing.yaml", spawn=spawn_daemon)

    assert not (tmp_path / "model").exists()


def test_one_that_does_not_start_says_why(tmp_path: Path) -> None:
    """Its own last words, and where the rest stands."""
    folder = tmp_path / "model"

    def broken(argv: tuple[str, ...], *, env: Mapping[str, str], log_path: Path) -> ProcessIdentity:
        return spawn_daemon((argv[0], "-c", "raise SystemExit('no room')"), env=env, log_path=log_path)

    with pytest.raises(WorldError, match="did not start: no room") as raised:
        start_model(folder=folder, scenario=None, spawn=broken)

    assert raised.value.hint == f"see {folder / LOG_NAME}"


def test_it_tells_how_codex_is_pointed_at_it(start: StartModel) -> None:
    """All that a harness needs: settings, the key's variable, and a key that opens nothing."""
    model = start("")

    words = model.codex_arguments()

    assert words[0::2] == ("-c",) * (len(words) // 2)
    assert f'model_providers.rehearsal.base_url="{model.base_url}"' in words
    assert f'model_providers.rehearsal.env_key="{model.key_variable}"' in words
    assert model.key


def test_no_proxy_stands_between_two_ends_of_one_machine(start: StartModel) -> None:
    """What the user excepts from the proxy stays excepted."""
    model = start("")

    assert model.agent_env({"A": "b"}) == {"A": "b", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    assert model.agent_env({"no_proxy": "x"})["NO_PROXY"] == "x,127.0.0.1"
