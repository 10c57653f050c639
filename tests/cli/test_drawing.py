"""Drawings as text: one value of a view in, lines out."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from rich.console import Console

from teamster.cli.drawing import draw_batches, draw_scoreboard, draw_span
from teamster.model import BatchId, JobId, StepId, StepKey, StepStatus
from teamster.views import BatchRow, Scoreboard, StepRow

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
BATCH: Final = BatchId("nightly-0123456789ab")


def row(job: str, status: StepStatus, note: str = "", **more: object) -> StepRow:
    """Make a step's row."""
    return StepRow(step=StepKey(BATCH, JobId(job), StepId("fix")), status=status, note=note, **more)  # type: ignore[arg-type]


BOARD: Final = Scoreboard(
    batch_id=BATCH,
    submitted_at=NOON,
    computed_at=NOON + timedelta(seconds=100),
    goal="Mend what fails at night.",
    jobs_total=6,
    steps_total=6,
    steps=(
        row("parser", StepStatus.SUCCEEDED, "Mended [bold]two[/] tests.", attempts=1),
        row(
            "network",
            StepStatus.RUNNING,
            "reads sockets.py",
            attempts=2,
            started_at=NOON + timedelta(seconds=9),
            last_heartbeat_at=NOON + timedelta(seconds=96),
        ),
        row("flaky", StepStatus.READY, "a retry is due", attempts=1, due_at=NOON + timedelta(seconds=130)),
        row("docs", StepStatus.NEEDS_ATTENTION, "its report is missing", attempts=1),
        row("types", StepStatus.FAILED, "exit code 1", attempts=3),
        row("release", StepStatus.BLOCKED, "waits for types.fix (failed)"),
    ),
    is_settled=False,
    superseded=("run_0123456789abcdef-3",),
)


def drawn(width: int, draw: object) -> str:
    """Draw on a terminal of a width, and return what a person sees."""
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    draw(console)  # type: ignore[operator]
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_a_board_says_what_happens_what_is_due_and_what_to_look_at() -> None:
    assert drawn(100, lambda console: draw_scoreboard(console, BOARD, all_steps=False)) == (
        """\
nightly-0123456789ab  6 jobs, 6 steps: 1 blocked, 1 ready, 1 running, 1 succeeded, 1 failed, 1
needs_attention
step         status           tries  note
parser.fix   succeeded        1      Mended [bold]two[/] tests.
network.fix  running          2      reads sockets.py, for 1 min 31 s, seen 4 s ago
flaky.fix    ready            1      a retry is due in 30 s
docs.fix     needs_attention  1      its report is missing
types.fix    failed           3      exit code 1
release.fix  blocked                 waits for types.fix (failed)
superseded evidence of run_0123456789abcdef-3: found by a runner that had lost its lease"""
    )


def test_a_narrow_terminal_wraps_notes_and_leaves_ids_whole() -> None:
    """An id that is cut can't be copied."""
    narrow = drawn(60, lambda console: draw_scoreboard(console, BOARD, all_steps=False))

    assert "network.fix  running          2      reads sockets.py, for 1" in narrow.splitlines()
    assert max(len(line) for line in narrow.splitlines()) <= 60


def test_a_large_board_shows_what_somebody_should_see() -> None:
    """Hundreds of successes say nothing; the way to them is named."""
    many = tuple(row(f"job{number}", StepStatus.SUCCEEDED) for number in range(100))
    large = replace(BOARD, steps=(*many, *BOARD.steps), superseded=())
    option = " --root /there"
    text = drawn(120, lambda console: draw_scoreboard(console, large, all_steps=False, option=option)).splitlines()

    assert [line.split()[0] for line in text[2:-1]] == ["network.fix", "flaky.fix", "docs.fix", "types.fix"]
    assert text[-1] == f"102 steps not shown: teamster status {BATCH} --all --root /there"
    whole = drawn(120, lambda console: draw_scoreboard(console, large, all_steps=True)).splitlines()
    assert len(whole) == 2 + 106


def test_batches_stand_in_one_line_each_and_the_goal_takes_what_is_left() -> None:
    counts = dict.fromkeys((status.value for status in StepStatus), 0)
    rows = [
        BatchRow(
            batch_id=BATCH,
            submitted_at=NOON,
            goal="Mend what fails at night, and say so in the morning to whoever comes first.",
            source="/t.yaml",
            agents=("codex",),
            jobs_total=3,
            steps_total=4,
            counts={**counts, "succeeded": 3, "failed": 1},
            is_settled=True,
        )
    ]
    text = drawn(100, lambda console: draw_batches(console, rows)).splitlines()

    assert text[0].split() == ["batch", "submitted", "steps", "state", "goal"]
    assert len(text) == 2
    assert text[1].startswith(f"{BATCH}  2026-01-01 ")
    assert text[1].endswith("…")
    assert "4      3 succeeded, 1 failed  Mend what fails" in text[1]
    assert drawn(100, lambda console: draw_batches(console, [])) == "no batch yet: teamster run TABLE"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7384, "2 h 3 min")]
)
def test_spans_are_written_as_people_say_them(seconds: float, text: str) -> None:
    assert draw_span(seconds) == text
