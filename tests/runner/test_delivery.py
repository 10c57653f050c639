"""Promised files come, whenever the harness that promised them was killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.parts import DONE, Killed, step
from runner.scene import Harness, Scene
from teamster.artifacts import AttemptFile, current_path
from teamster.kit import CountedNames, FileLock
from teamster.model import AttemptStatus, ItemStatus
from teamster.process import ScriptedHost
from teamster.runner.delivery import LOCK
from teamster.store import MemoryStore, Store, open_sqlite

FILES_OF_AN_END = 6  # exit.json, final.json, final.txt, verdict.json, manifest.json, state.json
FILES_OF_A_START = 2  # meta.json, state.json
PID_OF_NOBODY = 4_194_400  # above what Linux gives


def killed_at(harness: Harness, name: AttemptFile, files_max: int) -> None:
    """Kill a harness when it has written so many files of the commit that holds this one."""
    harness.delivery.dies_at, harness.delivery.files_max = name, files_max
    with pytest.raises(Killed):
        harness.tick()
    harness.die()


@pytest.fixture(params=["memory", "sqlite"])
def store_scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """Give a scene on each kind of store."""
    first = MemoryStore()
    stores: dict[str, Callable[[], Store]] = {
        "memory": lambda: MemoryStore.open(first),
        "sqlite": lambda: open_sqlite(tmp_path / "queue.sqlite", names=CountedNames(1_000_000)),
    }
    scene = Scene(tmp_path, open_store=stores[request.param])
    yield scene
    scene.close()


@pytest.mark.req("PH-7.3", "PH-8.3", "DC-end")
@pytest.mark.parametrize("files_max", range(FILES_OF_AN_END + 1))
def test_a_kill_between_the_finishing_commit_and_any_of_its_files_loses_none(
    store_scene: Scene, files_max: int
) -> None:
    """What was acknowledged is there at the next start: the store is the write-ahead log of the files."""
    scene = store_scene
    scene.scripts["main"] = DONE
    scene.submit(step())
    first = scene.harness()
    first.tick()
    killed_at(first, AttemptFile.MANIFEST, files_max)
    [attempt] = scene.attempts()
    assert attempt.status is AttemptStatus.SUCCEEDED
    there = sum(
        scene.path(attempt, name).exists() for name in (AttemptFile.FINAL, AttemptFile.VERDICT, AttemptFile.MANIFEST)
    )
    assert there == sum((files_max > 1, files_max > 3, files_max > 4))

    second = scene.harness()
    second.tick()

    assert scene.json(attempt, AttemptFile.FINAL)["status"] == "ok"
    assert scene.json(attempt, AttemptFile.STATE)["status"] == "succeeded"
    assert scene.current()["steps"]["main"]["latest_successful"]["run_id"] == attempt.run_id
    assert list(scene.store.outbox()) == []
    assert scene.faults() == []
    assert scene.item().status is ItemStatus.SUCCEEDED
    assert len(scene.machine.orders) == 1, "nothing ran twice"
    second.runner.close()
    assert not scene.machine.orders[0].places.spool.exists()


@pytest.mark.req("PH-8.2.1m")
@pytest.mark.parametrize("files_max", range(FILES_OF_A_START + 1))
def test_a_kill_between_the_starting_commit_and_any_of_its_files_costs_no_attempt(
    store_scene: Scene, files_max: int
) -> None:
    """Its gate never opened: the try is recorded as lost, with its start as its end, and another one follows."""
    scene = store_scene
    scene.scripts["main"] = DONE
    scene.submit(step())
    killed_at(scene.harness(), AttemptFile.META, files_max)

    second = scene.harness()
    second.tick(taking=False)
    scene.schedule()
    second.tick()
    second.tick()

    lost, done = scene.attempts()
    assert (lost.status, lost.ended_at) == (AttemptStatus.FAILED, lost.started_at)
    assert done.status is AttemptStatus.SUCCEEDED
    assert scene.item().attempts_consumed == 1
    assert scene.json(lost, AttemptFile.STATE)["failure_class"] == "lost"
    assert [order.run_id for order in scene.machine.orders] == [done.run_id]
    assert scene.faults() == []


def test_an_old_state_never_comes_back(scene: Scene) -> None:
    """Rows of a dead shift are played once: a second harness must not undo what followed from them."""
    scene.submit(step())
    first = scene.harness()
    first.tick()
    first.die()
    second, third = scene.harness(), scene.harness()
    second.tick()
    scene.machine.finish(scene.run_id(), DONE.outcome or pytest.fail("it ends"))
    second.tick()

    assert third.delivery.deliver_orphans(at=scene.now) == 0

    [attempt] = scene.attempts()
    assert scene.json(attempt, AttemptFile.STATE)["status"] == "succeeded"
    assert scene.faults() == []


def test_what_an_operator_promised_is_delivered_by_any_harness(scene: Scene) -> None:
    """A person who submits and leaves must not have to stay until the files are there."""
    scene.submit(step())
    rows = scene.store.outbox()
    harness = scene.harness(host=ScriptedHost(scene.machine))

    assert harness.delivery.deliver_orphans(at=scene.now) == len(rows)

    assert all(scene.root.at(row.path).read_bytes() == row.content for row in rows)
    assert list(scene.store.outbox()) == []


def test_nobody_waits_for_who_holds_the_lock(scene: Scene) -> None:
    """A harness that was stopped in the middle of a delivery holds it, until somebody who ticks on can end it."""
    scene.submit(step())
    with FileLock(scene.root.at(LOCK)):
        harness = scene.harness()
        harness.tick()

        assert harness.delivery.deliver_orphans(at=scene.now) is None
        [attempt] = scene.attempts()
        assert scene.path(attempt, AttemptFile.META).exists()
        pointers = current_path(attempt.step.batch_id, attempt.step.job_id)
        assert not scene.root.at(pointers).exists()
        assert harness.delivery.flushed() == ()  # the rows stay: who delivers them again writes the pointers

    harness.delivery.settle()

    assert json.loads(scene.root.at(pointers).read_bytes())["steps"]["main"]["latest"]["run_id"]
    assert [row for row in scene.store.outbox() if row.job_id] == []


def test_what_a_death_left_beside_the_pointers_is_swept(scene: Scene) -> None:
    """A harness was killed between write and rename of `current.json`: its rows are there still, and so is the file."""
    scene.submit(step())
    first = scene.harness()
    first.tick()
    first.die()
    [attempt] = scene.attempts()
    left = scene.root.at(f"{current_path(attempt.step.batch_id, attempt.step.job_id)}.{PID_OF_NOBODY}.tmp")
    left.touch()

    scene.harness().tick()

    assert not left.exists()
    assert scene.faults() == []
