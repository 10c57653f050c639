"""The same on real processes, a real database and the real clock: a killed harness, a killed shim."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.parts import step
from runner.scene import Harness, Scene
from teamster.artifacts import AttemptFile
from teamster.kit import RandomNames, SystemClock
from teamster.model import AgentChoice, AttemptStatus, ItemStatus, ProcessIdentity
from teamster.process import LocalHost, LocalLiveliness, is_alive
from teamster.store import open_sqlite

DEADLINE_SECONDS = 20.0
LOOK_SECONDS = 0.02
S = ItemStatus
# It counts itself, says who it is, waits to be told, and reports.
AGENT = (
    'echo $$ >> {folder}/pids; echo "{{\\"type\\": \\"up\\"}}"; read word < {folder}/fifo; '
    'echo "{{\\"schema_version\\": \\"1.0.0\\", \\"status\\": \\"ok\\", \\"summary\\": \\"$word\\", '
    '\\"files_read\\": [], \\"files_written\\": [], \\"artifacts\\": []}}"'
)


class RealScene(Scene):
    """One step on real processes."""

    def __init__(self, folder: Path) -> None:
        names = RandomNames()
        super().__init__(
            folder,
            clock=SystemClock(),
            names=names,
            open_store=lambda: open_sqlite(folder / "queue.sqlite", names=names),
        )
        self.pids, self.fifo = folder / "pids", folder / "fifo"
        os.mkfifo(self.fifo)
        self._held = os.open(self.fifo, os.O_RDWR | os.O_CLOEXEC)
        script = AGENT.format(folder=folder)
        self.submit(step(agent=AgentChoice(agent="command", command=("/bin/sh", "-c", script))))

    def start(self) -> Harness:
        """Start a harness with a nursery of its own."""
        host = LocalHost(clock=self.read_clock, log=self.folder / "log")
        return self.harness(host=host, liveliness=LocalLiveliness())

    def kill(self, harness: Harness) -> None:
        """Take a harness away: its pipes close, its lock is free."""
        harness.die()
        harness.host.close()

    def until(self, is_met: Callable[[], object], *harnesses: Harness) -> None:
        """Let harnesses work until a condition is met."""
        give_up_at = time.monotonic() + DEADLINE_SECONDS
        while not is_met():
            assert time.monotonic() < give_up_at, "not met in time"
            for harness in harnesses:
                harness.tick()
                self.schedule()
                harness.host.wait(timeout_seconds=LOOK_SECONDS)
            if not harnesses:
                time.sleep(LOOK_SECONDS)

    def ran(self) -> int:
        """Count how often the agent ran."""
        return len(self.pids.read_text().splitlines()) if self.pids.exists() else 0

    def tell(self) -> None:
        """Tell one agent to go on."""
        os.write(self._held, b"done\n")

    def close(self) -> None:
        """Leave nothing."""
        for harness in self.harnesses:
            harness.runner.stop_all()
        super().close()
        os.close(self._held)


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealScene]:
    """Give a scene with real processes."""
    scene = RealScene(tmp_path)
    yield scene
    scene.close()


def test_an_agent_outlives_its_harness_and_is_finished_by_the_next(real: RealScene) -> None:
    """The upgrade of a harness costs its agents nothing."""
    first = real.start()
    real.until(lambda: real.ran() == 1, first)
    real.kill(first)

    second = real.start()
    real.until(lambda: second.runner.carried, second)
    real.tell()
    real.until(lambda: real.item().is_final, second)

    [attempt] = real.attempts()
    assert attempt.status is AttemptStatus.SUCCEEDED
    assert real.json(attempt, AttemptFile.FINAL)["summary"] == "done"
    assert len(real.path(attempt, AttemptFile.EVENTS).read_text().splitlines()) == 2
    assert (real.ran(), real.item().attempts_consumed) == (1, 1)
    second.delivery.settle()
    assert real.faults() == []


def test_an_agent_that_ended_while_nobody_was_up_is_finished_from_its_record(real: RealScene) -> None:
    """Its result was paid for: nothing runs again."""
    first = real.start()
    real.until(lambda: real.ran() == 1, first)
    real.kill(first)
    real.tell()
    [attempt] = real.attempts()
    real.until(real.path(attempt, AttemptFile.EXIT).exists)

    second = real.start()
    real.until(lambda: real.item().is_final, second)

    assert real.item().status is S.SUCCEEDED
    assert real.ran() == 1
    assert real.faults() == []


@pytest.mark.req("DC-stall")
def test_the_tree_of_a_killed_shim_is_ended_before_its_item_is_claimed_again(real: RealScene) -> None:
    """Two agents of one step at a time would undo each other's work."""
    first = real.start()
    real.until(lambda: real.ran() == 1, first)
    [lost] = real.attempts()
    agent = int(real.pids.read_text())
    real.kill(first)
    os.kill(lost.facts["shim"]["pid"], signal.SIGKILL)
    real.until(lambda: not is_alive(ProcessIdentity.from_json(lost.facts["shim"])))

    second = real.start()
    real.until(lambda: real.ran() == 2, second)

    assert not Path(f"/proc/{agent}").exists()
    real.tell()
    real.until(lambda: real.item().is_final, second)
    assert [attempt.status for attempt in real.attempts()] == [AttemptStatus.FAILED, AttemptStatus.SUCCEEDED]
    assert real.json(lost, AttemptFile.STATE)["failure_class"] == "lost"
    item = real.item()
    assert (item.attempts_consumed, item.status) == (1, S.SUCCEEDED)
    second.delivery.settle()
    assert real.faults() == []
