"""All batches: those that need a person first, then those that run, then the newest."""

from __future__ import annotations

from collections.abc import Sequence

from operations.place import Place, step
from teamster.operations import retry
from teamster.views import BatchRow, list_batches


def look(place: Place) -> Sequence[BatchRow]:
    """List all batches."""
    harness = place.harness
    store = harness.open_store()
    try:
        return list_batches(store, harness.root, at=harness.clock.now().wall)
    finally:
        store.close()


def counts(row: BatchRow) -> dict[str, int]:
    """Return what isn't zero."""
    return {name: number for name, number in row.counts.items() if number}


def test_those_that_need_a_person_come_first_then_those_that_can_run_then_the_newest(place: Place) -> None:
    failed = place.submit({"a": [step("only", "test -f mended")]}, "failed.json")
    done = place.submit({"a": [step("only", "true")]}, "done.json")
    place.work()
    newer = place.submit({"a": [step("only", "echo newer")]}, "newer.json")
    place.work()
    waiting = place.submit(
        {"a": [step("only", "echo waiting"), step("next", "true", depends_on=["only"])]}, "waiting.json"
    )

    rows = look(place)

    assert [row.batch_id for row in rows] == [failed, waiting, newer, done]
    assert [counts(row) for row in rows] == [
        {"failed": 1},
        {"blocked": 1, "ready": 1},
        {"succeeded": 1},
        {"succeeded": 1},
    ]
    assert [row.is_settled for row in rows] == [True, False, True, True]
    assert [row.is_successful for row in rows] == [False, False, True, True]


def test_a_step_that_was_mended_by_a_retry_counts_once(place: Place) -> None:
    """Nobody needs to look at what was mended long ago."""
    batch_id = place.submit({"a": [step("only", "test -f mended")]})
    place.work()
    retry(place.harness, batch_id)
    (place.folder / "work" / "mended").touch()
    place.work()

    (row,) = look(place)

    assert counts(row) == {"succeeded": 1}
    assert not row.needs_a_person
    assert row.to_json()["counts"] == dict(row.counts)
    assert (row.to_json()["settled"], row.to_json()["agents"]) == (True, ["command"])


def test_an_empty_root_has_none(place: Place) -> None:
    assert list(look(place)) == []
