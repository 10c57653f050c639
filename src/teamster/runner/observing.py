"""What can be seen of an attempt while it runs: its output, and a heartbeat that says that somebody looks."""

from __future__ import annotations

from typing import Final

from teamster.artifacts import AttemptFile, Root, attempt_file, blames_disk, heartbeat
from teamster.kit import Instant, document, write_snapshot
from teamster.runner.carried import Carried

ACTIVITY_SECONDS_MIN: Final = 2.0


def look(carried: Carried, now: Instant, *, root: Root, heartbeat_seconds: float) -> None:
    """Read what is new and say that somebody looks. Where its agent took its places away, that is told at its end.

    Raises:
        OSError: the disk failed.
    """
    try:
        observe(carried, now)
        beat(carried, now, root=root, heartbeat_seconds=heartbeat_seconds)
    except OSError as error:
        if blames_disk(error):
            raise
        carried.tampered = carried.tampered or str(error)


def observe(carried: Carried, now: Instant) -> None:
    """Read what the agent wrote since the last look, and notice its last word."""
    carried.stream.read()
    if carried.stream.reading.terminal is None:
        carried.done_since = None  # another turn began: what it said last was not its last word
    elif carried.done_since is None:
        carried.done_since = now.boot_seconds


def beat(carried: Carried, now: Instant, *, root: Root, heartbeat_seconds: float) -> None:
    """Write a heartbeat when one is due, or sooner when there is news; never flushed."""
    reading = carried.stream.reading
    news = reading.thread_id != carried.state["codex_thread_id"] or (
        reading.activity is not None and reading.activity != carried.state["current_item"]
    )
    due = ACTIVITY_SECONDS_MIN if news else heartbeat_seconds
    if now.boot_seconds - carried.beat_at < due:
        return
    carried.beat_at = now.boot_seconds
    carried.state = heartbeat(
        carried.state,
        at=max(now.wall, carried.attempt.started_at),
        current_item=reading.activity,
        codex_thread_id=reading.thread_id,
    )
    path = root.at(attempt_file(carried.attempt.directory, AttemptFile.STATE))
    write_snapshot(path, document(carried.state))
