"""Turns errors into text and exit codes; nothing else does."""

from __future__ import annotations

import contextlib
import traceback
from pathlib import Path
from typing import Final

from typer.exceptions import TyperException

from teamster.cli.console import err, plain, print_json
from teamster.model import InputProblems, LeaseLost, TeamsterError, UsageError, WorldError

EXIT_OK: Final = 0
EXIT_UNSUCCESSFUL: Final = 1  # the batch is settled, and not all of it succeeded
EXIT_USAGE: Final = 2
EXIT_WORLD: Final = 3
EXIT_INTERRUPTED: Final = 130
EXIT_LEFT: Final = 143
FRAMES_SHOWN_MAX: Final = 4


def exit_code(error: TeamsterError) -> int:
    """Return the exit code of an error: one for each trunk."""
    match error:
        case UsageError():
            return EXIT_USAGE
        case WorldError() | LeaseLost():
            return EXIT_WORLD
        case _:
            return EXIT_WORLD


def explain(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong and what to try next, and return the exit code."""
    told = _told(error)
    problems = told.problems if isinstance(told, InputProblems) else ()
    code = exit_code(told)
    if as_json:
        listed = [{"place": p.place, "field": p.field, "fact": p.fact, "hint": p.hint} for p in problems]
        with contextlib.suppress(WorldError):  # nowhere to say it: the exit code must do
            print_json({"error": {"message": told.fact, "hint": told.hint, "exit_code": code, "problems": listed}})
        return code
    console = err()
    console.print(f"[red]error:[/] {plain(told.fact)}", soft_wrap=True)
    for problem in problems:
        console.print(
            f"  [bold]{plain(problem.place)}[/]: {plain(problem.field)}: {plain(problem.fact)}", soft_wrap=True
        )
        if problem.hint:
            console.print(f"      {plain(problem.hint)}", style="dim", soft_wrap=True)
    if told.hint:
        console.print(f"[dim]hint:[/]  {plain(told.hint)}", soft_wrap=True)
    return code


def _told(error: Exception) -> TeamsterError:
    """Give each error a fact and a way out, those that are not ours too."""
    match error:
        case TeamsterError():
            return error
        case TyperException():
            context = getattr(error, "ctx", None)
            command = "teamster" if context is None else context.command_path
            return UsageError(error.format_message(), hint=f"{command} --help")
        case OSError():
            subject = "" if error.filename is None else f"{_text(error.filename)}: "
            return WorldError(
                f"{subject}{(error.strerror or str(error)).lower()}",
                hint="agents that run live on; mend that, and the same command goes on with them",
            )
        case _:
            frames = traceback.extract_tb(error.__traceback__)[-FRAMES_SHOWN_MAX:]
            where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
            return WorldError(
                f"a mistake in teamster itself: {type(error).__name__}: {error} ({where})",
                hint="please report this line; nothing that was acknowledged is lost, and agents that run live on",
            )


def _text(filename: str | bytes | int) -> str:
    return filename.decode("utf-8", "replace") if isinstance(filename, bytes) else str(filename)
