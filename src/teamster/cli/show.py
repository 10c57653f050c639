"""`teamster show`: a step's attempts, and all that is kept of one."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from teamster.cli.application import JsonOption, RootOption, Site, StepArgument, application_of
from teamster.cli.console import counted, out, print_json, say_root, styled
from teamster.cli.drawing import draw_scoreboard
from teamster.cli.steps import attempt_named
from teamster.kit import one_line, printable
from teamster.views import AttemptView, StepView, find_batch, in_words, scoreboard, show_attempt, step_of

TEXT_LINES_MAX: Final = 60
REASON_CHARACTERS_MAX: Final = 160


def show(
    context: typer.Context,
    *,
    what: Annotated[str, typer.Argument(metavar="BATCH|RUN", help="A batch, the beginning of its id, or a run.")],
    step: StepArgument = None,
    root: RootOption = None,
    json: JsonOption = False,
) -> None:
    """Show a batch, the newest attempt of a step, or one run: report, verdict, diff, where the files lie."""
    site = application_of(context).look(root)
    say_root(site.choice, as_json=json)
    named = attempt_named(site, "show", what, step)
    if named is None:
        _show_batch(site, what, as_json=json)
        return
    view = show_attempt(site.harness.root, *named)
    store = site.harness.open_store()
    try:
        key = step_of(view.directory)
        history = StepView(step=key, attempts=tuple(store.attempts(step=key)))
    finally:
        store.close()
    if json:
        print_json({"root": str(site.choice.path), **view.to_json(), "attempts": history.to_json()["attempts"]})
    else:
        _draw(out(), view, site.choice.option)
        _draw_others(out(), view, history)


def _show_batch(site: Site, what: str, *, as_json: bool) -> None:
    harness = site.harness
    store = harness.open_store()
    try:
        board = scoreboard(store, harness.root, find_batch(store, what), at=harness.clock.now().wall)
    finally:
        store.close()
    if as_json:
        print_json(board.to_json())
    else:
        draw_scoreboard(out(), board, all_steps=True)


def _draw(console: Console, view: AttemptView, option: str) -> None:
    meta, state = view.documents.get("meta") or {}, view.documents.get("state") or {}
    status = styled(str(state.get("status", "initializing"))) if view.is_kept else "its files are gone"
    console.print(f"[bold]{step_of(view.directory)}[/]  {view.run_id}  {status}")
    facts = {
        "reason": state.get("reason"),
        "failure class": state.get("failure_class"),
        "exit code": state.get("exit_code"),
        "started": state.get("started_at"),
        "ended": state.get("ended_at"),
        "thread": state.get("codex_thread_id"),
        "usage": in_words(state.get("usage")),
        "resumed from": meta.get("parent_run_id"),
        "agent": " ".join(str(meta.get("environment", {}).get(name) or "") for name in ("agent", "agent_version")),
        "works in": meta.get("environment", {}).get("working_directory"),
        "files": view.path,
    }
    for name, value in facts.items():
        if value not in {None, "", " "}:
            console.print(f"  {name:14}{escape(printable(str(value)))}", soft_wrap=True)
    report = view.documents.get("final")
    if report is not None:
        console.print(f"  {'report':14}{escape(printable(str(report.get('summary', ''))))}", soft_wrap=True)
    for name, text in view.texts.items():
        if text:
            _draw_text(console, name, text)
    if not view.is_kept:
        console.print(f"[dim]hint:[/]  teamster verify{escape(option)} says what else is missing", soft_wrap=True)
    for name in view.superseded:
        console.print(f"[yellow]superseded[/] evidence in {name}")


def _draw_others(console: Console, view: AttemptView, history: StepView) -> None:
    """List the other attempts of the step: a retry rewrites no history, so it must be found."""
    others = [attempt for attempt in history.attempts if attempt.run_id != view.run_id]
    if others:
        console.print(f"\n[bold]{counted(len(others), 'other attempt')}[/]")
    for attempt in others:
        reason = one_line(str(attempt.facts.get("reason") or ""), characters_max=REASON_CHARACTERS_MAX)
        console.print(f"  {attempt.run_id}  {styled(attempt.status.value)}  {escape(reason)}".rstrip(), soft_wrap=True)


def _draw_text(console: Console, name: str, text: str) -> None:
    lines = text.splitlines()
    console.print(f"\n[bold]{name}[/]")
    for line in lines[:TEXT_LINES_MAX]:
        console.print(escape(printable(line)), soft_wrap=True)
    if len(lines) > TEXT_LINES_MAX:
        console.print(f"… {counted(len(lines) - TEXT_LINES_MAX, 'more line')} in the file", style="dim")
