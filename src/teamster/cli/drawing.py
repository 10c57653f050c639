"""Views as text: tables that fit a terminal, and where to look next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from teamster.cli.application import Site
from teamster.cli.console import counted, styled
from teamster.kit import one_line
from teamster.model import StepStatus
from teamster.views import BatchRow, Scoreboard, StepRow, in_words

NOTE_CHARACTERS_MAX: Final = 300
GOAL_CHARACTERS_MIN: Final = 20  # a goal that is cut shorter says nothing
ROWS_SHOWN_MAX: Final = 40
GAP: Final = 2  # between columns
MINUTE_SECONDS: Final = 60
HOUR_SECONDS: Final = 3600


def table_of(*columns: str) -> RichTable:
    """Begin a table as all of ours look; what doesn't fit is folded."""
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def draw_batches(console: Console, rows: Sequence[BatchRow]) -> None:
    """Draw all batches, one line each where the terminal is wide enough for their ids."""
    if not rows:
        console.print("no batch yet: teamster run TABLE", style="dim")
        return
    cells = [(row.batch_id, _moment(row.submitted_at), str(row.steps_total), _plain_counts(row.counts)) for row in rows]
    heads = ("batch", "submitted", "steps", "state")
    used = sum(max(len(row[column]) for row in (heads, *cells)) + GAP for column in range(len(heads)))
    room = max(GOAL_CHARACTERS_MIN, min(NOTE_CHARACTERS_MAX, console.width - used))
    table = table_of(*heads, "goal")
    for row, (batch_id, submitted, steps, _) in zip(rows, cells, strict=True):
        goal = escape(one_line(row.goal, characters_max=room))
        table.add_row(batch_id, submitted, steps, _styled_counts(row.counts), goal)
    console.print(table)


def draw_scoreboard(console: Console, board: Scoreboard, *, all_steps: bool, option: str = "") -> None:
    """Draw one batch: its counts, and the steps to look at; every step of a small batch, or on demand.

    `option` is what a command needs to find the same root.
    """
    total = f"{counted(board.jobs_total, 'job')}, {counted(board.steps_total, 'step')}"
    console.print(f"[bold]{board.batch_id}[/]  {total}: {_styled_counts(board.counts)}")
    if words := in_words(board.usage):
        console.print(f"used: {words}", style="dim", highlight=False)
    rows = board.steps
    if not all_steps and len(rows) > ROWS_SHOWN_MAX:
        rows = tuple(row for row in rows if row.status not in {StepStatus.SUCCEEDED, StepStatus.BLOCKED})
    shown = rows if all_steps else rows[:ROWS_SHOWN_MAX]
    if shown:
        table = table_of("step", "status", "tries", "note")
        for row in shown:
            about = escape(one_line(_about(row, board.computed_at), characters_max=NOTE_CHARACTERS_MAX))
            table.add_row(str(row.step), styled(row.status.value), str(row.attempts or ""), about)
        console.print(table)
    if len(shown) < len(board.steps):
        hidden = counted(len(board.steps) - len(shown), "step")
        command = f"teamster status {board.batch_id} --all{escape(option)}"
        console.print(f"{hidden} not shown: {command}", style="dim", soft_wrap=True)
    for name in board.superseded:
        console.print(f"[yellow]superseded[/] evidence of {name}: found by a runner that had lost its lease")


def draw_where_to_look(console: Console, site: Site, board: Scoreboard) -> None:
    """Say where the files lie and what to try next."""
    option = escape(site.choice.option)
    console.print(f"files: {escape(str(site.choice.path / 'runs' / board.batch_id))}", style="dim", soft_wrap=True)
    for row in board.attention[:3]:
        console.print(f"look:  teamster show {board.batch_id} {row.step}{option}", style="dim", soft_wrap=True)
    if not board.is_settled and site.choice.rehearses is None:
        console.print(f"go on: teamster up{option}", style="dim", soft_wrap=True)
    if board.attention:
        console.print(f"again: teamster retry {board.batch_id}{option}", style="dim", soft_wrap=True)


def draw_span(seconds: float) -> str:
    """Write a span of time as people say it."""
    if seconds < MINUTE_SECONDS:
        return f"{seconds:.0f} s"
    if seconds < HOUR_SECONDS:
        return f"{seconds // MINUTE_SECONDS:.0f} min {seconds % MINUTE_SECONDS:.0f} s"
    return f"{seconds // HOUR_SECONDS:.0f} h {seconds % HOUR_SECONDS // MINUTE_SECONDS:.0f} min"


def _about(row: StepRow, at: datetime) -> str:
    """Say about a step what a person wants to know now."""
    if row.status is StepStatus.RUNNING:
        running, silent = row.running_seconds(at), row.silent_seconds(at)
        parts = [
            row.note,
            "" if running is None else f"for {draw_span(running)}",
            "" if silent is None else f"seen {draw_span(silent)} ago",
        ]
        return ", ".join(part for part in parts if part)
    if row.due_at is not None and row.status is StepStatus.READY:
        due = (row.due_at - at).total_seconds()
        return f"{row.note} {'now' if due <= 0 else f'in {draw_span(due)}'}".strip()
    return row.note


def _plain_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number)


def _styled_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {styled(name)}" for name, number in counts.items() if number)


def _moment(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
