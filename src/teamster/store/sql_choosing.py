"""Where a claim on SQLite looks: at the head of each lane with something to do, and of each limit that has room."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from teamster.kit import Instant
from teamster.model import ItemId, Shift, is_collection
from teamster.store import rows, sql
from teamster.store.choosing import SET_ASIDE_MAX, Candidate, Place, choose, is_full
from teamster.store.engine import Engine, Row
from teamster.store.limits import Usage
from teamster.store.routing import is_taken
from teamster.store.values import ClaimFilter

PAGE_ROWS_MAX: Final = 64
DELAYS_ENDED_MAX: Final = 500  # in one claim: some milliseconds
_LAST_LANE: Final = 2**62


def chosen(database: Engine, shift: Shift, *, limit: int, at: Instant, wanted: ClaimFilter) -> Iterator[ItemId]:
    """Yield the items that a claim takes; each must be taken before the next is asked for."""
    due = rows.text_at(at.wall)
    turn, some_due, some_shelved = database.rows(sql.OUTLOOK, (due,))[0]
    if some_due:
        database.run_many(sql.END_DELAY, database.rows(sql.DELAYED_DUE, (due, DELAYS_ENDED_MAX)))
    lanes = _lanes(database, shift, wanted)
    if not lanes:
        return
    usage = usage_of(database)
    page = _Page(database=database, due=due, rows_max=min(limit, PAGE_ROWS_MAX))
    sources = _sources(page, lanes, usage, stalled=wanted.stalled)
    if some_shelved:
        sources += _shelves(page, lanes, usage)
    for candidate in choose(sources, limit=limit, usage=usage, turn=turn):
        yield candidate.item_id
    for source in sources:
        source.keep_aside()
    turns = {place.batch: place.served for place in lanes.values() if place.served > turn}
    database.run_many(sql.SERVE, [(served, batch) for batch, served in turns.items()])


def usage_of(database: Engine) -> Usage:
    """Return who holds what now, counted from the items that are owned."""

    def maximum_of(limit_key: str) -> int | None:
        row = database.row(sql.MAXIMUM, (limit_key,))
        return None if row is None else int(row[0])

    owned = Counter(batch for (batch,) in database.rows(sql.OWNED))
    return Usage(held=lambda: held_keys(database), maximum_of=maximum_of, owned=owned)


def held_keys(database: Engine) -> Counter[str]:
    """Count how many owned items name each key of a limit."""
    held: Counter[str] = Counter()
    for text, count in database.rows(sql.HELD_KEYS):
        for limit_key in rows.keys_from_text(text):
            held[limit_key] += count
    return held


def _lanes(database: Engine, shift: Shift, wanted: ClaimFilter) -> dict[int, Place]:
    """Return the lanes from which this claim takes, each with its batch."""
    places: dict[int, Place] = {}
    found: dict[int, Place] = {}
    for lane, batch, routing, concurrency, served, batch_id in database.rows(
        sql.LANES_STALLED if wanted.stalled else sql.LANES_QUEUED
    ):
        if is_collection(batch_id) if wanted.batch_ids is None else batch_id not in wanted.batch_ids:
            continue
        if is_taken(rows.lane_from_text(routing), wanted, shift=shift):
            place = Place(batch=batch, concurrency=concurrency, served=served)
            found[lane] = places.setdefault(batch, place)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """How one claim reads: until which moment, how much at a time."""

    database: Engine
    due: str
    rows_max: int


def _sources(page: _Page, lanes: dict[int, Place], usage: Usage, *, stalled: bool) -> list[_Queue]:
    open_ones = [(lane, place) for lane, place in lanes.items() if not is_full(place, usage)]
    sources = [_Queue(page, place, sql.HEADS_READY, (lane,)) for lane, place in open_ones]
    if stalled:
        all_at_once = replace(page, rows_max=SET_ASIDE_MAX)
        sources += [_Stalled(all_at_once, place, sql.HEADS_STALLED, (lane,)) for lane, place in open_ones]
    return sources


def _shelves(page: _Page, lanes: dict[int, Place], usage: Usage) -> list[_Queue]:
    """Return what full limits held back before, of those that have room now."""
    sources: list[_Queue] = []
    shelf = page.database.row(sql.NEXT_SHELF, ("", 0))
    while shelf is not None:
        limit_key, lane = shelf
        if usage.full_key([limit_key]) is not None:
            lane = _LAST_LANE
        elif lane in lanes and not is_full(lanes[lane], usage):
            sources.append(_Queue(page, lanes[lane], sql.HEADS_SHELVED, shelf, limit_key=limit_key))
        shelf = page.database.row(sql.NEXT_SHELF, (limit_key, lane))
    return sources


class _Queue:
    """Queued items in the order of an index. What was taken or set aside has left it: a next page starts in front."""

    def __init__(self, page: _Page, place: Place, statement: str, values: Row, *, limit_key: str | None = None) -> None:
        self.place = place
        self.limit_key = limit_key
        self._page = page
        self._statement = statement
        self._values = values
        self._rows: deque[Row] = deque()
        self._head: Candidate | None = None
        self._has_more = True
        self._aside: list[tuple[int, str | None, int]] = []

    def head(self) -> Candidate | None:
        """Return the first item left; one whose moment has not come after all waits for it again."""
        while self._head is None and self._fill():
            priority, seq, item_id, limit_keys, not_before = self._rows.popleft()
            if not_before is not None and not_before > self._page.due:
                self._aside.append((1, None, seq))
                continue
            keys = rows.keys_from_text(limit_keys)
            self._head = Candidate(item_id=ItemId(item_id), seq=seq, priority=priority, limit_keys=keys)
        return self._head

    def take(self) -> None:
        """Leave out the head: it was taken."""
        self._head = None

    def set_aside(self, limit_key: str) -> None:
        """Leave out the head until this limit has room again."""
        assert self._head is not None
        self._aside.append((0, limit_key, self._head.seq))
        self._head = None

    def keep_aside(self) -> None:
        """Write what was set aside."""
        self._page.database.run_many(sql.SHELVE, self._aside)
        self._aside = []

    def _fill(self) -> bool:
        if not self._rows and self._has_more:
            self.keep_aside()
            rows_max = self._page.rows_max
            self._rows.extend(self._page.database.rows(self._statement, (*self._values, rows_max)))
            self._has_more = len(self._rows) == rows_max
        return bool(self._rows)


class _Stalled(_Queue):
    """Stalled items; what a full limit holds back is only left out of this claim."""

    def set_aside(self, limit_key: str) -> None:
        """Leave out the head."""
        del limit_key
        self._head = None

    def _fill(self) -> bool:
        filled = super()._fill()
        self._has_more = False
        return filled
