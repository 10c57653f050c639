"""The program `teamster`: its verbs, and the one place where an error becomes an exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from teamster import __version__
from teamster.cli.agents import agents
from teamster.cli.application import Application
from teamster.cli.cancel import cancel
from teamster.cli.config import config
from teamster.cli.console import print_line, write_anything
from teamster.cli.explain import EXIT_INTERRUPTED, EXIT_OK, explain
from teamster.cli.init import init
from teamster.cli.logs import logs
from teamster.cli.rehearse import rehearse
from teamster.cli.retry import retry
from teamster.cli.run import run as run_table
from teamster.cli.show import show
from teamster.cli.status import status
from teamster.cli.submit import submit
from teamster.cli.up import up
from teamster.cli.validate import validate
from teamster.cli.verify import verify

RUN_PANEL = "Run"
LOOK_PANEL = "Look"
STEER_PANEL = "Steer"
_VERBS = (
    (run_table, "run", RUN_PANEL),
    (rehearse, "rehearse", RUN_PANEL),
    (submit, "submit", RUN_PANEL),
    (up, "up", RUN_PANEL),
    (validate, "validate", RUN_PANEL),
    (init, "init", RUN_PANEL),
    (status, "status", LOOK_PANEL),
    (show, "show", LOOK_PANEL),
    (logs, "logs", LOOK_PANEL),
    (agents, "agents", LOOK_PANEL),
    (verify, "verify", LOOK_PANEL),
    (config, "config", LOOK_PANEL),
    (cancel, "cancel", STEER_PANEL),
    (retry, "retry", STEER_PANEL),
)


def run(make: Callable[[], Application], arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; `make` builds what it needs, and may fail as it may."""
    write_anything()
    try:
        code = _program(make())(args=list(arguments) or ["--help"], prog_name="teamster", standalone_mode=False)
    except SystemExit as end:  # completion ends so, and help whose reader went away
        if isinstance(end.__context__, BrokenPipeError):
            return EXIT_OK
        return end.code if isinstance(end.code, int) else EXIT_OK
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 # the top of the process: nobody is shown a traceback
        return explain(error, as_json="--json" in arguments)
    return code if isinstance(code, int) else EXIT_OK


def _program(application: Application) -> typer.Typer:
    program = typer.Typer(
        name="teamster",
        help="Drive a team of coding agents in harness.",
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @program.callback()
    def _main(
        context: typer.Context,
        *,
        version: Annotated[
            bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
        ] = False,
    ) -> None:
        del version
        context.obj = application

    for function, name, panel in _VERBS:
        program.command(name, rich_help_panel=panel)(function)
    return program


def _print_version(wanted: bool) -> None:  # noqa: FBT001 # the library calls it so
    if wanted:
        print_line(f"teamster {__version__}")
        raise typer.Exit
