"""Eight processes on one database, stopped past their leases and killed at random: the history is still one history."""

from __future__ import annotations

import itertools
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from faults.histories import history_faults, read_logs, tally
from faults.openers import OPENERS, place_of
from faults.swarm import Swarm
from faults.worker import TTL_SECONDS
from simulation.defects import FOUND_BY_HISTORIES
from simulation.seen import look
from store.postgres_stage import private_server
from teamster.kit import SystemClock

WORKERS = 8
SECONDS = 8.0
SECONDS_WITH_A_DEFECT = 3.0
SECONDS_MAX = 60.0  # a machine that has other things to do gets more, until something of everything has happened
TRIES_MAX = 6  # one is enough on an idle machine
STOPPED_SECONDS = TTL_SECONDS * 1.3
ROUND_SECONDS = 0.2
SEED = 4
SELDOM = ("adopt", "lost", "complete", "heartbeat", "replayed", "zombies refused", "submitted")


class Nemesis:
    """Stops workers past their leases and kills them, by a seed; whoever is killed gets a successor."""

    def __init__(self, swarm: Swarm, **asked: Any) -> None:
        self._swarm, self._asked, self._random = swarm, asked, Random(SEED)  # noqa: S311 - victims, not secrets
        self._started = itertools.count()
        self._stopped: dict[int, int] = {}
        self.codes: list[int] = []
        self.pids = [self._start() for _ in range(WORKERS)]

    def _start(self) -> int:
        number = next(self._started)
        log = Path(self._asked["folder"]) / f"w{number}.log"
        asked = {name: value for name, value in self._asked.items() if name != "folder"}
        return self._swarm.start(
            **asked, log=str(log), name=f"w{number}", seed=SEED * 1000 + number, seconds=SECONDS_MAX
        )

    def play(self, each: int) -> None:
        """Let those go on that were stopped long enough, and turn to another one."""
        for pid in [pid for pid, until in self._stopped.items() if until <= each]:
            self._go_on(pid)
        victim = self._random.randrange(WORKERS)
        pid = self.pids[victim]
        if pid in self._stopped:
            return
        if self._random.random() < 0.5:
            self._swarm.signal(pid, signal.SIGSTOP)
            self._stopped[pid] = each + int(STOPPED_SECONDS / ROUND_SECONDS)
        else:
            self.codes.append(self._swarm.kill(pid))
            self.pids[victim] = self._start()

    def end(self) -> None:
        """Let all come to their end."""
        for pid in [*self._stopped]:
            self._go_on(pid)
        for pid in self.pids:
            self._swarm.signal(pid, signal.SIGTERM)
        self.codes += [self._swarm.wait(pid) for pid in self.pids]

    def _go_on(self, pid: int) -> None:
        del self._stopped[pid]
        self._swarm.signal(pid, signal.SIGCONT)


def hammer(
    folder: Path, *, engine: str, place: str, seconds: float, defect: str = ""
) -> tuple[list[str], Counter[str]]:
    """Let a nemesis at eight workers; return what is wrong afterwards, and what happened."""
    OPENERS[engine](place).close()
    pause = threading.Event()
    with Swarm(folder / "complaints") as swarm:
        nemesis = Nemesis(swarm, engine=engine, place=place, folder=str(folder), defect=defect)
        for each in range(int(SECONDS_MAX / ROUND_SECONDS)):
            pause.wait(ROUND_SECONDS)
            nemesis.play(each)
            if (each + 1) * ROUND_SECONDS >= seconds and (defect or _has_happened(folder)):
                break
        nemesis.end()
        complaints = swarm.complaints()
    told = read_logs(folder)
    store = OPENERS[engine](place)
    seen = look(store, SystemClock().now())
    store.close()
    faults = [f"a worker ended with {code}" for code in nemesis.codes if code not in {0, -signal.SIGKILL}]
    return [*faults, *([complaints] if complaints else []), *history_faults(seen, told)], tally(told)


def _has_happened(folder: Path) -> bool:
    happened = tally(read_logs(folder))
    return all(happened[name] for name in SELDOM)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return where an empty store of the engine lies."""
    if request.param != "postgres":
        yield place_of(request.param, str(tmp_path), 0)
        return
    with private_server() as server:
        yield place_of(request.param, server.url(), 0)


@pytest.mark.req("DC-own", "DC-cas", "DC-claim", "DC-end", "DC-stall", "DC-lease")
@pytest.mark.parametrize(("engine", "place"), [(name, name) for name in OPENERS], indirect=["place"], ids=OPENERS)
def test_eight_processes_make_one_history(tmp_path: Path, engine: str, place: str) -> None:
    """Whatever was acknowledged is there once, whoever held it was alone, whatever overslept was refused."""
    faults, happened = hammer(tmp_path, engine=engine, place=place, seconds=SECONDS)

    assert faults == []
    assert {name: happened[name] for name in SELDOM if not happened[name]} == {}, happened


@pytest.mark.parametrize("defect", FOUND_BY_HISTORIES)
def test_a_planted_defect_shows_in_the_history(tmp_path: Path, defect: str) -> None:
    """A checker that can't fail proves nothing."""
    found = []
    for number in range(TRIES_MAX):
        folder = tmp_path / str(number)
        folder.mkdir()
        place = str(folder / "teamster.db")
        faults, _ = hammer(folder, engine="sqlite", place=place, seconds=SECONDS_WITH_A_DEFECT, defect=defect)
        found += faults
        if found:
            break

    assert found != []
