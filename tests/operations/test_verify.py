"""Whether files and database agree: clean after every kind of history, and each single damage is found."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from operations.place import Place, step
from teamster.artifacts import Rule
from teamster.kit import document
from teamster.model import BatchId, JobId
from teamster.operations import Control, cancel, retry, verify, work
from teamster.runner import Happened
from teamster.store import Store

LOOKS = 5  # while the harness works
JOBS = {
    "a": [step("first", "echo 1"), step("second", "test -f mended", depends_on=["first"])],
    "b": [step("blocked", "exit 1"), step("waits", "true", depends_on=["blocked"])],
}


@pytest.fixture
def worked(place: Place) -> BatchId:
    """Run a batch with a success, two failures and a step that waits."""
    batch_id = place.submit(JOBS)
    place.work(batch_id)
    assert verify(place.harness).is_clean
    return batch_id


def agreement_of(place: Place) -> list[str]:
    """Verify, and return what is said about agreement."""
    return [finding.fact for finding in verify(place.harness).findings if finding.rule is Rule.AGREEMENT]


def attempt_of(place: Place, batch_id: BatchId, job_id: str = "a", step_id: str = "first") -> Path:
    """Find the only attempt of a step."""
    (attempt,) = place.attempts(batch_id, job_id, step_id)
    return attempt


def rewrite(path: Path, **changes: object) -> None:
    """Change fields of a document, as a careless hand would."""
    value = json.loads(path.read_bytes())
    path.chmod(0o644)
    path.write_bytes(document({**value, **changes}))


def drop_batch_meta(place: Place, batch_id: BatchId) -> None:
    (place.root / "runs" / batch_id / "batch_meta.json").unlink()


def change_table(place: Place, batch_id: BatchId) -> None:
    path = place.root / "runs" / batch_id / "batch_meta.json"
    table = json.loads(path.read_bytes())["launch_table"]
    rewrite(path, launch_table={**table, "concurrency": 7})


def drop_attempt(place: Place, batch_id: BatchId) -> None:
    shutil.rmtree(attempt_of(place, batch_id))


def change_status(place: Place, batch_id: BatchId) -> None:
    rewrite(attempt_of(place, batch_id) / "state.json", status="failed")


def change_end(place: Place, batch_id: BatchId) -> None:
    rewrite(attempt_of(place, batch_id) / "state.json", ended_at="2001-01-01T00:00:00.000000Z")


def add_attempt(place: Place, batch_id: BatchId) -> None:
    old = attempt_of(place, batch_id)
    shutil.copytree(old, old.with_name("20010101T000000Z_run_stranger"))


def add_batch(place: Place, batch_id: BatchId) -> None:
    runs = place.root / "runs"
    shutil.copytree(runs / batch_id, runs / "stranger")


def plan_a_step_more(place: Place, batch_id: BatchId) -> None:
    path = place.root / "runs" / batch_id / "batch_meta.json"
    jobs = json.loads(path.read_bytes())["jobs"]
    jobs[0]["steps"].append({**jobs[0]["steps"][0], "step_id": "third"})
    rewrite(path, jobs=jobs)


def plan_a_step_less(place: Place, batch_id: BatchId) -> None:
    path = place.root / "runs" / batch_id / "batch_meta.json"
    jobs = json.loads(path.read_bytes())["jobs"]
    del jobs[1]["steps"][1]
    rewrite(path, jobs=jobs)


DAMAGES: dict[Callable[[Place, BatchId], None], str] = {
    drop_batch_meta: "the database has this batch, and its record can't be read",
    change_table: "its table is not the one that the database took",
    drop_attempt: "its status is None, the database says succeeded",
    change_status: "its status is failed, the database says succeeded",
    change_end: "its ended_at is 2001-01-01T00:00:00.000000Z, the database says",
    add_attempt: "the database has no such attempt",
    add_batch: "the database has no such batch",
    plan_a_step_more: "the database has no item of a.third",
    plan_a_step_less: "the database has an item of b.waits, the table has no such step",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damage_of_the_files_is_found(
    place: Place, worked: BatchId, damage: Callable[[Place, BatchId], None]
) -> None:
    """Each alone: a checker that misses one kind would call a broken store fine."""
    damage(place, worked)

    assert [fact for fact in agreement_of(place) if fact.startswith(DAMAGES[damage])]


FORGERIES = {
    "UPDATE items SET status = 'queued', result = NULL WHERE status = 'succeeded'": "is queued, its last attempt succ",
    "UPDATE items SET result = '{\"run_id\": \"run_other\"}' WHERE status = 'succeeded'": "ended with run run_other",
    "UPDATE items SET status = 'failed', error = '{}', result = NULL WHERE status = 'succeeded'": "is failed, its last",
    "UPDATE attempts SET status = 'failed' WHERE status = 'succeeded'": "the database says failed",
    "UPDATE attempts SET directory = replace(directory, 'run_', 'run_x')": "the database has no such attempt",
    "DELETE FROM attempts": "has succeeded without an attempt",
    "DELETE FROM waits": "the database has no item of b.waits",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_damage_of_the_database_is_found(place: Place, worked: BatchId, forgery: str) -> None:
    """Each alone, as a careless hand or a bad disk would do it."""
    assert worked
    database = apsw.Connection(str(place.root / "db" / "teamster.sqlite"))
    database.execute(forgery)
    assert database.changes() > 0
    database.close()

    assert [fact for fact in agreement_of(place) if FORGERIES[forgery] in fact]


def test_an_empty_database_beside_a_full_store_is_found(place: Place, worked: BatchId) -> None:
    """The database is an index that may be lost; that it is lost must be seen."""
    shutil.rmtree(place.root / "db")
    (place.root / "db").mkdir()

    assert verify(place.harness).findings
    assert agreement_of(place) == ["the database has no such batch"]
    assert (place.root / "runs" / worked).is_dir()


def test_an_old_database_beside_newer_files_is_found(place: Place) -> None:
    """Somebody put a backup of the database back: everything since then is missing in it."""
    batch_id = place.submit(JOBS)
    backup = place.folder / "backup"
    shutil.copytree(place.root / "db", backup)
    place.work(batch_id)
    shutil.rmtree(place.root / "db")
    shutil.copytree(backup, place.root / "db")

    facts = agreement_of(place)

    assert facts == ["the database has no such attempt"] * 3


@pytest.mark.parametrize("history", ["canceled", "half_canceled", "retried", "resubmitted", "drained", "submitted"])
def test_every_kind_of_history_is_clean(place: Place, history: str) -> None:
    """A checker that cries wolf is switched off."""
    batch_id = place.submit(JOBS)
    if history == "half_canceled":
        cancel(place.harness, batch_id, job_id=JobId("b"), actor="operator:me")
    if history == "canceled":
        cancel(place.harness, batch_id, actor="operator:me")
    if history == "drained":
        control = Control()
        control.interrupt()
        place.work(batch_id, control)
    if history in {"retried", "resubmitted", "half_canceled"}:
        place.work(batch_id)
    if history == "retried":
        retry(place.harness, batch_id)
        (place.folder / "work" / "mended").touch()
        place.work(batch_id)
    if history == "resubmitted":
        assert not place.submitted(JOBS).created

    assert [str(finding) for finding in verify(place.harness).findings] == []


def test_a_harness_at_work_is_no_damage(place: Place) -> None:
    """Files and database are never read in one moment: what is on its way is no finding."""
    jobs = {f"j{number}": [step("one", "true"), step("two", "true", depends_on=["one"])] for number in range(12)}
    jobs["last"] = [step("one", "while ! test -f looked; do sleep 0.05; done")]
    batch_id = place.submit(jobs)
    harness = place.harness
    seen: list[list[str]] = []

    def look() -> None:
        seen.extend([str(finding) for finding in verify(harness).findings] for _ in range(LOOKS))
        (place.folder / "work" / "looked").touch()

    watcher = threading.Thread(target=look)

    def watch(happened: Happened, store: Store) -> None:
        del happened, store
        if watcher.ident is None:
            watcher.start()  # the host was opened before: no thread is there while it forks

    work(place.harness, batch_id=batch_id, versions={}, control=Control(), watch=watch)
    watcher.join(timeout=30.0)

    assert seen == [[]] * LOOKS
