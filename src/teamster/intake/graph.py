"""Who waits for whom, within a job and between jobs: the circles that nobody could ever enter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from teamster.intake.directory import Name
from teamster.intake.parsed import FieldPath, Problems

ARROW = " -> "
CIRCLES_SHOWN_MAX = 5  # of one job, and of those between jobs: who mends these finds the others, if there are any


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A step that another one names, and where it does so."""

    step: Name
    path: FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A step with all that it waits for."""

    step: Name
    problems: Problems
    waits: tuple[Wait, ...]


def check_graph(jobs: Sequence[Sequence[Waiter]]) -> None:
    """Note every circle with its way round; those between jobs are looked for where no job has one of its own."""
    waiters: list[Waiter] = []
    for of_job in jobs:
        own = [_of_own_job(waiter) for waiter in of_job]
        waiters += of_job if not _circles(own) else [_of_other_jobs(waiter) for waiter in of_job]
    if any(wait.step[0] != waiter.step[0] for waiter in waiters for wait in waiter.waits):
        _circles(waiters)


def ancestors(waiters: Sequence[Waiter], step: Name) -> frozenset[Name]:
    """Return all that must have ended before a step starts; circles end nothing, and are no harm here."""
    waits = {waiter.step: waiter.waits for waiter in waiters}
    found: set[Name] = set()
    left = [step]
    while left:
        new = {wait.step for wait in waits.get(left.pop(), ())} - found
        found |= new
        left += new
    return frozenset(found)


def _of_own_job(waiter: Waiter) -> Waiter:
    return replace(waiter, waits=tuple(wait for wait in waiter.waits if wait.step[0] == waiter.step[0]))


def _of_other_jobs(waiter: Waiter) -> Waiter:
    return replace(waiter, waits=tuple(wait for wait in waiter.waits if wait.step[0] != waiter.step[0]))


def _circles(waiters: Sequence[Waiter]) -> bool:
    """Note circles; tell whether there was one."""
    problems = {waiter.step: waiter.problems for waiter in waiters}
    paths = {(waiter.step, wait.step): wait.path for waiter in waiters for wait in waiter.waits}
    needs: dict[Name, list[Name]] = {waiter.step: [] for waiter in waiters}
    for start, following in paths:
        if following in needs:
            needs[start].append(following)
    # Each round takes one edge away, and finds another circle.
    for round_number in range(CIRCLES_SHOWN_MAX):
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            way: list[Name] = list(reversed(error.args[1]))  # each waits for the next
            start, following = way[0], way[1]
            fact = f"it waits for itself: {ARROW.join(_shown(way))}"
            problems[start].add(paths[start, following], fact, "take one of these dependencies away")
            needs[start] = [name for name in needs[start] if name != following]
        else:
            return round_number > 0
    return True


def _shown(way: Sequence[Name]) -> Iterator[str]:
    """Write a way: within one job the steps alone say all."""
    within_one = len({job_id for job_id, _ in way}) == 1
    return (step_id if within_one else f"{job_id}.{step_id}" for job_id, step_id in way)
