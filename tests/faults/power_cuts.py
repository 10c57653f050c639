"""Cut the power of a disk at random moments, and check what a mount of it finds: nothing acknowledged is lost.

The disk is an ext4 file system in a file that lies, as on a disk with a cache of its own, in another one: what was
written and not flushed is in the page cache of the outer file system, and a cut takes it. The outer image, copied while
nothing is on its way to it, is what a power cut leaves. Root only; mounts are this process's own, by `unshare`.

usage: unshare --mount python power_cuts.py [COUNT] [--seed SEED]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from faults.histories import Line, history_faults, read_logs, tally
from faults.swarm import Swarm
from faults.writer import CANARIES, CANARY_DATABASE, DATABASE
from simulation.seen import look
from teamster.artifacts import Outbox, open_root
from teamster.kit import RandomNames, SystemClock, sha256
from teamster.store import open_sqlite
from teamster.store.connection import Database

CUTS_PER_DISK: Final = 5
INNER_BYTES: Final = 40 * 1024 * 1024
OUTER_BYTES: Final = 64 * 1024 * 1024
TOLD_BYTES_MAX: Final = 15_000  # acknowledged between two cuts
LIVES_SECONDS_MAX: Final = 5.0
STOPS_SECONDS_MAX: Final = 10.0
WORKS_SECONDS: Final = 600.0
LOOK_SECONDS: Final = 0.001
COMMAND_SECONDS_MAX: Final = 60.0
ROWS_MAX: Final = 100_000
MEND_CODES: Final = frozenset({0, 1})  # of e2fsck: well, or put right from the journal
INNER: Final = "disk.img"
DISKS: Final = Path("/dev/shm")  # noqa: S108 - where images lie best: the host's own disk adds nothing but time
CANARY_KINDS: Final = ("lost files that were renamed without a flush", "lost commits that were not flushed")


def call(*command: str | Path, codes: frozenset[int] = frozenset({0})) -> None:
    """Run a program of the system."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr or done.stdout}")


def make_disk(image: Path, mounts: Path) -> None:
    """Make a disk with its cache: a file system in a file, in a file system in a file."""
    with image.open("wb") as file:
        file.truncate(OUTER_BYTES)
    call("mkfs.ext4", "-q", "-F", image)
    with mounted(image, mounts / "made") as outer:
        inner = outer / INNER
        inner.write_bytes(bytes(INNER_BYTES))  # all its blocks are there: a write to them moves no metadata
        call("mkfs.ext4", "-q", "-F", "-E", "nodiscard", inner)


@contextmanager
def mounted(image: Path, point: Path) -> Iterator[Path]:
    """Mount an image; its loop device goes with the mount."""
    point.mkdir(exist_ok=True)
    call("mount", "-o", "loop,noatime", image, point)
    try:
        yield point
    finally:
        call("umount", point)


def device_of(point: Path) -> Path:
    """Return the folder of a mount's block device in sysfs."""
    number = point.stat().st_dev
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")


def cut(pid: int, outer: Path, image: Path, copy: Path) -> None:
    """Stop the writer and copy the image while nothing is on its way to it."""
    os.kill(pid, signal.SIGSTOP)
    device, pause = device_of(outer), threading.Event()
    for _ in range(int(STOPS_SECONDS_MAX / LOOK_SECONDS)):
        before = (device / "stat").read_text().split()
        if _is_stopped(pid) and (device / "inflight").read_text().split() == ["0", "0"]:
            shutil.copy(image, copy)
            if (device / "stat").read_text().split() == before:
                return
        pause.wait(LOOK_SECONDS)
    raise RuntimeError(f"the disk of {outer} never stood still")


def _is_stopped(pid: int) -> bool:
    tasks = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(")")[2].split()[0] in {"T", "t"} for task in tasks)


def faults_after(copy: Path, mounts: Path, told: Sequence[Line], lost: Counter[str]) -> list[str]:
    """Start again from a copy: mend the file systems as a boot does, look, play the outbox, look at the files."""
    with mounted(copy, mounts / "outer-after") as outer:
        call("e2fsck", "-p", outer / INNER, codes=MEND_CODES)
        with mounted(outer / INNER, mounts / "inner-after") as inner:
            place = inner / "root"
            if not any(line["what"] == "holds" for line in told):
                return []  # nothing was acknowledged yet
            root = open_root(place, names=RandomNames(), clock=SystemClock())
            store = open_sqlite(place / DATABASE)
            with contextlib.closing(store):
                faults = history_faults(look(store, SystemClock().now()), told)
                promised = {row.seq: (row.path, sha256(row.content)) for row in store.outbox(limit=ROWS_MAX)}
                lost["outbox rows played again"] += len(promised)
                with Outbox(root) as outbox:
                    outbox.write(store.outbox(limit=ROWS_MAX), inherited=True)
                    store.delivered(outbox.settle())
                faults += _file_faults(place, told, promised) + _wholeness_faults(place / DATABASE)
            _count_canaries(place, told, lost)
            return faults


def _file_faults(place: Path, told: Sequence[Line], promised: dict[int, tuple[str, str]]) -> list[str]:
    """Name promised files that are missing, or not what was promised last."""
    promised |= {row[0]: (row[1], row[2]) for line in told for row in line.get("rows", ())}
    newest = {promised[seq][0]: promised[seq][1] for seq in sorted(promised)}
    found = {path: _digest(place / path) for path in newest}
    return [f"{path} is {found[path]}, promised was {due}" for path, due in newest.items() if found[path] != due]


def _digest(path: Path) -> str | None:
    return sha256(path.read_bytes()) if path.is_file() else None


def _wholeness_faults(path: Path) -> list[str]:
    with contextlib.closing(Database(path)) as database:
        return [str(row) for row in database.rows("PRAGMA integrity_check") if row != ("ok",)]


def _count_canaries(place: Path, told: Sequence[Line], lost: Counter[str]) -> None:
    """Count what the cut took of what nobody had flushed."""
    for name in [line["name"] for line in told if line["what"] == "careless file"]:
        path = place / CANARIES / name
        lost[CANARY_KINDS[0]] += not path.is_file() or path.read_text(encoding="utf-8") != name
    with contextlib.closing(open_sqlite(place / CANARY_DATABASE)) as canary:
        there = {batch.batch_id for batch in canary.batches()}
    lost[CANARY_KINDS[1]] += sum(line["name"] not in there for line in told if line["what"] == "careless commit")


def cut_often(folder: Path, *, count: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Cut `count` times; return what was wrong after the first bad one, what workers did and what canaries lost."""
    random, happened, disk = Random(seed), Counter[str](), folder / "disk"  # noqa: S311 - moments, not secrets
    make_disk(folder / "template", folder)
    with Swarm(folder / "complaints") as swarm:
        for first in range(0, count, CUTS_PER_DISK):
            shutil.copy(folder / "template", disk)
            log = folder / f"{first}.told"
            log.mkdir()
            with mounted(disk, folder / "outer") as outer, mounted(outer / INNER, folder / "inner") as inner:
                pid = swarm.start(
                    kind="writer",
                    place=str(inner / "root"),
                    log=str(log / "writer.log"),
                    name="writer",
                    seed=random.randrange(2**32),
                    seconds=WORKS_SECONDS,
                )
                try:
                    cuts = range(min(CUTS_PER_DISK, count - first))
                    faults = [fault for _ in cuts for fault in _cut_once(pid, outer, folder, log, random, happened)]
                finally:
                    swarm.kill(pid)
            happened += tally(read_logs(log))
            if faults or swarm.complaints():
                return [*faults, swarm.complaints()], happened
    return [], happened


def _cut_once(pid: int, outer: Path, folder: Path, log: Path, random: Random, happened: Counter[str]) -> list[str]:
    _wait_for_the_moment(log / "writer.log", random)
    cut(pid, outer, folder / "disk", folder / "after")
    try:
        return faults_after(folder / "after", folder, read_logs(log), happened)
    finally:
        os.kill(pid, signal.SIGCONT)


def _wait_for_the_moment(log: Path, random: Random) -> None:
    """Wait until the writer was told a random amount more, however slow the machine is."""

    def size() -> int:
        return log.stat().st_size if log.exists() else 0

    until, pause = size() + random.uniform(0, TOLD_BYTES_MAX), threading.Event()
    for _ in range(int(LIVES_SECONDS_MAX / LOOK_SECONDS)):
        pause.wait(LOOK_SECONDS)
        if size() >= until:
            return


def main(arguments: list[str]) -> int:
    """Cut as often as asked and say how it went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=DISKS if DISKS.is_dir() else None) as folder:
        faults, happened = cut_often(Path(folder), count=options.count, seed=options.seed)
    faults += [f"{canary}: none was lost, this rig cuts nothing" for canary in CANARY_KINDS if not happened[canary]]
    good = f"{options.count} cuts, nothing acknowledged was lost: {dict(happened)}"
    sys.stdout.write("\n".join([*faults, ""]) if faults else f"{good}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
