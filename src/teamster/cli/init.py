"""`teamster init`: a table to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, application_of
from teamster.cli.console import err, out, print_json
from teamster.operations import init as init_folder
from teamster.operations import straight


def init(
    context: typer.Context,
    *,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Where to.", show_default="here")] = None,
    json: JsonOption = False,
) -> None:
    """Write a launch table to start from, with a prompt; nothing is ever written over."""
    made = init_folder(straight(application_of(context).cwd / (folder or Path())))
    paths = [made.folder / name for name in made.files]
    if json:
        print_json({"made": [str(path) for path in paths], "schema": str(made.schema)})
        return
    for path in paths:
        out().print(str(path), markup=False, soft_wrap=True)
    typed = shlex.quote(str((folder or Path()) / made.files[0]))
    err().print(f"try it without a key or cost: teamster rehearse {typed}", style="dim", markup=False, soft_wrap=True)
    err().print(f"editors complete it by {made.schema}", style="dim", markup=False, soft_wrap=True)
