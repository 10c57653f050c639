"""Kill a worker of the store at a random moment, open the store again, check it against what was acknowledged; repeat.

usage: kill_store.py [COUNT] [--seed SEED] [--engine ENGINE]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from faults.histories import history_faults, read_logs, tally
from faults.openers import OPENERS, place_of
from faults.swarm import Swarm
from simulation.seen import look
from store.postgres_stage import private_server
from teamster.kit import SystemClock

KILLS_PER_STORE: Final = 12  # a small one is checked quickly, and its first moments are killed too
STARTS_SECONDS_MAX: Final = 0.01  # half of the kills come that early
TOLD_BYTES_MAX: Final = 12_000  # the other half after so much was acknowledged, however slow the machine is
LIVES_SECONDS_MAX: Final = 5.0
LOOK_SECONDS: Final = 0.001
WORKS_SECONDS: Final = 30.0
SHOW_EVERY: Final = 500


def kill_loop(
    folder: Path, *, engine: str, base: str, count: int, seed: int, show: Callable[[int], None] | None = None
) -> tuple[list[str], Counter[str]]:
    """Kill `count` times; return what was wrong at the first store with faults, and what the workers did."""
    random, happened = Random(seed), Counter[str]()  # noqa: S311 - moments, not secrets
    with Swarm(folder / "complaints") as swarm:
        for first in range(0, count, KILLS_PER_STORE):
            place = folder / str(first)
            place.mkdir()
            kills = min(KILLS_PER_STORE, count - first)
            database = place_of(engine, base, first)
            faults = _kill_on(place, swarm, engine=engine, database=database, kills=kills, random=random)
            happened += tally(read_logs(place))
            if show is not None:
                show(first + kills)
            if faults or swarm.complaints():
                return [*faults, swarm.complaints()], happened
    return [], happened


def _kill_on(place: Path, swarm: Swarm, *, engine: str, database: str, kills: int, random: Random) -> list[str]:
    dead: list[str] = []
    for number in range(kills):
        log = place / f"w{number}.log"
        pid = swarm.start(
            engine=engine,
            place=database,
            log=str(log),
            name=f"w{number}",
            seed=random.randrange(2**32),
            seconds=WORKS_SECONDS,
            dead=dead,
        )
        _wait_for_the_moment(log, random)
        swarm.kill(pid)
        told = read_logs(place)
        dead = [line["shift"] for line in told if line["what"] == "holds" and line["by"] == f"w{number}"][:1]
        if number % 2 or number == kills - 1:  # else the next worker is the one who finds what was left
            store = OPENERS[engine](database)
            seen = look(store, SystemClock().now())
            store.close()
            if faults := history_faults(seen, told):
                return [f"after kill {number} in {place}:", *faults]
    return []


def _wait_for_the_moment(log: Path, random: Random) -> None:
    pause = threading.Event()
    if random.random() < 0.5:
        pause.wait(random.uniform(0, STARTS_SECONDS_MAX))
        return
    told_bytes = random.uniform(0, TOLD_BYTES_MAX)
    for _ in range(int(LIVES_SECONDS_MAX / LOOK_SECONDS)):
        if log.exists() and log.stat().st_size >= told_bytes:
            return
        pause.wait(random.uniform(0, 2 * LOOK_SECONDS))


@contextmanager
def _base(engine: str, folder: str) -> Iterator[str]:
    """Give what stores are made in: a folder, or a database of a server that runs that long."""
    if engine != "postgres":
        yield folder
        return
    with private_server() as server:
        yield server.url()


def _show(killed: int) -> None:
    if killed % SHOW_EVERY < KILLS_PER_STORE:
        sys.stdout.write(f"{killed} kills\n")
        sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Kill as often as asked and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=OPENERS, default="sqlite")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, _base(options.engine, folder) as base:
        faults, happened = kill_loop(
            Path(folder),
            engine=options.engine,
            base=base,
            count=options.count,
            seed=options.seed,
            show=_show,
        )
    good = f"{options.count} kills, nothing lost, nothing twice: {dict(happened)}"
    sys.stdout.write("\n".join([*faults, ""]) if faults else f"{good}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
