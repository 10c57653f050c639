"""A file that changes under a harness that works: good news is taken, bad news told, and the last good one holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from operations.place import Place, step
from teamster.kit import ManualClock
from teamster.operations import Control, Reloading, configuration, work
from teamster.operations.reloading import LOOK_SECONDS
from teamster.runner import Happened
from teamster.settings import Settings
from teamster.store import Store


class Desk:
    """A file, whoever reads it again, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "own.toml"
        self.path.write_text("slots = 3\n", encoding="utf-8")
        self.clock = ManualClock()
        env = {"TEAMSTER_CONFIG": str(self.path), "TEAMSTER_HEARTBEAT_SECONDS": "30"}
        self.reloading = Reloading(self.path, lambda: configuration(env=env, cwd=folder, flags={}))
        self.settings = Settings(slots=3, heartbeat_seconds=30.0)

    def say(self, text: str) -> Settings | None:
        """Write the file anew, and look when it is time."""
        new = self.path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.path)
        return self.look()

    def look(self) -> Settings | None:
        self.clock.advance(LOOK_SECONDS)
        return self.reloading.changed(self.settings, self.clock.now())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_change_is_taken_once_and_by_what_may_change(desk: Desk) -> None:
    """The variable still wins over the file."""
    changed = desk.say("slots = 5\nheartbeat_seconds = 60\nstep_timeout_seconds = 10\n")

    assert changed == replace(desk.settings, slots=5, step_timeout_seconds=10.0)
    assert desk.look() is None


def test_it_looks_so_often_and_not_with_each_tick(desk: Desk) -> None:
    desk.look()
    desk.path.write_text("slots = 55\n", encoding="utf-8")

    assert desk.reloading.changed(desk.settings, desk.clock.now()) is None
    assert desk.look() is not None


def test_the_last_good_one_holds_and_the_problem_is_told_once(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A slip of the hand must not stop two hundred agents."""
    assert desk.say("slots = 5000\n") is None
    assert desk.look() is None
    told = "".join(capsys.readouterr())
    assert desk.say("slots = 4\n") == replace(desk.settings, slots=4)

    assert told.count("the last good settings hold") == 1
    assert "5000 is not within 1 and 512" in told


def test_what_can_not_change_now_waits_and_is_told(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """A lease that changes its length in the middle would be nobody's."""
    changed = desk.say("slots = 3\nshift_ttl_seconds = 60\n")

    assert changed is None
    assert "taken at the next start" in "".join(capsys.readouterr())


def test_a_file_that_comes_or_goes_counts(desk: Desk) -> None:
    """Taking it away is a change too, though one that was named by a variable is missed."""
    desk.path.unlink()
    assert desk.look() is None
    assert desk.say("slots = 6\n") == replace(desk.settings, slots=6)


def test_without_a_place_for_a_file_nothing_is_ever_read() -> None:
    """A user without a home."""

    def never() -> None:
        raise AssertionError("it was read")

    clock = ManualClock()
    clock.advance(LOOK_SECONDS)

    assert Reloading(None, never).changed(Settings(), clock.now()) is None  # type: ignore[arg-type]


@pytest.mark.req("PH-6.4a")
def test_a_harness_at_work_takes_more_slots_and_tells_so(tmp_path: Path) -> None:
    """Two agents meet only if both run: the second slot comes from the file, while the first one waits for it."""
    path = tmp_path / "own.toml"
    path.write_text("slots = 1\n", encoding="utf-8")
    place = Place(tmp_path / "place", env={**Place(tmp_path / "place").env, "TEAMSTER_CONFIG": str(path)})
    meet = "touch {job_id}; while ! { test -f a && test -f b; }; do sleep 0.01; done"
    batch_id = place.submit({"a": [step("only", meet)], "b": [step("only", meet)]})

    def watch(happened: Happened, store: Store) -> None:
        del store
        if happened.started:
            path.write_text("slots = 2\n\n", encoding="utf-8")

    worked = work(place.harness, batch_id=batch_id, versions={}, control=Control(), watch=watch)

    assert worked.counts["succeeded"] == 2
    assert '"slots": 2' in (place.root / "runs" / "_system" / "harness_config.json").read_text(encoding="utf-8")
