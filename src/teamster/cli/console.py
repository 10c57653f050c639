"""The terminal: answers on standard output, everything else on standard error, JSON as one object.

A reader that goes away (`teamster status | head -1`) ends no work: what is said after that is dropped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from rich.console import Console

from teamster.kit import printable
from teamster.model import WorldError
from teamster.operations import RootChoice

STYLES: Final[Mapping[str, str]] = {
    "blocked": "dim",
    "ready": "blue",
    "running": "cyan",
    "succeeded": "green",
    "failed": "red",
    "needs_attention": "yellow",
    "canceled": "magenta",
}
PIPED_COLUMNS: Final = 1000  # a program or `grep` reads lines, not a layout


class PatientConsole(Console):
    """A console that falls silent where the library would end the program."""

    def on_broken_pipe(self) -> None:
        """Drop what nobody reads."""
        self.quiet = True
        _drop(sys.stderr if self.stderr else sys.stdout)

    def print(self, *objects: Any, **manner: Any) -> None:
        """Print, as the library does.

        Raises:
            WorldError: standard output can't take it. What standard error can't take is lost with it.
        """
        try:
            super().print(*objects, **manner)
        except OSError as error:
            self.on_broken_pipe()
            if not self.stderr:
                raise _unwritable(error) from error


def out() -> Console:
    """Return the console for answers: plain, and one line for each row, when piped."""
    return _console(stderr=False)


def err() -> Console:
    """Return the console for everything else."""
    return _console(stderr=True)


def say_root(choice: RootChoice, *, as_json: bool) -> None:
    """Say which root a command uses."""
    if not as_json:
        err().print(f"root {choice.path} ({choice.why})", style="dim", markup=False, soft_wrap=True)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object for a program."""
    print_line(json.dumps(value, ensure_ascii=True, indent=2))


def print_line(text: str) -> bool:
    """Print a line as it is, at once; tell whether anybody reads it.

    Raises:
        WorldError: standard output can't take it.
    """
    if sys.stdout is None:  # it was closed before we came
        return False
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
        return False
    except OSError as error:
        _drop(sys.stdout)
        raise _unwritable(error) from error
    return True


def write_anything() -> None:
    """Make the streams of this process write what their encoding doesn't know as an escape, in place of an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def styled(status: str) -> str:
    """Write a status in its colour."""
    style = STYLES.get(status)
    return f"[{style}]{status}[/]" if style else status


def plain(text: str) -> str:
    """Write what somebody else wrote so that it is shown, not obeyed."""
    return printable(text).replace("[", "\\[")


def counted(number: int, name: str) -> str:
    """Write a number of things: `1 job`, `2 jobs`."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _console(*, stderr: bool) -> Console:
    console = PatientConsole(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = PIPED_COLUMNS
    return console


def _unwritable(error: OSError) -> WorldError:
    return WorldError(
        f"standard output can't be written: {(error.strerror or str(error)).lower()}",
        hint="whatever the command did is done; teamster status shows it",
    )


def _drop(stream: TextIO) -> None:
    """Let whatever a stream still holds, and all that comes, go nowhere: else the interpreter complains at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
