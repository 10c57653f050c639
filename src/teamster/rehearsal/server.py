"""The scripted model as a program: `python -m teamster.rehearsal.server --folder FOLDER`.

It plays the folder's scenario on loopback, writes the folder's record when it listens, and ends by SIGTERM, by a
request with its token, or when nobody asked anything for a while. Nothing ties it to the process that started it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from teamster.kit import RandomNames, SystemClock, document, sha256, write_snapshot
from teamster.model import TableProblems
from teamster.rehearsal.journal import REQUESTS_NAME, Journal
from teamster.rehearsal.listening import Listener
from teamster.rehearsal.reading import load_scenario
from teamster.rehearsal.record import IDLE_SECONDS_MAX, LOG_NAME, RECORD_NAME, SCENARIO_NAME, ModelRecord, read_record
from teamster.rehearsal.scenario import Scenario

EXIT_USAGE = 2


def main(argv: Sequence[str]) -> int:
    """Serve until it is time to end, and return the exit code. What is wrong stands in the log."""
    asked = _parser().parse_args(argv)
    folder: Path = asked.folder
    try:
        text = (folder / SCENARIO_NAME).read_text(encoding="utf-8")
        scenario = load_scenario(text, SCENARIO_NAME)
        listener = _listener(scenario, folder, port=asked.port)
    except TableProblems as error:
        return _refuse("\n".join([error.fact, *map(str, error.problems)]))
    except (OSError, UnicodeDecodeError) as error:
        return _refuse(str(error))
    _serve(listener, folder, text, idle_seconds_max=asked.idle_seconds_max)
    return 0


def _listener(scenario: Scenario, folder: Path, *, port: int) -> Listener:
    clock = SystemClock()
    token = RandomNames().token()
    try:
        return Listener(
            scenario, port=port, token=token, clock=clock, journal=Journal(folder / REQUESTS_NAME, clock=clock)
        )
    except OSError:
        if port == 0:
            raise
        return _listener(scenario, folder, port=0)  # its old port is somebody else's now


def _serve(listener: Listener, folder: Path, scenario: str, *, idle_seconds_max: float) -> None:
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
    listener.serve(idle_seconds_max=idle_seconds_max, is_wanted=lambda: _is_named(folder, record))


def _is_named(folder: Path, record: ModelRecord) -> bool:
    """Tell whether the folder still names this model: one whose folder is gone serves nobody."""
    named = read_record(folder)
    return named is not None and named.token == record.token


def _refuse(fact: str) -> int:
    sys.stderr.write(f"{fact}\n")
    return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="teamster.rehearsal.server", description="a scripted model on loopback")
    parser.add_argument(
        "--folder", type=Path, required=True, help=f"holds {SCENARIO_NAME}, {RECORD_NAME} and {LOG_NAME}"
    )
    parser.add_argument("--port", type=int, default=0, help="the port to have if it is free; 0 takes any")
    parser.add_argument("--idle-seconds-max", type=float, default=IDLE_SECONDS_MAX, help="end when unasked for so long")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
