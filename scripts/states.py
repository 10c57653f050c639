"""Write `docs/states.md` from the tables of `teamster.model`: the page can't differ from the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from teamster.kit import write_snapshot
from teamster.model import (
    ATTEMPT_MOVES,
    FINAL_ATTEMPT_STATUSES,
    FINAL_STATUSES,
    MOVES,
    VIEWS,
    AttemptStatus,
    ItemStatus,
    StepStatus,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "states.md"
PAGE_MODE = 0o644

HEAD = """# States

Generated from `src/teamster/model/states.py` by `make docs`; a test compares the two. Change the tables, not this page.

Three vocabularies are three views of one history. The store speaks contract v1 (items), the files speak of attempts,
the prompt inbox of prompt jobs. Each is a table of moves, and one more table joins them.
"""
ITEMS = """## Items

The lifecycle of contract v1. The owner's moves are refused to everybody else, but for `stall` once the lease has run
out. The two extension moves are ours: an operator or a policy makes them, never over the head of an owner.
"""
ATTEMPTS = """## Attempts

The words of `state.json`. A final status never changes; a retry is a new attempt.
"""
STEPS = """## Steps

What a scoreboard says of a step is derived, never stored:
{names}.
"""
JOINED = """## One history in three vocabularies

Where a reader can see several states one after the other, they are joined by an arrow. An attempt that ended while its
owner was gone is adopted first and then ends by its exit record, in one of the rows below.
"""


def render() -> str:
    """Return the whole page."""
    return (
        "\n".join(
            [
                HEAD,
                ITEMS,
                _table(["verb", "from", "to", "event", "who"], _item_rows()),
                _diagram(_item_arrows()),
                ATTEMPTS,
                _table(["from", "to"], _attempt_rows()),
                _diagram(_attempt_arrows()),
                STEPS.format(names=_names(StepStatus)),
                JOINED,
                _table(["what happened", "item", "`error.code`", "attempt", "prompt job", "prompt run"], _view_rows()),
            ]
        ).rstrip("\n")
        + "\n"
    )


def _item_rows() -> Iterator[list[str]]:
    for verb, move in MOVES.items():
        who = "the owner" if move.owned else "anybody"
        yield [
            f"`{verb}`",
            _names(status for status in ItemStatus if status in move.sources) or "nothing",
            f"`{move.to}`" if move.to else "the same",
            f"`{move.event}`",
            f"{who}; extension" if move.extension else who,
        ]


def _item_arrows() -> Iterator[str]:
    for verb, move in MOVES.items():
        if not move.sources:
            yield f"[*] --> {move.to}: {verb}"
        for source in (status for status in ItemStatus if status in move.sources):
            yield f"{source} --> {move.target(source)}: {verb}"
    yield from (f"{status} --> [*]" for status in ItemStatus if status in FINAL_STATUSES)


def _attempt_rows() -> Iterator[list[str]]:
    for status, targets in ATTEMPT_MOVES.items():
        yield [f"`{status}`", _names(target for target in AttemptStatus if target in targets) or "nothing: final"]


def _attempt_arrows() -> Iterator[str]:
    yield f"[*] --> {AttemptStatus.QUEUED}"
    for status, targets in ATTEMPT_MOVES.items():
        yield from (f"{status} --> {target}" for target in AttemptStatus if target in targets)
    yield from (f"{status} --> [*]" for status in AttemptStatus if status in FINAL_ATTEMPT_STATUSES)


def _view_rows() -> Iterator[list[str]]:
    for view in VIEWS:
        yield [
            view.happened,
            _sequence(view.item) or "no record yet",
            f"`{view.error_code}`" if view.error_code else "-",
            f"`{view.attempt}`" if view.attempt else "-",
            _sequence(view.prompt_queue) or "-",
            f"`{view.prompt_run}`" if view.prompt_run else "-",
        ]


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sequence(names: Iterable[str]) -> str:
    return " → ".join(f"`{name}`" for name in names)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _diagram(arrows: Iterable[str]) -> str:
    lines = "".join(f"    {arrow}\n" for arrow in arrows)
    return f"```mermaid\nstateDiagram-v2\n{lines}```\n"


if __name__ == "__main__":
    write_snapshot(PAGE, render().encode(), mode=PAGE_MODE)
    print(f"wrote {PAGE}")
