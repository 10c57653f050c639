"""The entry point: asks wiring for what a command needs, and hands it to the command line."""

from __future__ import annotations

import gc
import os
import sys

INTERRUPTED = 130
COLLECT_AFTER = 50_000  # objects; at the usual 700 the collector looks again and again at all that was just imported
STANDARD_ERROR = 2


def open_standard_streams() -> None:
    """Fill 0, 1 and 2 where a caller closed them: a database that got one of these numbers would be written over."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > STANDARD_ERROR:
            os.close(descriptor)
            return


def main() -> int:
    """Run one command and return its exit code."""
    open_standard_streams()
    gc.set_threshold(COLLECT_AFTER)
    try:
        from teamster.cli import run  # noqa: PLC0415 # whoever is impatient while rooms are imported gets no traceback
        from teamster.wiring import Wiring, refuse_unchecked  # noqa: PLC0415 # as above

        refuse_unchecked()
        return run(Wiring.of_this_process, sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
