"""Who waits for whom within a job: names that lead nowhere, and circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from teamster.intake.fields import Fields
from teamster.intake.keys import later_fact, unknown_name
from teamster.intake.parsed import FieldPath

ARROW = " -> "
CIRCLES_SHOWN_MAX = 5  # of one job: who mends these finds the others, if there are any
OTHER_JOBS = "dependencies between jobs, in a later version: until then put both steps into one job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A step that another one names, and where it does so."""

    step_id: str
    path: FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A step with all that it waits for."""

    step_id: str
    fields: Fields
    waits: tuple[Wait, ...]


def check_graph(waiters: Sequence[Waiter], *, other_jobs: Mapping[str, frozenset[str]]) -> None:
    """Note names that lead nowhere, and every circle with its way round."""
    known = {waiter.step_id for waiter in waiters}
    for waiter in waiters:
        for wait in waiter.waits:
            if wait.step_id not in known:
                _unknown(waiter.fields, wait, known - {waiter.step_id}, other_jobs)
    _circles(waiters, known)


def _circles(waiters: Sequence[Waiter], known: set[str]) -> None:
    fields = {waiter.step_id: waiter.fields for waiter in waiters}
    paths = {(waiter.step_id, wait.step_id): wait.path for waiter in waiters for wait in waiter.waits}
    needs: dict[str, list[str]] = {waiter.step_id: [] for waiter in waiters}
    for start, following in paths:
        if following in known:
            needs[start].append(following)
    # Each round takes one edge away, and finds another circle.
    for _ in range(CIRCLES_SHOWN_MAX):
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            way: list[str] = list(reversed(error.args[1]))  # each waits for the next
            start, following = way[0], way[1]
            fact = f"it waits for itself: {ARROW.join(way)}"
            fields[start].problems.add(paths[start, following], fact, "take one of these dependencies away")
            needs[start] = [name for name in needs[start] if name != following]
        else:
            return


def _unknown(fields: Fields, wait: Wait, known: set[str], other_jobs: Mapping[str, frozenset[str]]) -> None:
    job, dot, step = wait.step_id.partition(".")
    if dot and step in other_jobs.get(job, ()):
        fields.problems.add(wait.path, f"a step of another job is {later_fact(OTHER_JOBS)}", "")
        return
    nothing = "the job has no other step"
    unknown_name(fields, wait.path, wait.step_id, kind="step", known=known, nothing=nothing)
