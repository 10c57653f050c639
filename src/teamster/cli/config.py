"""`teamster config`: what holds, and who said so."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, SlotsOption, application_of
from teamster.cli.console import out, plain, print_json
from teamster.cli.drawing import table_of
from teamster.operations import Configuration


class Action(StrEnum):
    """What to do with the configuration."""

    SHOW = "show"
    CHECK = "check"


def config(
    context: typer.Context,
    *,
    action: Annotated[Action, typer.Argument(help="Show every setting, or only check the file.")] = Action.SHOW,
    slots: SlotsOption = None,
    json: JsonOption = False,
) -> None:
    """Show every setting and where its value comes from: default, file, variable or option."""
    found = application_of(context).configuration(slots=slots)
    if json:
        print_json(_to_json(found))
        return
    what = "is fine" if found.is_there else "is not there: nothing is set in a file"
    out().print(f"{plain(str(found.path or 'no configuration'))} {what}", soft_wrap=True)
    if action is Action.SHOW:
        table = table_of("setting", "value", "from")
        for name, origin in found.origins.items():
            value = (
                "" if origin.value is None else f"{origin.value:g}" if isinstance(origin.value, float) else origin.value
            )
            table.add_row(name, plain(str(value)), plain(origin.source))
        out().print(table)


def _to_json(found: Configuration) -> dict[str, object]:
    return {
        "config": None if found.path is None else str(found.path),
        "is_there": found.is_there,
        "settings": [
            {"name": name, "value": origin.value, "source": origin.source} for name, origin in found.origins.items()
        ],
    }
