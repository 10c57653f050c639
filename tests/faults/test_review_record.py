"""An agent that ran to its end is not run again because the disk had no room for the sentence that says so."""

from __future__ import annotations

import signal
import sys
from collections import deque
from pathlib import Path

from faults.program import ENDS_SECONDS_MAX, Program, command_step, wait_until, write_table
from teamster.kit import SystemClock, is_locked
from teamster.model import Exited, ExitRecord, RunId
from teamster.process import Ended, Order, Places, open_host

IS_IN_THE_WAY = """
until [ -e go ]; do sleep 0.05; done
echo "$TEAMSTER_RUN_ID" >> seen; mkdir ${TEAMSTER_REPORT_FILE%/*/*}/exit.json
"""


def test_a_record_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    """The shim told a harness that died before it could commit: then the record is all that is left."""
    work = tmp_path / "work"
    work.mkdir()
    job = {"job_id": "only", "working_directory": str(work), "steps": [command_step("step", IS_IN_THE_WAY)]}
    program, table = Program(tmp_path / "root"), write_table(tmp_path / "table.json", [job])
    harness = program.start("run", str(table))
    wait_until(lambda: any(program.root.glob("spool/*/stdout")))
    lock = next(program.root.glob("spool/*/lock"))
    harness.send_signal(signal.SIGSTOP)  # it will hear the report and never commit it
    (work / "go").touch()
    wait_until(lambda: is_locked(lock) is False)
    harness.kill()
    harness.communicate(timeout=ENDS_SECONDS_MAX)
    next(program.root.glob("runs/*/*/steps/*/attempts/*/.teamster/exit.json")).rmdir()

    answer = program.call("run", str(table))

    assert (work / "seen").read_text(encoding="utf-8").split() == [answer["steps"][0]["run_id"]]
    assert answer["counts"]["succeeded"] == 1
    assert program.call("verify")["findings"] == []


def run_to_its_end(tmp_path: Path, *, log: Path) -> Ended:
    """Run one agent whose record can't be written, below a nursery that complains to `log`."""
    host = open_host(clock=SystemClock(), log=log)
    try:
        host.park(1)
        wait_until(lambda: bool(host.parked()))
        parked = host.parked()[0]
        (tmp_path / "spool").mkdir()
        places = Places(spool=tmp_path / "spool", exit_record=tmp_path / "no" / "where" / "at" / "exit.json")
        order = Order(
            run_id=RunId("run_0000000000000001"),
            nonce="0123456789abcdef",
            argv=(sys.executable, "-c", ""),
            env={},
            cwd=tmp_path,
            stdin=None,
            places=places,
            timeout_seconds=30.0,
            output_bytes_max=1 << 20,
        )
        host.start(parked, order)
        found: deque[Ended] = deque()

        def has_ended() -> bool:
            found.extend(host.ended(limit=1))
            return bool(found)

        wait_until(has_ended)
        return found[0]
    finally:
        host.close()


def test_a_shim_whose_complaint_finds_no_room_still_reports(tmp_path: Path) -> None:
    """The log lies on the same full disk: the shim died of it, and what ran to its end ran again."""
    ended = run_to_its_end(tmp_path, log=Path("/dev/full"))

    assert isinstance(ended.record, ExitRecord)
    assert ended.record.outcome == Exited(0)
