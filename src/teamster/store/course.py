"""One item on its way through a transaction: moves of the lifecycle, each with its event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from teamster.kit import Instant, Names
from teamster.model import (
    MOVES,
    Event,
    EventType,
    Item,
    ItemStatus,
    JsonObject,
    RequestId,
    Verb,
)
from teamster.store.values import ItemDraft

HOUSE: Final = "teamster"  # the actor of moves that nobody owns
CANCELED: Final = "canceled"
_EVENT_PREFIX: Final = "event"
UNOWNED: Final[Mapping[str, None]] = MappingProxyType(
    dict.fromkeys(("owner", "lease", "shift_id", "claim_token"), None)
)


class Course:
    """The moves of one item: each checked against the table, each one rev higher, each with its event."""

    def __init__(self, item: Item, *, names: Names, at: Instant) -> None:
        self.item = item
        self.events: list[Event] = []
        self._names = names
        self._at = at

    def move(
        self,
        verb: Verb,
        *,
        actor: str,
        data: JsonObject,
        request_id: RequestId | None = None,
        **fields: Any,
    ) -> None:
        """Make one move.

        Raises:
            ValueError: the table doesn't list it.
        """
        move, before = MOVES[verb], self.item
        self.item = replace(before, status=move.target(before.status), rev=before.rev + 1, **fields)
        self.events.append(
            Event(
                event_id=self._names.fresh(_EVENT_PREFIX),
                type=move.event,
                from_status=before.status,
                to_status=self.item.status,
                at=self._at.wall,
                actor=actor,
                request_id=request_id,
                data=data,
            )
        )


def first_record(draft: ItemDraft, *, at: Instant) -> Item:
    """Return the record that a draft gets when it waits for nothing."""
    return Item(
        item_id=draft.item_id,
        dedupe_key=draft.dedupe_key,
        step=draft.step,
        collection=draft.collection,
        generation=draft.generation,
        target=draft.target,
        status=ItemStatus.QUEUED,
        owner=None,
        lease=None,
        attempt=0,
        rev=1,
        result=None,
        error=None,
        spec=draft.spec,
        shift_id=None,
        claim_token=None,
        fence=0,
        attempts_consumed=0,
        recoveries=0,
        not_before=None,
        cancel_requested=False,
        enqueued_at=at.wall,
    )


def first_event(*, names: Names, at: Instant) -> Event:
    """Return the event that opens a history."""
    return Event(
        event_id=names.fresh(_EVENT_PREFIX),
        type=EventType.ENQUEUED,
        from_status=None,
        to_status=ItemStatus.QUEUED,
        at=at.wall,
        actor=HOUSE,
    )


def canceled_error(*, actor: str, at: datetime) -> JsonObject:
    """Return the error of an item that somebody canceled."""
    return {"code": CANCELED, "message": f"canceled by {actor} at {at:%Y-%m-%d %H:%M:%S} UTC"}
