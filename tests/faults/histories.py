"""Checks what is in a store against what workers were told: nothing lost, nothing twice, one valid owner at a time."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from faults.worker import drafts_of
from simulation.seen import FINAL, Seen, state_faults
from teamster.kit import sha256
from teamster.model import Item, ItemId, RequestId

Line = Mapping[str, Any]
OWNERS: Final = frozenset({"claim", "adopt", "start", "heartbeat", "complete", "fail", "stall"})
TAKERS: Final = frozenset({"adopt", "lost"})


def read_logs(folder: Path) -> list[Line]:
    """Read what all workers were told. A line that was torn by a kill was not told."""
    whole = [text for path in sorted(folder.glob("*.log")) for text in path.read_text().split("\n")[:-1]]
    return [json.loads(text) for text in whole]


def history_faults(seen: Seen, told: Sequence[Line]) -> list[str]:
    """Say all that is wrong."""
    wrote = [line for line in told if line["what"] == "wrote"]
    first = [line for line in wrote if not line.get("replayed")]
    return [
        *state_faults(seen),
        *_lost(seen, wrote),
        *_twice(first),
        *_strangers(first),
        *_too_early(first, told),
        *_submissions(seen, told),
        *_promises(seen, told),
        *release_faults(seen),
    ]


def _lost(seen: Seen, wrote: Iterable[Line]) -> Iterator[str]:
    """Name what was acknowledged and isn't there."""
    for line in wrote:
        name = ItemId(line["item"])
        events, rev = seen.events.get(name, ()), line["rev"]
        if len(events) < rev:
            yield f"{name}: {line['verb']} made rev {rev}, the store has {len(events)} events"
        elif not line.get("replayed") and events[rev - 1].to_status != line["status"]:
            yield f"{name}: {line['verb']} was told {line['status']}, the store says {events[rev - 1].to_status}"
        elif not _stands(line, {event.request_id for event in events[:rev]}):
            yield f"{name}: request {line['request']} was answered and isn't there"


def _stands(line: Line, requests: set[RequestId | None]) -> bool:
    """Tell whether an answered request left its event. An end may be said again under another id, without one."""
    return line.get("request", None) in {None, *requests} or (line.get("replayed", False) and line["status"] in FINAL)


def _twice(first: Iterable[Line]) -> Iterator[str]:
    """Name what two writes were told that only one can have done."""
    revs = Counter((line["item"], line["rev"]) for line in first)
    yield from (f"{item}: rev {rev} was made {n} times" for (item, rev), n in revs.items() if n > 1)
    ends = Counter(line["item"] for line in first if line["status"] in FINAL)
    yield from (f"{item} ended {n} times" for item, n in ends.items() if n > 1)


def _strangers(first: Iterable[Line]) -> Iterator[str]:
    """Name claims under which more than one wrote: one fence, one token, one shift."""
    owners: dict[tuple[str, int], set[tuple[str, str]]] = defaultdict(set)
    for line in first:
        if line["verb"] in OWNERS:
            owners[line["item"], line["fence"]].add((line["token"], line["by"]))
    yield from (f"{item}: under fence {fence} wrote {who}" for (item, fence), who in owners.items() if len(who) > 1)


def _too_early(first: Iterable[Line], told: Iterable[Line]) -> Iterator[str]:
    """Name takeovers from an owner that had been told that it may write still."""
    holds: dict[str, list[tuple[float, float]]] = defaultdict(list)  # shift or token to when it was told, and until
    ended = {line["shift"] for line in told if line["what"] == "ends"}
    for line in told:
        if line["what"] == "holds":
            holds[line["shift"]].append((line["told_at"], line["until"]))
        elif "held_until" in line:
            holds[line["token"]].append((line["told_at"], line["held_until"]))
    for line in first:
        if line["verb"] in TAKERS and line["from_shift"] not in ended:
            known = [until for who in ("from_shift", "from_token") for at, until in holds[line[who]] if at < line["at"]]
            if known and line["told_at"] < max(known):  # a database with a clock of its own decides until then
                early = max(known) - line["told_at"]
                yield f"{line['item']} was taken from {line['from_shift']} {early:.3f} s too early"


def _submissions(seen: Seen, told: Iterable[Line]) -> Iterator[str]:
    there = {batch.batch_id for batch in seen.batches}
    yield from (
        f"batch {one['batch']} is lost" for one in told if one["what"] == "submitted" and one["batch"] not in there
    )


def _promises(seen: Seen, told: Sequence[Line]) -> Iterator[str]:
    """Name promised files that nobody delivered and that are not in the outbox."""
    gone = {seq for line in told if line["what"] == "delivers" for seq in line["seqs"]}
    there = {seq: [seq, row.path, sha256(row.content)] for seq, row in seen.outbox.items()}
    for line in told:
        for row in line.get("rows", ()):
            if row[0] not in gone and there.get(row[0]) != row:
                yield f"file {row[1]} was promised to {line['by']} and is not in the outbox"


def release_faults(seen: Seen) -> Iterator[str]:
    """Name dependants that wait for nothing, or that run too early."""
    ended = {item.step for item in seen.items.values() if item.status == "succeeded"}
    for batch in seen.batches:
        for draft in drafts_of(batch.batch_id):
            free = all(one.step in ended for one in draft.waits)
            item = seen.items.get(draft.item_id)
            if free != (item is not None) and not _was_canceled_waiting(item):
                yield f"{draft.item_id} {'waits for nothing' if free else 'waits'}, and {item and item.status}"
            if (item is None) != (draft.item_id in seen.waiting):
                yield f"{draft.item_id} is lost"


def _was_canceled_waiting(item: Item | None) -> bool:
    return item is not None and item.status == "failed" and item.attempt == 0


def tally(told: Iterable[Line]) -> Counter[str]:
    """Count what happened: a history in which nothing happened proves nothing."""
    found: Counter[str] = Counter()
    for line in told:
        found[line["verb"] if line["what"] == "wrote" else line["what"]] += 1
        found["replayed"] += bool(line.get("replayed"))
        found["zombies refused"] += line["what"] == "refused" and "no longer this writer's" in line["why"]
    return found
