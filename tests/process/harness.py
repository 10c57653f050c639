"""A harness to be killed: it starts agents by a real host, says who they are, and waits for its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from contracts.host_contract import park, wait_until
from process.stage import LocalStage
from teamster.kit import FileLock
from teamster.model import ProcessIdentity, RunId
from teamster.process import Places, Trace, own_identity
from teamster.process.nursery import read_stat


class Harness:
    """Another process that runs agents; `scripts` holds a shell script for each, or None for one that can be told."""

    def __init__(self, folder: Path, scripts: dict[str, str | None], *, parked: int = 0) -> None:
        """Start it, and wait until its agents were told to run."""
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder), json.dumps(scripts), str(parked)],
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": "/usr/bin:/bin"},
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        facts = json.loads(self._output.readline())
        self.identity = ProcessIdentity.from_json(facts["harness"])
        self.nursery = ProcessIdentity.from_json(facts["nursery"])
        self.parked = [ProcessIdentity.from_json(shim) for shim in facts["parked"]]
        self.lock = folder / "harness.lock"
        self.traces = [
            Trace(
                run_id=RunId(name),
                nonce=run["nonce"],
                shim=ProcessIdentity.from_json(run["shim"]),
                places=Places(spool=folder / name, exit_record=folder / name / "exit.json"),
            )
            for name, run in facts["runs"].items()
        ]

    def stop(self) -> None:
        """Let it hang."""
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Kill it as the system would, and see it dead."""
        self._process.kill()
        self._process.wait()
        self._output.close()

    def __enter__(self) -> Self:
        """Have it for a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave nothing."""
        self.kill()


def main(folder: Path, scripts: dict[str, str | None], parked: int) -> None:
    """Be the harness."""
    stage = LocalStage(folder)
    lock = FileLock(folder / "harness.lock")
    runs = {}
    shims = park(stage.host, len(scripts) + parked)
    for (name, script), shim in zip(scripts.items(), shims, strict=False):
        order = stage.order(name) if script is None else stage.shell(script, name=name)
        stage.host.start(shim, order)
        runs[name] = {"nonce": order.nonce, "shim": shim.identity.to_json()}
    stat = read_stat(shims[0].identity.pid)
    assert stat is not None
    nursery = read_stat(stat[1])
    assert nursery is not None
    me = own_identity()
    facts = {
        "harness": me.to_json(),
        "nursery": ProcessIdentity(boot_id=me.boot_id, pid=stat[1], start_ticks=nursery[2]).to_json(),
        "parked": [shim.identity.to_json() for shim in shims[len(scripts) :]],
        "runs": runs,
    }
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
    wait_until(stage.host, lambda: False)
    lock.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
