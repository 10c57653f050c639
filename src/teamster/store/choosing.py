"""Which items a claim takes: by priority, then fairly between batches, then the oldest first.

Fair means: the batch that has the fewest items owned; among equals the one whose last turn is the longest ago. So ten
items never wait behind ten thousand, also where one slot is all there is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from teamster.model import ItemId
from teamster.store.limits import Usage

SET_ASIDE_MAX: Final = 500  # items in one claim: some milliseconds; the next claim goes on behind them


@dataclass(slots=True, kw_only=True)  # not frozen: it is made for each item of each claim
class Candidate:
    """An item that may be next, if the limits that it names have room."""

    item_id: ItemId
    seq: int
    priority: int
    limit_keys: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Place:
    """A batch as one claim sees it. `served` grows with each of its turns."""

    batch: int
    concurrency: int | None
    served: int


class Source(Protocol):
    """Items of one batch in the order in which they may go."""

    place: Place
    limit_key: str | None  # all of them wait for this one

    def head(self) -> Candidate | None:
        """Return the first one left."""
        ...

    def take(self) -> None:
        """Leave out the head: it was taken."""
        ...

    def set_aside(self, limit_key: str) -> None:
        """Leave out the head, for later claims too, until this key has room again."""
        ...


Rank = tuple[int, int, int, int]


def rank(candidate: Candidate, place: Place, usage: Usage) -> Rank:
    """Return what decides who is next: the lowest goes first. Pure."""
    return (-candidate.priority, usage.owned[place.batch], place.served, candidate.seq)


def choose(sources: Sequence[Source], *, limit: int, usage: Usage, turn: int) -> Iterator[Candidate]:
    """Yield what a claim takes, one by one; the caller takes each before it asks for the next.

    It costs what is taken and what is met with a full limit; the latter is set aside, so that no later claim meets it
    again. `turn` is higher than that of every claim before.
    """
    room, aside = limit if usage.room is None else min(limit, usage.room), 0
    if room == 0:
        return
    heap = [
        (rank(head, source.place, usage), number) for number, source in enumerate(sources) if (head := source.head())
    ]
    heapq.heapify(heap)
    while heap and aside < SET_ASIDE_MAX:
        known, number = heapq.heappop(heap)
        source = sources[number]
        head = source.head()
        if head is None or is_full(source.place, usage) or _is_shut(source, usage):
            continue
        if (now := rank(head, source.place, usage)) != known:
            heapq.heappush(heap, (now, number))  # its batch has had a turn since
            continue
        full = usage.full_key(head.limit_keys) if head.limit_keys else None
        if full is not None:
            source.set_aside(full)
            aside += 1
        else:
            usage.take(batch=source.place.batch, limit_keys=head.limit_keys)
            turn, room = turn + 1, room - 1
            source.place.served = turn
            source.take()
            yield head
            if room == 0:
                return
        if (head := source.head()) is not None:
            heapq.heappush(heap, (rank(head, source.place, usage), number))


def is_full(place: Place, usage: Usage) -> bool:
    """Tell whether a batch may have nothing more owned. Within one claim it gets no room back."""
    return place.concurrency is not None and usage.owned[place.batch] >= place.concurrency


def _is_shut(source: Source, usage: Usage) -> bool:
    return source.limit_key is not None and usage.full_key([source.limit_key]) is not None
