"""`teamster submit`: hand a table over; `teamster up`, or a later `run`, does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, application_of
from teamster.cli.console import counted, out, print_json, say_root
from teamster.cli.tables import NewOption, read
from teamster.operations import submit as submit_table


def submit(
    context: typer.Context,
    *,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A launch table: YAML, JSON or TOML.")],
    new: NewOption = False,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Enqueue a launch table and return at once."""
    application = application_of(context)
    desk = application.desk(root)
    say_root(desk.choice, as_json=json)
    wanted = read(desk, application.cwd / table, new=new)
    site = application.open(root)
    submitted = submit_table(site.harness, wanted, new=new)
    if json:
        print_json(
            {
                "root": str(site.choice.path),
                "batch_id": submitted.batch_id,
                "created": submitted.created,
                "accepted_job_ids": list(submitted.job_ids),
            }
        )
        return
    what = "enqueued" if submitted.created else "there already"
    jobs, up = counted(len(submitted.job_ids), "job"), f"teamster up{site.choice.option}"
    out().print(f"{submitted.batch_id}: {what}, {jobs}; {up} runs it", markup=False, soft_wrap=True)
