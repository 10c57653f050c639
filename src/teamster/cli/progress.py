"""Live progress: a bar in a terminal, a line for each ended attempt everywhere."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from teamster.cli.application import Site
from teamster.cli.console import err, styled
from teamster.kit import one_line
from teamster.model import Attempt, AttemptStatus, BatchId, RunId
from teamster.operations import Control
from teamster.views import troubles

REASON_CHARACTERS_MAX: Final = 160
LOOK_SECONDS: Final = 5.0
DRAINING: Final = "draining: agents that run are finished, nothing new is started; once more to stop them"
STOPPING: Final = "stopping: agents are ended, their steps may run again"
DONE: Final = ("succeeded", "failed")
PARTS: Final = ("running", "queued", "stalled", "waiting", "failed")


class Progress:
    """Watches ticks and tells a person; says nothing where a program listens."""

    def __init__(self, site: Site, batch_id: BatchId | None, control: Control, *, quiet: bool) -> None:
        self._harness = site.harness
        self._batch_id = batch_id
        self._warned: set[RunId] = set()
        self._looked_at = site.harness.clock.now().boot_seconds
        self._control = control
        self._said = ""
        self._console = err()
        self._quiet = quiet
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        if not quiet and self._console.is_terminal:
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
                expand=True,
            )

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    def watch(self, happened: Any, store: Any) -> None:
        """Take in one tick."""
        if self._quiet:
            return
        self._say_what_was_wished()
        for attempt in happened.adopted:
            self._say(f"[cyan]adopted[/] {attempt.step}  it lived on without us")
        for attempt in happened.ended:
            self._say(_line(attempt))
        for run_id in happened.superseded:
            self._say(f"[yellow]superseded[/] {run_id}  somebody else owns its step by now; what we found is kept")
        self._warn(store)
        if self._bar is not None and self._task is not None:
            counts = store.counts(batch_id=self._batch_id)
            parts = ", ".join(f"{counts[part]} {part}" for part in PARTS if counts.get(part))
            self._bar.update(
                self._task,
                total=sum(counts.values()),
                completed=sum(counts.get(name, 0) for name in DONE),
                description=parts or "done",
            )

    def _warn(self, store: Any) -> None:
        """Say once of each attempt that its agent does not reach its model; look so often, and not with each tick."""
        now = self._harness.clock.now().boot_seconds
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        for trouble in troubles(store, self._harness.root, self._batch_id, known=self._warned):
            self._warned.add(trouble.run_id)
            fact = one_line(trouble.fact, characters_max=REASON_CHARACTERS_MAX)
            self._say(f"[yellow]warning:[/] {trouble.step}  {escape(fact)}")

    def _say_what_was_wished(self) -> None:
        """Answer a signal; its handler must not print, it may have come in the middle of a line."""
        control = self._control
        wished = STOPPING if control.stopping else "" if control.leaving else DRAINING if control.draining else ""
        if wished != self._said:
            self._said = wished
            self._say(f"[yellow]{wished}[/]")

    def _say(self, line: str) -> None:
        (self._bar.console if self._bar is not None else self._console).print(line, soft_wrap=True)


def _line(attempt: Attempt) -> str:
    assert attempt.ended_at is not None
    seconds = (attempt.ended_at - attempt.started_at).total_seconds()
    line = f"{styled(attempt.status.value)} {attempt.step}  {seconds:.1f} s"
    if attempt.status is AttemptStatus.SUCCEEDED:
        return line
    reason = one_line(str(attempt.facts.get("reason", "")), characters_max=REASON_CHARACTERS_MAX)
    return f"{line}  {escape(reason)}"
