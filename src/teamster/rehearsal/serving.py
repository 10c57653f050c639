"""Serve a scenario from this process: what the model's own program does, and `teamster rehearse --serve`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

from teamster.kit import FileLock, RandomNames, SystemClock, document, make_folder, sha256, write_snapshot
from teamster.model import UsageError
from teamster.rehearsal.journal import REQUESTS_NAME, Journal
from teamster.rehearsal.listening import Listener
from teamster.rehearsal.reading import load_scenario, read_text
from teamster.rehearsal.record import RECORD_NAME, SCENARIO_NAME, ModelRecord, read_record
from teamster.rehearsal.scenario import Scenario
from teamster.rehearsal.service import LOCK_NAME, Model

SERVED_SECONDS_MAX: Final = 10 * 365 * 86_400.0
"""How long a model that a person serves may be unasked: as long as nobody ends it."""


def serve_model(*, folder: Path, scenario: Path | None, port: int, tell: Callable[[Model], None]) -> None:
    """Serve a scenario until SIGINT or SIGTERM; `tell` is called once it listens. Port 0 is any that is free.

    Raises:
        TableProblems: the scenario can't be played.
        UsageError: it can't be read, the port is taken, or the folder has a model that runs.
    """
    text = "" if scenario is None else read_text(scenario)
    played = load_scenario(text, str(scenario))

    def told(record: ModelRecord) -> None:
        tell(Model(folder=folder, base_url=record.base_url, pid=record.pid))

    make_folder(folder)
    with _held(folder):
        write_snapshot(folder / SCENARIO_NAME, text.encode())
        try:
            listener = listener_of(played, folder, port=port)
        except OSError as error:
            fact = f"port {port} can't be had: {(error.strerror or str(error)).lower()}"
            raise UsageError(fact, hint="name another with --port, or none") from error
        serve(listener, folder, text, idle_seconds_max=SERVED_SECONDS_MAX, tell=told)


def listener_of(scenario: Scenario, folder: Path, *, port: int) -> Listener:
    """Listen.

    Raises:
        OSError: the port is taken.
    """
    clock = SystemClock()
    journal = Journal(folder / REQUESTS_NAME, clock=clock)
    return Listener(scenario, port=port, token=RandomNames().token(), clock=clock, journal=journal)


def serve(
    listener: Listener,
    folder: Path,
    scenario: str,
    *,
    idle_seconds_max: float,
    tell: Callable[[ModelRecord], None] = lambda _record: None,
) -> None:
    """Write the folder's record and answer until it is time to end."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        listener.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    record = ModelRecord(
        base_url=listener.base_url,
        port=listener.server_port,
        pid=os.getpid(),
        token=listener.token,
        scenario_sha256=sha256(scenario.encode()),
    )
    # The socket listens since it was made: who reads the record early waits for `serve` and is not refused.
    write_snapshot(folder / RECORD_NAME, document(record.to_json()))
    tell(record)
    listener.serve(idle_seconds_max=idle_seconds_max, is_wanted=lambda: _is_named(folder, record))


def _held(folder: Path) -> FileLock:
    try:
        return FileLock(folder / LOCK_NAME)
    except BlockingIOError as error:
        there = read_record(folder)
        if there is None:
            raise UsageError(f"a scripted model is about to be served from {folder}", hint="end it first") from error
        fact = f"a scripted model is served already, at {there.base_url}"
        raise UsageError(fact, hint=f"end process {there.pid} first") from error


def _is_named(folder: Path, record: ModelRecord) -> bool:
    """Tell whether the folder still names this model: one whose folder is gone serves nobody."""
    named = read_record(folder)
    return named is not None and named.token == record.token
