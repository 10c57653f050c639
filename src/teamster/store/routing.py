"""Which runner an item is for: its lane, and whether a claim takes from that lane. Pure.

Items of one batch that ask for the same runner share a lane, so that a claim looks at lanes, however many items wait
in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from teamster.model import RunnerId, Shift
from teamster.store.values import ClaimFilter, ItemDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What items ask for: a command, a role and a runtime by their target, labels, one runner."""

    command: str | None = None
    role: str | None = None
    runtime: str | None = None
    labels: frozenset[str] = frozenset()
    runner: RunnerId | None = None

    def to_json(self) -> list[Any]:
        """Write it; equal lanes write the same."""
        return [self.command, self.role, self.runtime, sorted(self.labels), self.runner]

    @classmethod
    def from_json(cls, value: list[Any]) -> Lane:
        """Read what `to_json` wrote."""
        command, role, runtime, labels, runner = value
        return cls(command=command, role=role, runtime=runtime, labels=frozenset(labels), runner=runner)


def lane_of(draft: ItemDraft) -> Lane:
    """Return the lane of an item."""
    target = draft.target
    return Lane(
        command=target.get("workflow_command"),
        role=target.get("role"),
        runtime=target.get("runtime"),
        labels=draft.labels,
        runner=draft.runner_affinity,
    )


def is_taken(lane: Lane, wanted: ClaimFilter, *, shift: Shift) -> bool:
    """Tell whether a claim takes from a lane.

    An item that names a runtime or a runner goes to that one alone; the claimer may speak for others too. A claimer
    that names commands or roles takes nothing else, also nothing without one. It must have all labels of an item.
    """
    return (
        (wanted.commands is None or lane.command in wanted.commands)
        and (wanted.roles is None or lane.role in wanted.roles)
        and (lane.runtime is None or lane.runtime == shift.runtime or lane.runtime in wanted.runtimes)
        and lane.labels <= wanted.labels
        and (lane.runner is None or lane.runner == shift.runner_id or lane.runner in wanted.runners)
    )
