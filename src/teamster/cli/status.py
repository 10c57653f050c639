"""`teamster status`: all batches, or one."""

from __future__ import annotations

from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, application_of
from teamster.cli.console import out, print_json, say_root
from teamster.cli.drawing import draw_batches, draw_scoreboard
from teamster.views import find_batch, list_batches, scoreboard


def status(
    context: typer.Context,
    *,
    batch: Annotated[
        str | None,
        typer.Argument(metavar="[BATCH]", help="A batch, or the beginning of its id.", show_default="all of them"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every step of a large batch.")] = False,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Show where every batch is, or every step of one."""
    site = application_of(context).look(root)
    say_root(site.choice, as_json=json)
    harness = site.harness
    at = harness.clock.now().wall
    store = harness.open_store()
    try:
        rows = list_batches(store, harness.root, at=at) if batch is None else ()
        only = rows[0].batch_id if len(rows) == 1 and not json else None
        wanted = batch or only
        board = None if wanted is None else scoreboard(store, harness.root, find_batch(store, wanted), at=at)
    finally:
        store.close()
    if json:
        answer = {"batches": [row.to_json() for row in rows]} if board is None else board.to_json()
        print_json({"root": str(site.choice.path), **answer})
    elif board is None:
        draw_batches(out(), rows)
    else:
        draw_scoreboard(out(), board, all_steps=every, option=site.choice.option)
