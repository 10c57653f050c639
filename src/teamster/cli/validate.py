"""`teamster validate`: every problem of a table at once, each with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, application_of
from teamster.cli.console import counted, out, print_json
from teamster.cli.tables import agents_of, read
from teamster.operations import check_programs


def validate(
    context: typer.Context,
    *,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A launch table: YAML, JSON or TOML.")],
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Check a launch table and run nothing."""
    application = application_of(context)
    desk = application.desk(root)
    checked = read(desk, application.cwd / table, new=False)
    check_programs(checked, desk.agent_env)
    steps = sum(len(job.steps) for job in checked.jobs)
    if json:
        print_json(
            {
                "batch_id": checked.batch_id,
                "jobs_total": len(checked.jobs),
                "steps_total": steps,
                "agents": sorted(agents_of(checked)),
            }
        )
        return
    out().print(
        f"{table} is fine: {counted(len(checked.jobs), 'job')}, {counted(steps, 'step')}, batch {checked.batch_id}",
        soft_wrap=True,
        markup=False,
    )
