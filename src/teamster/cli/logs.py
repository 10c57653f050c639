"""`teamster logs`: what an agent printed."""

from __future__ import annotations

import sys
import threading
from typing import Annotated

import typer

from teamster.cli.application import JsonOption, RootOption, StepArgument, application_of
from teamster.cli.console import print_json, print_line
from teamster.cli.steps import attempt_named
from teamster.kit import printable
from teamster.model import UsageError
from teamster.views import follow_log, read_log


def logs(
    context: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="BATCH|RUN", help="A batch, the beginning of its id, or a run.")],
    step: StepArgument = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Stay until the attempt has ended.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="The agent's own event lines.")] = False,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Print what the newest attempt of a step, or one run, has printed."""
    site = application_of(context).look(root)
    named = attempt_named(site, "logs", what, step)
    if named is None:
        raise UsageError(f"whose log? {what} is a batch", hint=f"teamster logs {what} JOB.STEP, or teamster logs RUN")
    run_id, directory = named
    harness_root = site.harness.root
    if follow:
        lines = follow_log(harness_root, directory, wait=threading.Event().wait, raw=raw)
    else:
        lines = read_log(harness_root, directory, raw=raw)
    if json:
        print_json({"run_id": run_id, "lines": list(lines)})
        return
    shown = printable if sys.stdout.isatty() else str
    for line in lines:
        if not print_line(shown(line)):
            return
