"""Where a claim on SQLite looks: at the head of each lane with something to do, and of each limit that has room."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from teamster.kit import Instant
from teamster.model import ItemId, Shift, is_collection
from teamster.store import rows, sql
from teamster.store.choosing import SET_ASIDE_MAX, Candidate, Place, choose
from teamster.store.connection import Database, Row
from teamster.store.limits import Usage
from teamster.store.routing import is_taken
from teamster.store.values import ClaimFilter

PAGE_ROWS_MAX: Final = 64
DELAYS_ENDED_MAX: Final = 500  # in one claim: some milliseconds
_LAST_LANE: Final = 2**62


def chosen(database: Database, shift: Shift, *, limit: int, at: Instant, wanted: ClaimFilter) -> Iterator[ItemId]:
    """Yield the items that a claim takes; each must be taken before the next is asked for."""
    due = rows.text_at(at.wall)
    database.run_many(sql.END_DELAY, database.rows(sql.DELAYED_DUE, (due, DELAYS_ENDED_MAX)))
    lanes = _lanes(database, shift, wanted)
    if not lanes or limit == 0:
        return
    usage = usage_of(database)
    sources = list(_sources(database, lanes, usage, due=due, page=min(limit, PAGE_ROWS_MAX), stalled=wanted.stalled))
    (turn,) = database.row(sql.LAST_EVENT) or (0,)
    for candidate in choose(sources, limit=limit, usage=usage, turn=turn or 0):
        yield candidate.item_id
    for source in sources:
        source.keep_aside()
    turns = {place.batch: place.served for place in lanes.values() if place.served > (turn or 0)}
    database.run_many(sql.SERVE, [(served, batch) for batch, served in turns.items()])


def usage_of(database: Database) -> Usage:
    """Return who holds what now, counted from the items that are owned."""
    return Usage(
        held=lambda: held_keys(database),
        maximum_of=lambda limit_key: next((row[0] for row in database.rows(sql.MAXIMUM, (limit_key,))), None),
        owned=Counter(dict(database.rows(sql.OWNED_BY_BATCH))),
    )


def held_keys(database: Database) -> Counter[str]:
    """Count how many owned items name each key of a limit."""
    held: Counter[str] = Counter()
    for text, count in database.rows(sql.HELD_KEYS):
        for limit_key in rows.keys_from_text(text):
            held[limit_key] += count
    return held


def _lanes(database: Database, shift: Shift, wanted: ClaimFilter) -> dict[int, Place]:
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


def _sources(
    database: Database, lanes: dict[int, Place], usage: Usage, *, due: str, page: int, stalled: bool
) -> Iterator[_Queue]:
    for lane, place in lanes.items():
        yield _Queue(database, place, sql.HEADS_READY, (lane,), due=due, page=page)
        if stalled:
            yield _Stalled(database, place, sql.HEADS_STALLED, (lane,), due=due, page=SET_ASIDE_MAX)
    shelf = database.row(sql.NEXT_SHELF, ("", 0))
    while shelf is not None:
        limit_key, lane = shelf
        if usage.full_key([limit_key]) is not None:
            lane = _LAST_LANE
        elif lane in lanes:
            yield _Queue(database, lanes[lane], sql.HEADS_SHELVED, shelf, due=due, page=page, limit_key=limit_key)
        shelf = database.row(sql.NEXT_SHELF, (limit_key, lane))


class _Queue:
    """Queued items in the order of an index. What was taken or set aside has left it: a next page starts in front."""

    def __init__(
        self,
        database: Database,
        place: Place,
        statement: str,
        values: Row,
        *,
        due: str,
        page: int,
        limit_key: str | None = None,
    ) -> None:
        self.place = place
        self.limit_key = limit_key
        self._database = database
        self._statement = statement
        self._values = values
        self._due = due
        self._page = page
        self._rows: deque[Row] = deque()
        self._has_more = True
        self._aside: list[tuple[int, str | None, int]] = []

    def head(self) -> Candidate | None:
        """Return the first item left; one whose moment has not come after all waits for it again."""
        while self._fill():
            priority, seq, item_id, limit_keys, not_before = self._rows[0]
            if not_before is None or not_before <= self._due:
                keys = rows.keys_from_text(limit_keys)
                return Candidate(item_id=ItemId(item_id), seq=seq, priority=priority, limit_keys=keys)
            self._aside.append((1, None, seq))
            self._rows.popleft()
        return None

    def take(self) -> None:
        """Leave out the head: it was taken."""
        self._rows.popleft()

    def set_aside(self, limit_key: str) -> None:
        """Leave out the head until this limit has room again."""
        self._aside.append((0, limit_key, self._rows.popleft()[1]))

    def keep_aside(self) -> None:
        """Write what was set aside."""
        self._database.run_many(sql.SHELVE, self._aside)
        self._aside = []

    def _fill(self) -> bool:
        if not self._rows and self._has_more:
            self.keep_aside()
            self._rows.extend(self._database.rows(self._statement, (*self._values, self._page)))
            self._has_more = len(self._rows) == self._page
        return bool(self._rows)


class _Stalled(_Queue):
    """Stalled items; what a full limit holds back is only left out of this claim."""

    def set_aside(self, limit_key: str) -> None:
        """Leave out the head."""
        del limit_key
        self._rows.popleft()

    def _fill(self) -> bool:
        filled = super()._fill()
        self._has_more = False
        return filled
