"""What a person sees while agents run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from operations.place import Place, step
from teamster.cli.application import Site
from teamster.cli.progress import LOOK_SECONDS, Progress
from teamster.kit import ManualClock
from teamster.operations import Control, RootChoice, work
from teamster.runner import Happened
from teamster.store import Store

SAYS = "echo 'Reconnecting... 1/5 (no [network])'; while ! test -f seen; do sleep 0.05; done"


def test_an_agent_that_only_reconnects_is_told_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar that stands still looks like hard work; and a warning with each look would hide all else."""
    batch_id = place.submit({"a": [step("lost", SAYS)]})
    clock, control, said = ManualClock(), Control(), list[str]()
    site = Site(harness=replace(place.harness, clock=clock), choice=RootChoice(path=place.root, why="--root"))
    looks_after = 0

    with Progress(site, batch_id, control, quiet=False) as progress:

        def watch(happened: Happened, store: Store) -> None:
            nonlocal looks_after
            clock.advance(LOOK_SECONDS)
            progress.watch(happened, store)
            said.extend(capsys.readouterr().err.splitlines())
            looks_after += bool(said)
            if looks_after > 1:
                (place.folder / "work" / "seen").touch()

        work(place.harness, batch_id=batch_id, versions={}, control=control, watch=watch)

    warnings = [line for line in said if line.startswith("warning:")]
    assert warnings == ["warning: a.lost  Reconnecting... 1/5 (no [network])"]
