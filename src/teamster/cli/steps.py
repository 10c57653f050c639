"""How the verbs that look at one attempt find it."""

from __future__ import annotations

from typing import Any, Final

from teamster.cli.application import Site
from teamster.model import RunId, UsageError
from teamster.views import batch_forgotten, find_batch, find_run, find_steps, parse_reference, show_step

RUN_PREFIX: Final = "run_"


def attempt_named(site: Site, verb: str, what: str, step: str | None) -> tuple[RunId, str] | None:
    """Find the attempt that a person means: a run by its id, or the newest of a step; None for a whole batch.

    Raises:
        UsageError: there is none, or the job has several steps and none was named.
    """
    if step is None and what.startswith(RUN_PREFIX):
        return find_run(site.harness.root, what)
    reference = parse_reference(step)
    store = site.harness.open_store()
    try:
        if step is None:
            _check_batch(site, store, verb, what)
            return None
        steps = find_steps(store, find_batch(store, what), reference)
        if len(steps) > 1:
            known = ", ".join(str(key) for key in steps)
            raise UsageError(f"job {reference.job_id} has {len(steps)} steps: which one?", hint=f"name one: {known}")
        newest = show_step(store, steps[0]).attempts[-1]
    finally:
        store.close()
    return newest.run_id, newest.directory


def _check_batch(site: Site, store: Any, verb: str, what: str) -> None:
    """See that a word is a batch; one that is a job of the newest batch is told how that is written."""
    forgotten = batch_forgotten(store, what)
    if forgotten is None:
        find_batch(store, what)
        return
    raise UsageError(
        f"there is no batch {what}",
        hint=f"it is in the newest batch: teamster {verb} {forgotten.batch_id} {what}{site.choice.option}",
    )
