"""Measure the queue: enqueue, claim, start and complete, beside the bare commits of the same engine on the same disk.

Each rate stands beside the floor of this run: how many commits of one small row the engine makes per second, flushed
as the store flushes them. Latencies and the cost of finished items are measured on one connection.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import quantiles
from typing import Final

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # this program is run by its path

from bench.parts.figures import Figure, publish, read_options

from teamster.kit import RandomNames, SystemClock
from teamster.model import (
    Attempt,
    AttemptStatus,
    BatchId,
    FileClass,
    FileDraft,
    ItemId,
    JobId,
    RequestId,
    RunId,
    RunnerId,
    Shift,
    ShiftId,
    StepId,
    StepKey,
)
from teamster.store import (
    BatchDraft,
    Begin,
    Claimed,
    Complete,
    Guard,
    ItemDraft,
    Store,
    open_sqlite,
)

BATCHED_ENQUEUE_TARGET: Final = 20.0  # items per bare commit
CYCLE_TARGET: Final = 0.25
BATCHED_CYCLE_TARGET: Final = 5.0
FULL_STORE_TARGET: Final = 1 / 1.3  # a claim with many finished items costs at most 1.3 times one with few
ITEMS_PER_COMMIT_MAX: Final = 12  # more are not laid ready
BATCH_ITEMS: Final = 100  # of one claim and one completion, where they are batched
FILL_ITEMS: Final = 500
FEW: Final = 1_000
TTL_SECONDS: Final = 3600.0
WORKERS: Final = (1, 2, 8)
RUNNING: Final = 1_000
WAITS_SECONDS_MAX: Final = 120.0
CONTENT: Final = b'{"status": "running"}' * 10  # what a small state file weighs

clock = SystemClock()
names = RandomNames()
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured."""

    at_once: int
    one_by_one: int
    present: tuple[int, ...]
    seconds: float
    claims: int


QUICK: Final = Size(at_once=10_000, one_by_one=500, present=(FEW, 10_000), seconds=0.7, claims=300)
FULL: Final = Size(at_once=10_000, one_by_one=10_000, present=(FEW, 10_000, 100_000), seconds=4.0, claims=2_000)


def fresh(kind: str) -> str:
    """Return a name that no other process uses."""
    return f"{kind}-{os.getpid()}-{next(_numbers)}"


def item_drafts(batch_id: str, count: int) -> tuple[ItemDraft, ...]:
    """Draft the items of a batch, each a job of its own."""
    return tuple(
        ItemDraft(
            item_id=ItemId(f"{batch_id}-{number}"),
            dedupe_key=f"{batch_id}/{number}",
            step=StepKey(BatchId(batch_id), JobId(f"job{number}"), StepId("step")),
            generation=1,
            target={"plan_id": "bench", "workflow_command": "code"},
            spec={"prompt": "Do it."},
        )
        for number in range(count)
    )


def submit(store: Store, count: int) -> float:
    """Submit a batch and return how many seconds that took."""
    batch_id = fresh("batch")
    batch = BatchDraft(batch_id=BatchId(batch_id), concurrency=None, meta={}, items=item_drafts(batch_id, count))
    began = time.monotonic()
    store.submit(batch, at=clock.now())
    return time.monotonic() - began


def begin_shift(store: Store) -> ShiftId:
    """Begin a shift that outlasts the measurement."""
    now = clock.now()
    end = now.after(TTL_SECONDS)
    shift_id = ShiftId(fresh("shift"))
    store.begin_shift(
        Shift(
            shift_id=shift_id,
            runner_id=RunnerId("bench"),
            runtime="teamster",
            host_id="host",
            root_id="root",
            boot_id=now.boot_id,
            pid=os.getpid(),
            start_ticks=0,
            ttl_seconds=TTL_SECONDS,
            began_at=now.wall,
            renewed_at=now.wall,
            expires_at=end.wall,
            expires_boot_seconds=end.boot_seconds,
            ended_at=None,
        )
    )
    return shift_id


def begin(claimed: Claimed, place: int) -> Begin:
    """Draft a start with the two files that each attempt has."""
    del place
    attempt = attempt_of(claimed, AttemptStatus.RUNNING)
    files = tuple(file_of(attempt, name) for name in ("meta.json", "state.json"))
    return Begin(request_id=RequestId(fresh("request")), attempt=attempt, files=files)


def attempt_of(claimed: Claimed, status: AttemptStatus) -> Attempt:
    """Return the attempt of an item."""
    item, now = claimed.item, clock.now().wall
    assert item.step is not None
    run_id = RunId(f"run-{item.item_id}")
    return Attempt(
        run_id=run_id,
        item_id=item.item_id,
        step=item.step,
        number=item.attempt,
        directory=f"runs/{run_id}",
        status=status,
        started_at=now,
        ended_at=None if status is AttemptStatus.RUNNING else now,
        facts={},
    )


def file_of(attempt: Attempt, name: str) -> FileDraft:
    """Draft a file of an attempt."""
    return FileDraft(path=f"{attempt.directory}/{name}", file_class=FileClass.SNAPSHOT, content=CONTENT)


def complete(claimed: Claimed) -> Complete:
    """Draft an end with its two files."""
    item, attempt = claimed.item, attempt_of(claimed, AttemptStatus.SUCCEEDED)
    assert item.claim_token is not None
    return Complete(
        guard=Guard(
            item_id=item.item_id,
            claim_token=item.claim_token,
            rev=item.rev,
            request_id=RequestId(fresh("request")),
        ),
        result={"ok": True},
        attempt=attempt,
        files=(file_of(attempt, "final.json"), file_of(attempt, "state.json")),
    )


def cycle(store: Store, shift_id: ShiftId, *, limit: int) -> int:
    """Claim and start some items with one commit, complete them with another; return how many there were."""
    taken = store.claim(shift_id, limit=limit, at=clock.now(), begin=begin)
    rows = [row.seq for _, promised in taken for row in promised]
    answers = store.apply([complete(claimed) for claimed, _ in taken], at=clock.now(), delivered=rows)
    assert all(answer.refusal is None for answer in answers)
    return len(taken)


def fill(store: Store, shift_id: ShiftId, count: int) -> None:
    """Finish many items, and deliver what they promised."""
    submit(store, count)
    while count > 0:
        count -= cycle(store, shift_id, limit=min(FILL_ITEMS, count))
        store.delivered([row.seq for row in store.outbox(limit=10 * FILL_ITEMS)])


def measure_floor(folder: Path, seconds: float) -> float:
    """Return how many commits of one small row the engine makes per second, flushed like ours."""
    with contextlib.closing(apsw.Connection(str(folder / f"{fresh('floor')}.db"))) as connection:
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("CREATE TABLE commits (number INTEGER PRIMARY KEY, text TEXT)")
        began, count = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO commits (text) VALUES ('small')")
            connection.execute("COMMIT")
            count += 1
        return count / (time.monotonic() - began)


def work(path: Path, limit: int, ready: Barrier, rates: SimpleQueue[float], seconds: float) -> None:
    """Run cycles in a process of its own and tell how many items per second they were."""
    with contextlib.closing(open_sqlite(path, names=names)) as store:
        shift_id, count = begin_shift(store), 0
        ready.wait(WAITS_SECONDS_MAX)
        began = time.monotonic()
        while time.monotonic() - began < seconds and (done := cycle(store, shift_id, limit=limit)):
            count += done
        rates.put(count / (time.monotonic() - began))


def measure_workers(path: Path, *, workers: int, limit: int, seconds: float) -> float:
    """Return how many items per second so many processes take from claim to done.

    They come from a server that never had a database open: a fork would take the locks of ours for its own.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["teamster.store"])
    ready, rates = context.Barrier(workers), context.SimpleQueue()
    processes = [context.Process(target=work, args=(path, limit, ready, rates, seconds)) for _ in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(WAITS_SECONDS_MAX)
        if process.exitcode != 0:
            raise RuntimeError(f"a worker ended with {process.exitcode}")
    return float(sum(rates.get() for _ in processes))


def measure_claims(store: Store, shift_id: ShiftId, count: int) -> list[float]:
    """Return how many seconds each of some claims of one item took; what was claimed is completed in between."""
    submit(store, count)
    seconds = []
    for _ in range(count):
        began = time.monotonic()
        ((claimed, rows),) = store.claim(shift_id, limit=1, at=clock.now(), begin=begin)
        seconds.append(time.monotonic() - began)
        store.apply([complete(claimed)], at=clock.now(), delivered=[row.seq for row in rows])
    store.delivered([row.seq for row in store.outbox(limit=10 * count)])
    return seconds


def measure_enqueue(store: Store, size: Size, floor: float) -> Iterator[Figure]:
    """Measure how items come in."""
    rate = size.at_once / submit(store, size.at_once)
    yield Figure(name="enqueue_at_once_per_second", value=rate, unit="1/s", floor=floor, target=BATCHED_ENQUEUE_TARGET)
    submit(store, 1)
    batch = store.batches()[0].batch_id
    drafts = item_drafts(batch, size.one_by_one + 1)[1:]
    began = time.monotonic()
    for draft in drafts:
        store.enqueue(draft, at=clock.now())
    yield Figure(
        name="enqueue_one_by_one_per_second", value=len(drafts) / (time.monotonic() - began), unit="1/s", floor=floor
    )


def measure_present(folder: Path, size: Size) -> Iterator[Figure]:
    """Measure claims and whole cycles with more and more finished items present, each on a copy of its own."""
    full, finished, claims_at_few = folder / "full.db", 0, 0.0
    for present in size.present:
        with contextlib.closing(open_sqlite(full, names=names)) as store:
            fill(store, begin_shift(store), present - finished)
        finished = present
        with contextlib.closing(open_sqlite(copy_of(full), names=names)) as store:
            parts = quantiles(measure_claims(store, begin_shift(store), size.claims), n=100)
        claims_at_few = claims_at_few or 1 / parts[49]
        yield Figure(name=f"claim_p50_ms_{present}_present", value=parts[49] * 1000, unit="ms")
        yield Figure(name=f"claim_p99_ms_{present}_present", value=parts[98] * 1000, unit="ms")
        yield Figure(
            name=f"claims_per_second_{present}_present",
            value=1 / parts[49],
            unit="1/s",
            floor=claims_at_few,
            target=FULL_STORE_TARGET,
        )
        yield from measure_cycles(full, size, measure_floor(folder, size.seconds), present)


def copy_of(path: Path) -> Path:
    """Copy a store that nobody has open."""
    copy = path.with_name(f"{fresh('copy')}.db")
    shutil.copy(path, copy)
    return copy


def measure_cycles(full: Path, size: Size, floor: float, present: int) -> Iterator[Figure]:
    """Measure from claim to done, one by one and in batches, by one worker and by several."""
    for workers, limit in ((1, BATCH_ITEMS), *((workers, 1) for workers in WORKERS)):
        path = copy_of(full)
        with contextlib.closing(open_sqlite(path, names=names)) as store:
            submit(store, int(floor * size.seconds * (ITEMS_PER_COMMIT_MAX if limit > 1 else 1)))
        rate = measure_workers(path, workers=workers, limit=limit, seconds=size.seconds)
        kind = "batched" if limit > 1 else f"{workers}_workers"
        target = {1: CYCLE_TARGET, BATCH_ITEMS: BATCHED_CYCLE_TARGET}[limit] if workers == 1 else None
        name = f"claim_to_done_per_second_{kind}_{present}_present"
        yield Figure(name=name, value=rate, unit="1/s", floor=floor, target=target)


def measure_renewals(folder: Path, size: Size, floor: float) -> Figure:
    """Measure how often per second a shift that runs many items is renewed."""
    with contextlib.closing(open_sqlite(folder / "renewals.db", names=names)) as store:
        shift_id = begin_shift(store)
        submit(store, RUNNING)
        store.claim(shift_id, limit=RUNNING, at=clock.now(), begin=begin)
        began, count = time.monotonic(), 0
        while time.monotonic() - began < size.seconds:
            store.renew_shift(shift_id, at=clock.now())
            count += 1
        rate = count / (time.monotonic() - began)
    return Figure(name=f"renewals_per_second_{RUNNING}_running", value=rate, unit="1/s", floor=floor)


def measure(folder: Path, size: Size) -> Iterator[Figure]:
    """Measure everything; each part has a floor that was measured just before it."""
    floor = measure_floor(folder, size.seconds)
    yield Figure(name="bare_commits_per_second", value=floor, unit="1/s")
    with contextlib.closing(open_sqlite(folder / "enqueue.db", names=names)) as store:
        yield from measure_enqueue(store, size, floor)
    yield from measure_present(folder, size)
    yield measure_renewals(folder, size, measure_floor(folder, size.seconds))


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return the exit code."""
    options = read_options((__doc__ or "").partition("\n")[0], arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="store-", ignore_cleanup_errors=True) as name:
        found = list(measure(Path(name), QUICK if options.quick else FULL))
    publish("store", found, options=options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
