"""`teamster retry`: steps that ended without success, again."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, StepArgument, application_of
from teamster.cli.console import out, print_json, say_root
from teamster.operations import RootChoice
from teamster.operations import retry as retry_steps
from teamster.views import find_batch, parse_reference


def retry(
    context: typer.Context,
    *,
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="A batch, or the beginning of its id.")],
    step: StepArgument = None,
    succeeded_too: Annotated[bool, typer.Option("--succeeded-too", help="Steps that succeeded as well.")] = False,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Enqueue steps again; earlier attempts stay as they are. `teamster run` of the same table, or `up`, runs them."""
    site = application_of(context).look(root)
    say_root(site.choice, as_json=json)
    reference = parse_reference(step)
    store = site.harness.open_store()
    try:
        found = find_batch(store, batch)
    finally:
        store.close()
    retried = retry_steps(
        site.harness,
        found.batch_id,
        job_id=reference.job_id,
        step_id=reference.step_id,
        succeeded_too=succeeded_too,
    )
    if json:
        rows = [{"step": row.step, "generation": row.generation} for row in retried]
        print_json({"root": str(site.choice.path), "batch_id": found.batch_id, "steps": rows})
        return
    for row in retried:
        out().print(f"{row.step}: enqueued again, generation {row.generation}", markup=False)
    out().print(f"run them: {_how(found.meta['source'], site.choice)}", markup=False, soft_wrap=True)


def _how(source: str, choice: RootChoice) -> str:
    """Say which command runs what was enqueued again; a prompt of `run -p` has no table to name."""
    up = f"teamster up{choice.option}"
    if not source.startswith("/"):
        return up
    if choice.rehearses is not None:
        root = shlex.quote(str(choice.rehearses))
        return f"teamster rehearse {shlex.quote(source)} --root {root}, with the scenario of before"
    return f"teamster run {shlex.quote(source)}{choice.option}, or {up}"
