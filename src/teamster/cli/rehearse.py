"""`teamster rehearse`: a table with the real agents on a scripted model, on clones, in a root of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, SlotsOption, application_of
from teamster.cli.console import err, plain, say_root
from teamster.cli.serve import serve
from teamster.cli.tables import agents_of, read
from teamster.cli.working import work_on_batch
from teamster.model import UsageError
from teamster.operations import check_agents, check_programs, rehearsed, sandboxes_of, straight
from teamster.rehearsal import idle_rules, read_scenario


def rehearse(
    context: typer.Context,
    *,
    table: Annotated[
        Path | None, typer.Argument(metavar="[TABLE]", help="A launch table, YAML, JSON or TOML.", show_default=False)
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="What the model plays.", show_default="every step answers `ok`"),
    ] = None,
    serve_only: Annotated[
        bool, typer.Option("--serve", help="Only serve the model, and print what points each agent at it.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Where --serve listens.", show_default="any that is free")
    ] = 0,
    root: RootOption = None,
    slots: SlotsOption = None,
    json: JsonOption = False,
) -> None:
    """Run a table without a key, tokens or network: the agents are real, the model is scripted.

    It works on clones of the working directories. A rehearsal that was interrupted goes on; one that is settled is
    followed by a new one.
    """
    if serve_only != (table is None):
        raise UsageError("name a table to rehearse, or --serve to have the model alone", hint="not both, not neither")
    application = application_of(context)
    path = None if scenario is None else straight(application.cwd / scenario)
    desk = application.desk(root, slots=slots, rehearsal=True)
    say_root(desk.choice, as_json=json)
    if table is None:
        serve(desk.choice, scenario=path, port=port, as_json=json)
        return
    wanted = read(desk, application.cwd / table, new=False)
    check_programs(wanted, desk.agent_env)
    warnings = () if path is None else idle_rules(read_scenario(path), wanted)
    for warning in () if json else warnings:
        err().print(f"[yellow]warning:[/] {plain(f'{path}: {warning}')}", soft_wrap=True)
    rehearsal = application.rehearse(root, scenario=path, slots=slots)
    site = rehearsal.site
    versions = check_agents(site.harness, agents_of(wanted), sandboxes=sandboxes_of(wanted))
    submitted = rehearsed(site.harness, wanted)
    if not submitted.created and not json:
        err().print(f"going on with rehearsal {submitted.batch_id}", style="dim")
    extra = {"created": submitted.created, "model": rehearsal.model_url, "warnings": list(warnings)}
    raise typer.Exit(work_on_batch(site, submitted.batch_id, versions=versions, as_json=json, extra=extra))
