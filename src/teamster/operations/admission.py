"""Which batches of a root may be claimed: those whose agents were checked, whenever they came in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from teamster.kit import Instant
from teamster.model import BatchId, TeamsterError, UsageError, WorldError
from teamster.operations.agents import check_agents
from teamster.operations.harness import Harness
from teamster.operations.settled import is_settled
from teamster.store import Store

CHECK_AGAIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why an agent can't be used, and when it was asked."""

    error: TeamsterError
    at_boot_seconds: float


class Admission:
    """Checks each agent before the first batch that needs it is claimed; a batch without its agent stays queued.

    `tell` is called once for each batch that is held back. An agent that can't be used is asked again, so often: it
    may be installed meanwhile. One that can be used is not asked again. A tick waits for the answer; agents don't.
    """

    def __init__(self, harness: Harness, *, tell: Callable[[BatchId, TeamsterError], None]) -> None:
        self._harness = harness
        self._tell = tell
        self._versions: dict[str, str | None] = {}
        self._refusals: dict[str, _Refusal] = {}
        self._held: dict[BatchId, TeamsterError] = {}
        self._told: set[BatchId] = set()

    @property
    def versions(self) -> Mapping[str, str | None]:
        """The versions of the agents that can be used: a view, it grows."""
        return self._versions

    @property
    def held(self) -> Mapping[BatchId, TeamsterError]:
        """The batches that wait for an agent, as of the last look, and why."""
        return dict(self._held)

    def admit(self, store: Store, now: Instant) -> frozenset[BatchId] | None:
        """Return the batches that may be claimed; None means all, since no agent is left that could be missing."""
        if self._versions.keys() >= self._harness.agents.keys():
            self._held = {}
            return None
        admitted, held = set(), {}
        for batch in store.batches():
            unasked = [agent for agent in batch.meta["agents"] if agent not in self._versions]
            if unasked and is_settled(store, batch.batch_id):
                continue  # nobody needs its agents
            error = next(filter(None, (self._refusal(agent, now) for agent in unasked)), None)
            if error is None:
                admitted.add(batch.batch_id)
            else:
                held[batch.batch_id] = error
        self._held = held
        for batch_id, error in held.items():
            if batch_id not in self._told:
                self._tell(batch_id, error)
        self._told |= held.keys()
        return frozenset(admitted)

    def holds_the_rest(self, store: Store) -> bool:
        """Tell whether nothing can run but what is held back."""
        return bool(self._held) and all(
            batch.batch_id in self._held or is_settled(store, batch.batch_id) for batch in store.batches()
        )

    def _refusal(self, agent: str, now: Instant) -> TeamsterError | None:
        """Say why an agent can't be used; ask it where that is due."""
        known = self._refusals.get(agent)
        if known is not None and now.boot_seconds - known.at_boot_seconds < CHECK_AGAIN_SECONDS:
            return known.error
        try:
            self._versions.update(check_agents(self._harness, [agent]))
        except (UsageError, WorldError) as error:
            self._refusals[agent] = _Refusal(error, now.boot_seconds)
            return error
        return None
