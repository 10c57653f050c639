"""What a resume base costs: milliseconds to seal and restore one, bytes that are kept, beside plain copies.

A real Codex takes one turn; its home, grown as homes grow, is copied with `cp -a` and its session is restored, in turn.
Bases of 0.1, 5 and 50 MB are made like its rollouts and restored beside a plain copy. `restore` is of a base that this
process has read and nobody wrote since, as with branches; `restore_first` of one that it never read. Blocks are shared
on an XFS in a file, which only root can mount. Rates stand for milliseconds, so that larger is better.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this program is run by its path

from bench.parts.figures import Figure, publish, read_options

from teamster.artifacts import Sealed, keep_session, restore, seal, session_files
from teamster.artifacts.witness import forget
from teamster.process import spawn_daemon
from teamster.rehearsal import start_model, stop_model

MEGABYTE: Final = 1_000_000
SIZES: Final = {"100kb": MEGABYTE // 10, "5mb": 5 * MEGABYTE, "50mb": 50 * MEGABYTE}
ROUNDS: Final = {"100kb": 40, "5mb": 15, "50mb": 7}
GROWN_BYTES_QUICK: Final = 40 * MEGABYTE
GROWN_BYTES_FULL: Final = 500 * MEGABYTE
XFS_BYTES: Final = 600 * MEGABYTE
TURN_SECONDS_MAX: Final = 60.0
MODEL_IDLE_SECONDS_MAX: Final = 120.0
RESTORE_TARGET: Final = 0.77  # at most 1.3 times as long
RESTORE_SHARED_TARGET: Final = 10.0  # at most a tenth as long
KEPT_TARGET: Final = 10.0  # at most a tenth of a home
SEED: Final = 7
THREAD: Final = "01a1f597-4370-79b2-a48a-000000000001"
ROLLOUT: Final = f"sessions/2026/01/14/rollout-2026-01-14T17-30-00-{THREAD}.jsonl"

Action = Callable[[Path], object]
Timed = tuple[Action, Callable[[], object]]


class NothingToMeasure(Exception):
    """Codex did not take its turn."""


def write_rollout(home: Path, size: int) -> None:
    """Write a session file of about `size` bytes: lines like those of Codex."""
    numbers = random.Random(SEED)  # noqa: S311 - the same bytes in each run
    place = home / ROLLOUT
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        while file.tell() < size:
            text = " ".join(f"{numbers.getrandbits(32):x}" for _ in range(200))
            line = {"type": "response_item", "payload": {"type": "message", "content": [{"text": text}]}}
            file.write(json.dumps(line).encode() + b"\n")


def grow(home: Path, size: int) -> None:
    """Grow a home as homes grow: databases and logs."""
    numbers = random.Random(SEED)  # noqa: S311 - as above
    for number in range(8):
        (home / f"logs_{number}.sqlite").write_bytes(numbers.randbytes(size // 8))


def seconds_of(action: Action, targets: Path, *, before: Callable[[], object] = lambda: None) -> float:
    """Time one action on a fresh target, which is removed again."""
    target = targets / "target"
    before()
    began = time.perf_counter()
    action(target)
    seconds = time.perf_counter() - began
    if target.exists():
        shutil.rmtree(target)
    return seconds


def by_turns(rounds: int, targets: Path, actions: Mapping[str, Timed]) -> dict[str, float]:
    """Time actions one after the other, so often, and return the median seconds of each."""
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, (action, before) in actions.items():
            found[name].append(seconds_of(action, targets, before=before))
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def nothing() -> None:
    """Do nothing before."""


def measure_bases(folder: Path, *, shares_blocks: bool) -> Iterator[Figure]:
    """Seal and restore bases of each size in a folder."""
    where, target = ("xfs_", RESTORE_SHARED_TARGET) if shares_blocks else ("", RESTORE_TARGET)
    for name, size in SIZES.items():
        home = folder / f"home-{name}"
        write_rollout(home, size)
        sealed = seal(home, [ROLLOUT])
        took = by_turns(ROUNDS[name], folder, base_actions(home, sealed))
        floor = 1 / took["plain"]
        yield Figure(name=f"{where}restore_{name}", value=1 / took["again"], unit="1/s", floor=floor, target=target)
        yield Figure(name=f"{where}restore_first_{name}", value=1 / took["first"], unit="1/s", floor=floor)
        yield Figure(name=f"{where}seal_{name}", value=1 / took["seal"], unit="1/s", floor=floor)


def base_actions(home: Path, sealed: Sealed) -> Mapping[str, Timed]:
    """Return what is done with a base, each with what comes before it."""
    return {
        "plain": (lambda to: copy_plainly(home, to), nothing),
        "again": (lambda to: restore(home, sealed, to), nothing),
        "first": (lambda to: restore(home, sealed, to), forget),
        "seal": (lambda _: seal(home, [ROLLOUT]), forget),
    }


def copy_plainly(source: Path, target: Path) -> None:
    """Copy a folder without sharing blocks and without looking at what is copied."""
    for path in source.rglob("*"):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True)
        else:
            shutil.copyfile(path, place)


def measure_home(folder: Path, *, grown_bytes: int) -> Iterator[Figure]:
    """Compare what is kept of a home with all of it: after one turn, and grown."""
    home = folder / "codex-home"
    take_turn(home, folder)
    whole = bytes_in(home)
    kept = folder / "kept"
    shutil.copytree(home, kept, symlinks=True)
    names = [name for name in session_files(kept) if name.startswith("sessions/")]
    keep_session(kept, names)
    sealed = seal(kept, names)
    closure = bytes_in(kept)
    yield Figure(name="home_bytes", value=whole, unit="B", floor=closure, target=KEPT_TARGET)
    grow(home, grown_bytes)
    rounds = ROUNDS["50mb"]
    actions: Mapping[str, Timed] = {
        "whole": (lambda to: subprocess.run(["cp", "-a", home, to], check=True), nothing),
        "closure": (lambda to: restore(kept, sealed, to), nothing),
    }
    took = by_turns(rounds, folder, actions)
    yield Figure(name="home_grown_bytes", value=bytes_in(home), unit="B", floor=closure)
    yield Figure(name="restore_beside_home", value=1 / took["closure"], unit="1/s", floor=1 / took["whole"])


def take_turn(home: Path, folder: Path) -> None:
    """Let a real Codex take one turn in a home, its databases in it, as it likes it.

    Raises:
        NothingToMeasure: it did not.
    """
    from codex_cli_bin import bundled_codex_path  # noqa: PLC0415 # heavy, and needed here alone

    home.mkdir()
    (folder / "work").mkdir()
    model = start_model(
        folder=folder / "model", scenario=None, spawn=spawn_daemon, idle_seconds_max=MODEL_IDLE_SECONDS_MAX
    )
    env = {"HOME": str(folder), "PATH": os.environ["PATH"], "CODEX_HOME": str(home), model.key_variable: model.key}
    argv = [str(bundled_codex_path()), "exec", "--skip-git-repo-check", *model.codex_arguments(), "Go."]
    done = subprocess.run(
        argv,
        cwd=folder / "work",
        env=dict(model.agent_env(env)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TURN_SECONDS_MAX,
        check=False,
    )
    stop_model(folder / "model")
    if done.returncode != 0:
        raise NothingToMeasure(f"Codex ended with {done.returncode}: {done.stderr.decode()[-500:]}")


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@contextmanager
def xfs(folder: Path) -> Iterator[Path | None]:
    """Mount an XFS that lies in a file; None where that can't be done."""
    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        print("bench/sessions.py: no XFS: that takes root and xfsprogs", file=sys.stderr)
        yield None
        return
    image, place = folder / "xfs.image", folder / "xfs"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(XFS_BYTES)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, check=False)
    if mounted.returncode != 0:
        print(f"bench/sessions.py: no XFS: {mounted.stderr.decode().strip()}", file=sys.stderr)
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return the exit code: 1 where there is nothing to measure."""
    options = read_options((__doc__ or "").partition("\n")[0], arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="sessions-") as name:
        folder = Path(name)
        try:
            found = [*measure_bases(folder, shares_blocks=False)]
            found += measure_home(folder, grown_bytes=GROWN_BYTES_QUICK if options.quick else GROWN_BYTES_FULL)
            with xfs(folder) as place:
                found += [] if place is None else measure_bases(place, shares_blocks=True)
        except NothingToMeasure as error:
            print(f"bench/sessions.py: {error}", file=sys.stderr)
            return 1
    publish("sessions", found, options=options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
