"""An agent without a network says so in its own words, and works on nothing."""

from __future__ import annotations

from operations.place import Place, step
from teamster.model import StepId
from teamster.operations import Control, work
from teamster.runner import Happened
from teamster.store import Store
from teamster.views import Trouble, troubles

WAITS = "while ! test -f seen; do sleep 0.05; done"


def test_an_attempt_that_only_reconnects_is_found_once(place: Place) -> None:
    """It may do so until its timeout; whoever looks on would take it for work."""
    jobs = {
        "a": [step("lost", f"echo 'Reconnecting... 1/5 (no network)'; {WAITS}")],
        "b": [step("fine", f"echo 'Reading what is there'; {WAITS}")],
    }
    batch_id, root, found = place.submit(jobs), place.harness.root, list[Trouble]()

    def watch(happened: Happened, store: Store) -> None:
        del happened
        found.extend(troubles(store, root, batch_id, known={trouble.run_id for trouble in found}))
        if found:
            (place.folder / "work" / "seen").touch()

    worked = work(place.harness, batch_id=batch_id, versions={}, control=Control(), watch=watch)

    assert worked.settled
    (trouble,) = found
    assert (trouble.step.step_id, trouble.fact) == (StepId("lost"), "Reconnecting... 1/5 (no network)")
    assert place.attempts(batch_id, "a", "lost")[0].name.endswith(trouble.run_id)
