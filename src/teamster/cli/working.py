"""Works on a root in front of a person: live progress, signals, and the scoreboard at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from teamster.cli.application import Site
from teamster.cli.console import err, out, plain, print_json
from teamster.cli.drawing import draw_batches, draw_scoreboard, draw_where_to_look
from teamster.cli.explain import EXIT_INTERRUPTED, EXIT_LEFT, EXIT_OK, EXIT_UNSUCCESSFUL, exit_code
from teamster.cli.progress import Progress
from teamster.model import BatchId, TeamsterError
from teamster.operations import Admission, Control, Worked, work
from teamster.views import BatchRow, find_batch, list_batches, scoreboard


def work_on_batch(
    site: Site, batch_id: BatchId, *, versions: Mapping[str, str | None], as_json: bool, extra: Mapping[str, Any]
) -> int:
    """Run a batch until it is settled, show how it goes and what came of it, and return the exit code."""
    control = Control()
    with _signals(control), Progress(site, batch_id, control, quiet=as_json) as progress:
        worked = work(site.harness, batch_id=batch_id, versions=versions, control=control, watch=progress.watch)
    return _report(site, batch_id, worked, control, as_json=as_json, extra=extra)


def work_on_all(site: Site, *, until_idle: bool, as_json: bool) -> int:
    """Work on everything under a root until told to stop, show what came of it, and return the exit code."""
    control = Control()
    admission = Admission(site.harness, tell=_say_nothing if as_json else _say_held)
    before = {row.batch_id for row in _batches(site) if row.is_settled}
    with _signals(control), Progress(site, None, control, quiet=as_json) as progress:
        worked = work(
            site.harness,
            batch_id=None,
            versions=admission.versions,
            control=control,
            watch=progress.watch,
            until_idle=until_idle,
            admission=admission,
        )
    rows = [row for row in _batches(site) if row.batch_id not in before]
    if as_json:
        batches = [row.to_json() for row in rows]
        held = [{"batch_id": name, "message": why.fact, "hint": why.hint} for name, why in worked.held.items()]
        print_json({"root": str(site.choice.path), "settled": worked.settled, "batches": batches, "held": held})
    elif rows:
        draw_batches(out(), rows)
    else:
        err().print("nothing was waiting to run", style="dim")
    if worked.held and not control.draining:
        return max(exit_code(why) for why in worked.held.values())
    return _exit_code(control, settled=worked.settled, successful=all(row.is_successful for row in rows))


def _say_held(batch_id: BatchId, why: TeamsterError) -> None:
    """Say once that a batch waits for its agent."""
    err().print(f"[yellow]held back[/] {batch_id}: {plain(why.fact)}; it stays queued", soft_wrap=True)
    if why.hint:
        err().print(f"[dim]hint:[/]  {plain(why.hint)}", soft_wrap=True)


def _say_nothing(batch_id: BatchId, why: TeamsterError) -> None:
    """Leave it to the object at the end."""
    del batch_id, why


def _batches(site: Site) -> Sequence[BatchRow]:
    harness = site.harness
    store = harness.open_store()
    try:
        return list_batches(store, harness.root, at=harness.clock.now().wall)
    finally:
        store.close()


def _report(
    site: Site, batch_id: BatchId, worked: Worked, control: Control, *, as_json: bool, extra: Mapping[str, Any]
) -> int:
    harness = site.harness
    store = harness.open_store()
    try:
        batch = find_batch(store, batch_id)
        board = scoreboard(store, harness.root, batch, at=harness.clock.now().wall)
    finally:
        store.close()
    if as_json:
        print_json({"root": str(site.choice.path), **extra, **board.to_json()})
    else:
        draw_scoreboard(out(), board, all_steps=False, option=site.choice.option)
        draw_where_to_look(err(), site, board)
    successful = board.counts["succeeded"] == board.steps_total
    return _exit_code(control, settled=worked.settled, successful=successful)


def _exit_code(control: Control, *, settled: bool, successful: bool) -> int:
    if control.leaving:
        return EXIT_LEFT
    if not settled:
        return EXIT_INTERRUPTED
    return EXIT_OK if successful else EXIT_UNSUCCESSFUL


@contextmanager
def _signals(control: Control) -> Iterator[None]:
    """Carry out what the signals mean: SIGINT once drains, twice stops; SIGTERM leaves, and the agents live on."""

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        control.interrupt()

    def leave(number: int, frame: object) -> None:
        del number, frame
        control.leave()

    before = signal.signal(signal.SIGINT, interrupt), signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
