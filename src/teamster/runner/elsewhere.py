"""Items that a host with another root left: lost with it, and told in its own files where somebody works there."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import structlog

from teamster.kit import Instant
from teamster.model import Attempt, JsonObject, RootId, Step
from teamster.runner.carried import carry
from teamster.runner.crew import Crew
from teamster.runner.ending import lose
from teamster.runner.recovery import Left

FACT: Final = "its host was cut off or is gone, and nobody knows how it ended"
_log = structlog.get_logger(__name__)


def stall_elsewhere(
    crew: Crew, found: Left, attempt: Attempt, root_id: RootId, *, error: JsonObject, now: Instant
) -> None:
    """Record an attempt whose files lie beneath another root: they are promised there, and nothing is written here.

    Where nobody here knows its agent, nor what may follow, it is left to who does.
    """
    item = found.item
    if Step.from_json(item.spec).agent.agent not in crew.agents:
        _log.warning("an item of another host is left alone: its agent is not known here", item=item.item_id)
        return
    carried = carry(item, attempt, root=crew.root, agents=crew.agents, settings=crew.settings)
    ending = lose(carried, FACT, now=now, jitter=crew.jitter())
    files = tuple(replace(file, root_id=root_id) for file in ending.files)
    crew.store.stall_lost(item.item_id, rev=item.rev, at=now, error=error, attempt=ending.attempt, files=files)
