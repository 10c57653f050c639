"""`teamster run`: a table, or one prompt, from start to scoreboard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from teamster.cli.application import Desk, JsonOption, RootOption, SlotsOption, application_of
from teamster.cli.console import err, say_root
from teamster.cli.tables import NewOption, TableArgument, agents_of, read, read_prompt
from teamster.cli.working import work_on_batch
from teamster.model import Table, UsageError
from teamster.operations import check_agents, check_programs, sandboxes_of, submit


def run(
    context: typer.Context,
    *,
    table: TableArgument = None,
    prompt: Annotated[str | None, typer.Option("-p", "--prompt", help="Run this prompt; no table is needed.")] = None,
    directory: Annotated[Path | None, typer.Option("-C", "--directory", help="Where the prompt works.")] = None,
    new: NewOption = False,
    root: RootOption = None,
    slots: SlotsOption = None,
    json: JsonOption = False,
) -> None:
    """Run a launch table until it is settled. The same table again goes on with its batch.

    Exit codes: 0 all succeeded, 1 not all did, 2 a mistake in what was asked, 3 disk or program failed,
    130 interrupted, 143 left while agents run.
    """
    application = application_of(context)
    desk = application.desk(root, slots=slots)
    say_root(desk.choice, as_json=json)
    wanted = _wanted(desk, application.cwd, table, prompt, directory, new=new)
    check_programs(wanted, desk.agent_env)
    site = application.open(root, slots=slots)
    versions = check_agents(site.harness, agents_of(wanted), sandboxes=sandboxes_of(wanted))
    submitted = submit(site.harness, wanted, new=new or prompt is not None)
    if not submitted.created and not json:
        err().print(f"going on with batch {submitted.batch_id}", style="dim")
    extra = {"created": submitted.created, "accepted_job_ids": list(submitted.job_ids)}
    raise typer.Exit(work_on_batch(site, submitted.batch_id, versions=versions, as_json=json, extra=extra))


def _wanted(
    desk: Desk, cwd: Path, path: Path | None, prompt: str | None, directory: Path | None, *, new: bool
) -> Table:
    if (path is None) == (prompt is None):
        fact = "what is to be run?" if path is None else f"both the table {path} and a prompt: one at a time"
        raise UsageError(fact, hint="teamster run TABLE, or teamster run -p TEXT")
    if path is not None:
        if directory is not None:
            raise UsageError(
                "-C goes with -p: a table says itself where its jobs work", hint="set working_directory in the table"
            )
        return read(desk, cwd / path, new=new)
    assert prompt is not None
    return read_prompt(desk, prompt, cwd / (directory or "."))
