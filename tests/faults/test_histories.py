"""Eight processes on one database, stopped past their leases and killed at random: the history is still one history."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from faults.histories import history_faults, read_logs, tally
from faults.swarm import Swarm
from faults.worker import OPENERS, TTL_SECONDS
from simulation.defects import FOUND_BY_HISTORIES
from simulation.seen import look
from teamster.kit import SystemClock

WORKERS = 8
SECONDS = 8.0
SECONDS_WITH_A_DEFECT = 2.4
TRIES_MAX = 4  # one is enough on an idle machine
STOPPED_SECONDS = TTL_SECONDS * 1.3
ROUND_SECONDS = 0.2
SEED = 4


def hammer(
    folder: Path, *, engine: str, place: str, seconds: float, defect: str = ""
) -> tuple[list[str], Counter[str]]:
    """Let a seeded nemesis at eight workers; return what is wrong afterwards, and what happened."""
    random, pause = Random(SEED), threading.Event()  # noqa: S311 - moments and victims, not secrets
    OPENERS[engine](place).close()
    crashed = []
    with Swarm(folder / "complaints") as swarm:

        def start(number: int, *, left: float = seconds) -> int:
            name = f"w{number}"
            return swarm.start(
                engine=engine,
                place=place,
                log=str(folder / f"{name}.log"),
                name=name,
                seed=SEED * 1000 + number,
                seconds=left,
                defect=defect,
            )

        pids, stopped, started = [start(number) for number in range(WORKERS)], dict[int, int](), WORKERS
        rounds = int(seconds / ROUND_SECONDS)
        for each in range(rounds):
            pause.wait(ROUND_SECONDS)
            for pid in [pid for pid, until in stopped.items() if until <= each or each == rounds - 1]:
                swarm.signal(pid, signal.SIGCONT)
                del stopped[pid]
            victim = random.randrange(WORKERS)
            if pids[victim] in stopped:
                continue
            if random.random() < 0.5:
                swarm.signal(pids[victim], signal.SIGSTOP)
                stopped[pids[victim]] = each + int(STOPPED_SECONDS / ROUND_SECONDS)
            else:
                crashed.append(swarm.kill(pids[victim]))
                pids[victim] = start(started, left=seconds - each * ROUND_SECONDS)
                started += 1
        for pid in stopped:
            swarm.signal(pid, signal.SIGCONT)
        crashed += [swarm.wait(pid) for pid in pids]
        complaints = swarm.complaints()
    told = read_logs(folder)
    store = OPENERS[engine](place)
    seen = look(store, SystemClock().now())
    store.close()
    faults = [f"a worker ended with {code}" for code in crashed if code not in {0, -signal.SIGKILL}]
    return [*faults, *([complaints] if complaints else []), *history_faults(seen, told)], tally(told)


@pytest.mark.req("DC-own", "DC-cas", "DC-claim", "DC-end", "DC-stall", "DC-lease")
def test_eight_processes_make_one_history(tmp_path: Path) -> None:
    """Whatever was acknowledged is there once, whoever held it was alone, whatever overslept was refused."""
    faults, happened = hammer(tmp_path, engine="sqlite", place=str(tmp_path / "teamster.db"), seconds=SECONDS)

    assert faults == []
    seldom = ("adopt", "lost", "complete", "heartbeat", "replayed", "zombies refused", "submitted")
    assert {name: happened[name] for name in seldom if not happened[name]} == {}, happened


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
