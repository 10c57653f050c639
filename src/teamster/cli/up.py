"""`teamster up`: work on everything under a root, until told to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, SlotsOption, application_of
from teamster.cli.console import say_root
from teamster.cli.working import work_on_all


def up(
    context: typer.Context,
    *,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Leave when nothing can run any more.")] = False,
    root: RootOption = None,
    slots: SlotsOption = None,
    json: JsonOption = False,
) -> None:
    """Run all batches of a root, those that are submitted later too. A batch whose agent can't be used stays queued.

    Exit codes: those of `run`, about all batches that it found unsettled or that came in meanwhile.
    """
    site = application_of(context).open(root, slots=slots)
    say_root(site.choice, as_json=json)
    raise typer.Exit(work_on_all(site, until_idle=until_idle, as_json=json))
