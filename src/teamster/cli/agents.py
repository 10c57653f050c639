"""`teamster agents`: which agent programs are here, and whether they can be used."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape

from teamster.cli.application import JsonOption, application_of
from teamster.cli.console import out, print_json
from teamster.kit import printable
from teamster.operations import AgentView


def agents(context: typer.Context, *, json: JsonOption = False) -> None:
    """List the agents: program, version, where their key comes from, and what keeps one from being used."""
    views = application_of(context).agents()
    if json:
        print_json({"agents": [view.to_json() for view in views]})
        return
    for view in views:
        _draw(out(), view)


def _draw(console: Console, view: AgentView) -> None:
    standing = "[green]ready[/]" if view.problem is None else f"[yellow]{_said(view.problem)}[/]"
    console.print(f"[bold]{_said(view.name)}[/]  {standing}", soft_wrap=True)
    facts = {
        "program": view.program,
        "version": None if view.version is None else _version(view),
        "key": _key(view),
        "own files": ", ".join(view.own_files) or None,
        "hint": view.hint,
    }
    for name, value in facts.items():
        if value is not None:
            console.print(f"  {name:10}{_said(value)}", soft_wrap=True)


def _version(view: AgentView) -> str:
    tested = ", ".join(view.tested_versions)
    return str(view.version) if not tested else f"{view.version} (tested: {tested})"


def _key(view: AgentView) -> str | None:
    if view.key_variable is not None:
        return f"in {view.key_variable}"
    if view.signed_in:
        return "none, but a login"
    return "none" if view.needs_key else None


def _said(text: str) -> str:
    return escape(printable(text))
