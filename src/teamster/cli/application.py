"""What the command line is given by wiring, and what all of its verbs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer

from teamster.kit import Names
from teamster.model import TableDefaults
from teamster.operations import AgentView, Configuration, Harness, RootChoice

RootOption = Annotated[
    Path | None,
    typer.Option("--root", help="Where everything lies.", envvar=None, show_default="TEAMSTER_ROOT, or found"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
SlotsOption = Annotated[
    int | None, typer.Option("--slots", min=1, max=512, help="Agents that run at once.", show_default="8")
]
BatchArgument = Annotated[
    str | None,
    typer.Argument(metavar="[BATCH]", help="A batch, or the beginning of its id.", show_default="the newest"),
]
StepArgument = Annotated[str | None, typer.Argument(metavar="[JOB[.STEP]]", help="A job, or one of its steps.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What reading a table needs; its root may not be there yet, and a table that is wrong makes none."""

    choice: RootChoice
    defaults: TableDefaults
    names: Names
    agent_env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A harness, and how its root was found."""

    harness: Harness
    choice: RootChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A harness with a root of its own, whose agents ask the scripted model."""

    site: Site
    model_url: str


class Application(Protocol):
    """What wiring builds for each command."""

    @property
    def cwd(self) -> Path:
        """The folder that the command was typed in."""
        ...

    def configuration(self, *, slots: int | None = None) -> Configuration:
        """Say what holds for each setting, and where its value comes from."""
        ...

    def desk(self, root: Path | None, *, slots: int | None = None, rehearsal: bool = False) -> Desk:
        """Say what holds for a table under a root, or under the rehearsal beside it; open nothing."""
        ...

    def open(self, root: Path | None, *, slots: int | None = None) -> Site:
        """Open a root to work on; one that isn't there is made."""
        ...

    def look(self, root: Path | None) -> Site:
        """Open a root to look at; one that isn't there is refused."""
        ...

    def agents(self) -> Sequence[AgentView]:
        """Look at every agent of this machine; no root is needed."""
        ...

    def rehearse(self, root: Path | None, *, scenario: Path | None, slots: int | None) -> Rehearsal:
        """Open the rehearsal beside a root and start its model."""
        ...


def application_of(context: typer.Context) -> Application:
    """Return what wiring passed in."""
    application: Application = context.obj
    return application
