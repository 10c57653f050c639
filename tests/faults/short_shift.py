"""Run a table with a lease of one second: as a program, since tests stop and kill it.

usage: short_shift.py TABLE ROOT
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from teamster.intake import read_table
from teamster.operations import Control, submit, work
from teamster.settings import Settings
from teamster.wiring import Wiring

TTL_SECONDS = 1.0


def look_away(happened: object, store: object) -> None:
    """Let the ticks happen."""
    del happened, store


def main(table: Path, root: Path) -> int:
    """Work until the batch is settled."""
    wiring = Wiring.of_this_process()
    settings = replace(Settings(agent_env=wiring.env), shift_ttl_seconds=TTL_SECONDS)
    harness = wiring.harness(root, settings)
    submitted = submit(harness, read_table(table, defaults=harness.defaults))
    worked = work(harness, batch_id=submitted.batch_id, versions={}, control=Control(), watch=look_away)
    return 0 if worked.settled else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
