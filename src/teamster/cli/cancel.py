"""`teamster cancel`: a batch, a job or a step."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, StepArgument, application_of
from teamster.cli.console import counted, out, print_json, say_root
from teamster.operations import cancel as cancel_steps
from teamster.views import find_batch, parse_reference


def cancel(
    context: typer.Context,
    *,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="A batch, or the beginning of its id.")],
    step: StepArgument = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Cancel what has not ended: what waits ends at once, what runs is ended by its runner."""
    site = application_of(context).look(root)
    say_root(site.choice, as_json=json)
    reference = parse_reference(step)
    store = site.harness.open_store()
    try:
        batch_id = find_batch(store, batch).batch_id
    finally:
        store.close()
    canceled = cancel_steps(
        site.harness,
        batch_id,
        job_id=reference.job_id,
        step_id=reference.step_id,
        actor=f"operator:{getpass.getuser()}",
    )
    if json:
        rows = [{"step": row.step, "status": row.status, "changed": row.changed} for row in canceled]
        print_json({"root": str(site.choice.path), "batch_id": batch_id, "steps": rows})
        return
    changed = [row for row in canceled if row.changed]
    for row in changed:
        how = "canceled" if row.status == "failed" else "asked to end"
        out().print(f"{row.step}: {how}", markup=False)
    ended = len(canceled) - len(changed)
    if not changed:
        out().print(f"nothing to cancel: {counted(ended, 'step')} had ended", markup=False)
    elif ended:
        out().print(f"{counted(ended, 'other step')} had ended", markup=False)
