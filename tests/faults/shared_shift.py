"""Work under a root on a shared database until all is settled, with a short lease and little patience: as a program.

usage: shared_shift.py ROOT [TABLE]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from faults.short_shift import look_away
from teamster.intake import read_table
from teamster.operations import Control, submit, work
from teamster.settings import settings_from
from teamster.wiring import Wiring, shared

TTL_SECONDS = 8.0  # a fifth of it is what agents have to end, and shims look once a second
SLOTS = 2


def main(root: Path, table: Path | None) -> int:
    """Submit a table where there is one, then work on whatever is there."""
    wiring = Wiring.of_this_process()
    settings = replace(
        settings_from(wiring.env),
        slots=SLOTS,
        shift_ttl_seconds=TTL_SECONDS,
        recover_seconds=0.2,
        store_connect_seconds=1.0,
        store_statement_seconds=1.0,
    )
    harness = wiring.harness(root, shared(settings))
    if table is not None:
        submit(harness, read_table(table, defaults=harness.defaults))
    worked = work(harness, batch_id=None, versions={}, control=Control(), watch=look_away)
    return 0 if worked.settled else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2:] else None))
