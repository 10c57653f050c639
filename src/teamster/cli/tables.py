"""How the verbs that take a launch table read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from teamster.cli.application import Desk
from teamster.intake import one_job, read_table
from teamster.model import Table
from teamster.operations import straight

SUFFIX_CHARACTERS: Final = 6
TableArgument = Annotated[Path | None, typer.Argument(metavar="TABLE", help="A launch table: YAML, JSON or TOML.")]
NewOption = Annotated[bool, typer.Option("--new", help="Make another batch of a table that ran before.")]


def read(desk: Desk, path: Path, *, new: bool) -> Table:
    """Read a table; `new` gives its batch an id of its own.

    Raises:
        TableProblems: it can't be taken; every problem is listed.
    """
    return read_table(straight(path), defaults=desk.defaults, new=_suffix(desk) if new else None, root=desk.choice.path)


def read_prompt(desk: Desk, prompt: str, directory: Path) -> Table:
    """Make a table of one prompt; the same prompt again is another batch.

    Raises:
        UsageError: the prompt or the directory can't be taken.
    """
    return one_job(prompt, directory, desk.defaults, new=_suffix(desk), root=desk.choice.path)


def agents_of(table: Table) -> set[str]:
    """Name the agents that a table needs."""
    return {step.agent.agent for job in table.jobs for step in job.steps}


def _suffix(desk: Desk) -> str:
    return desk.names.token()[-SUFFIX_CHARACTERS:]
