"""The history of a record: what its events promise together, beyond the shape of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from teamster.kit import ROOT_PATH, Fault, below
from teamster.model.contract import Record
from teamster.model.states import FINAL_STATUSES, EventType

_EVENTS = below(ROOT_PATH, "events")


def history_faults(record: Record) -> tuple[Fault, ...]:
    """Tell where a record with its whole history contradicts itself.

    A record can be read with a part of its events; moments prove no order, since they come from several clocks.
    """
    return tuple(_faults(record))


def _faults(record: Record) -> Iterator[Fault]:
    events = record.events
    if not events or events[0].type is not EventType.ENQUEUED:
        yield Fault(path=_EVENTS, fact="it does not begin with `enqueued`")
    for index, (before, event) in enumerate(pairwise(events), 1):
        place = below(_EVENTS, index)
        if before.to_status in FINAL_STATUSES:
            yield Fault(path=place, fact=f"it comes after the end, {before.to_status}")
        if event.from_status is not before.to_status:
            yield Fault(path=place, fact=f"it leaves {event.from_status}, and the job was {before.to_status}")
    if events and events[-1].to_status is not record.status:
        fact = f"it is {record.status}, and its last event says {events[-1].to_status}"
        yield Fault(path=below(ROOT_PATH, "status"), fact=fact)
    claims = sum(event.type is EventType.CLAIMED for event in events)
    if claims != record.attempt:
        yield Fault(path=below(ROOT_PATH, "attempt"), fact=f"it is {record.attempt}, with {claims} claims")
    for name in ("event_id", "request_id"):
        used = Counter(getattr(event, name) for event in events)
        for word in (word for word, times in used.items() if word is not None and times > 1):
            yield Fault(path=_EVENTS, fact=f"the {name} {word} stands more than once")
