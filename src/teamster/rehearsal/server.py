"""The scripted model as a program: `python -m teamster.rehearsal.server --folder FOLDER`.

It plays the folder's scenario on loopback, writes the folder's record when it listens, and ends by SIGTERM, by a
request with its token, or when nobody asked anything for a while. Nothing ties it to the process that started it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from teamster.model import TableProblems
from teamster.rehearsal.listening import Listener
from teamster.rehearsal.reading import load_scenario
from teamster.rehearsal.record import IDLE_SECONDS_MAX, LOG_NAME, RECORD_NAME, SCENARIO_NAME
from teamster.rehearsal.scenario import Scenario
from teamster.rehearsal.serving import listener_of, serve

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
    serve(listener, folder, text, idle_seconds_max=asked.idle_seconds_max)
    return 0


def _listener(scenario: Scenario, folder: Path, *, port: int) -> Listener:
    try:
        return listener_of(scenario, folder, port=port)
    except OSError:
        if port == 0:
            raise
        return listener_of(scenario, folder, port=0)  # its old port is somebody else's now


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
