"""Start the scripted model as a process of its own, or find the one that is there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import teamster
from teamster.kit import FileLock, make_folder, sha256, write_snapshot
from teamster.model import ProcessIdentity, WorldError
from teamster.rehearsal.codex import MODEL_KEY, MODEL_KEY_VARIABLE, codex_arguments
from teamster.rehearsal.journal import REQUESTS_NAME, ModelRequest, read_requests
from teamster.rehearsal.listening import LOOPBACK
from teamster.rehearsal.pointing import Pointing, pointing_of
from teamster.rehearsal.reading import load_scenario, read_text
from teamster.rehearsal.record import IDLE_SECONDS_MAX, LOG_NAME, RECORD_NAME, SCENARIO_NAME, ModelRecord, read_record

READY_SECONDS_MAX: Final = 30.0
END_SECONDS_MAX: Final = 10.0
LOOK_SECONDS: Final = 0.02
LOG_CHARACTERS_SHOWN_MAX: Final = 1000
LOCK_NAME: Final = "model.lock"
SERVER_MODULE: Final = "teamster.rehearsal.server"


class Spawn(Protocol):
    """Starts a program that outlives its caller, its output in a log."""

    def __call__(self, argv: tuple[str, ...], *, env: Mapping[str, str], log_path: Path) -> ProcessIdentity:
        """Start it and say who it is.

        Raises:
            WorldError: nothing was started.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A scripted model that listens."""

    folder: Path
    base_url: str
    pid: int

    def pointing(self, agent: str) -> Pointing | None:
        """Return what points an agent program at this model; None for one that asks no model."""
        return pointing_of(agent, self.base_url)

    def codex_arguments(self) -> tuple[str, ...]:
        """Return what makes Codex ask this model: settings that stand before all others."""
        return codex_arguments(self.base_url)

    def agent_env(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """Return an environment in which agents reach the model: no proxy stands between two ends of one machine."""
        past = ",".join(filter(None, (env.get("NO_PROXY", env.get("no_proxy", "")), LOOPBACK)))
        return {**env, "NO_PROXY": past, "no_proxy": past}

    @property
    def key_variable(self) -> str:
        """The variable in which an agent expects the key."""
        return MODEL_KEY_VARIABLE

    @property
    def key(self) -> str:
        """A key that opens nothing."""
        return MODEL_KEY

    @property
    def requests_path(self) -> Path:
        """The file of what it was asked."""
        return self.folder / REQUESTS_NAME

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """What it, or one before it in this folder, was asked so far."""
        return read_requests(self.folder)


def start_model(
    *, folder: Path, scenario: Path | None, spawn: Spawn, idle_seconds_max: float = IDLE_SECONDS_MAX
) -> Model:
    """Return the model of a folder: the one that runs, or a new one.

    One that plays another scenario is ended first; the new one takes its port where it can, so that living agents
    find it: nothing but the conversation itself tells how far a script has come.

    Raises:
        TableProblems: the scenario can't be played.
        UsageError: the scenario can't be read.
        WorldError: the model does not start.
    """
    text = "" if scenario is None else read_text(scenario)
    load_scenario(text, str(scenario))
    make_folder(folder)
    with _alone(folder):
        record = read_record(folder)
        if record is not None and record.scenario_sha256 == sha256(text.encode()) and record.is_answering():
            return _model(folder, record)
        _end(folder, record)
        write_snapshot(folder / SCENARIO_NAME, text.encode())
        return _started(folder, spawn, port=0 if record is None else record.port, idle_seconds_max=idle_seconds_max)


def find_model(folder: Path) -> Model | None:
    """Return the model that a folder's record names, if it answers."""
    record = read_record(folder)
    return _model(folder, record) if record is not None and record.is_answering() else None


def stop_model(folder: Path) -> bool:
    """End a folder's model and wait for its end; tell whether there was one.

    Raises:
        WorldError: it does not end.
    """
    if not folder.is_dir():
        return False
    with _alone(folder):
        return _end(folder, read_record(folder))


def _started(folder: Path, spawn: Spawn, *, port: int, idle_seconds_max: float) -> Model:
    argv = (sys.executable, "-P", "-s", "-m", SERVER_MODULE, "--folder", str(folder.absolute()))
    limits = ("--port", str(port), "--idle-seconds-max", str(idle_seconds_max))
    env = {"PYTHONPATH": str(Path(teamster.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    server = spawn((*argv, *limits), env=env, log_path=folder / LOG_NAME)
    _wait(lambda: find_model(folder) is not None or _is_gone(server.pid), seconds=READY_SECONDS_MAX)
    model = find_model(folder)
    if model is None:
        log = folder / LOG_NAME
        said = log.read_text(encoding="utf-8", errors="replace")[-LOG_CHARACTERS_SHOWN_MAX:] if log.exists() else ""
        raise WorldError(f"the scripted model did not start: {said.strip() or 'it said nothing'}", hint=f"see {log}")
    return model


def _end(folder: Path, record: ModelRecord | None) -> bool:
    """End the model of a record, if it is there, and forget it."""
    was_there = record is not None and record.is_answering()
    if record is not None and was_there:
        record.ask_to_stop()
        if not _wait(lambda: _is_gone(record.pid), seconds=END_SECONDS_MAX):
            raise WorldError(f"the scripted model, process {record.pid}, does not end")
    with suppress(FileNotFoundError):
        (folder / RECORD_NAME).unlink()
    return was_there


def _model(folder: Path, record: ModelRecord) -> Model:
    return Model(folder=folder, base_url=record.base_url, pid=record.pid)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from starting or ending the model of a folder meanwhile."""
    held: list[FileLock] = []

    def take() -> bool:
        with suppress(BlockingIOError):
            held.append(FileLock(folder / LOCK_NAME))
        return bool(held)

    if not _wait(take, seconds=READY_SECONDS_MAX):
        raise WorldError(f"somebody else starts or ends the scripted model of {folder} all the time")
    with held[0]:
        yield


def _is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == b"Z"  # nobody has looked after it yet, and it does nothing any more


def _wait(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Look again and again until something holds, or for so long; tell whether it does."""
    pause = threading.Event()
    for _ in range(int(seconds / LOOK_SECONDS)):
        if holds():
            return True
        pause.wait(LOOK_SECONDS)
    return holds()
