"""Large submissions: many small transactions, of which nobody sees any before the last."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.store_world import BATCH, World, draft, file, ids, waits
from teamster.kit import CountedNames
from teamster.model import BatchId, FileDraft, ItemId, StoreUnavailable, UsageError
from teamster.store import BatchDraft
from teamster.store.connection import Database
from teamster.store.sql_submit import CHUNK_ROWS_MAX, Overtaken, Submitter

ITEMS = 2 * CHUNK_ROWS_MAX + 100
FILES = CHUNK_ROWS_MAX + 100


@pytest.fixture
def database(world: World, path: Path) -> Iterator[Database]:
    """Open a connection below the store."""
    del world  # it makes the schema
    with contextlib.closing(Database(path)) as opened:
        yield opened


def large(*, generation: int = 1) -> BatchDraft:
    """Return a batch of several chunks, with a dependency and files."""
    drafts = [draft(f"n{number}", generation=generation) for number in range(ITEMS)]
    drafts[1] = draft("n1", waits("n0"), generation=generation)
    return BatchDraft(batch_id=BATCH, concurrency=None, meta={"of": "batch"}, items=tuple(drafts), files=files())


def files() -> tuple[FileDraft, ...]:
    """Return the files of a large batch."""
    return tuple(file(f"runs/{number}") for number in range(FILES))


def submitter(world: World, database: Database, *, names_from: int = 1_000_000) -> Submitter:
    """Return another process that submits a large batch."""
    return Submitter(database, large(), names=CountedNames(names_from), at=world.now)


def half_submit(world: World, database: Database) -> tuple[Submitter, int]:
    """Submit some chunks of items and files, as a process does that dies then."""
    first = submitter(world, database)
    number = first.announce()
    first.add(number, items=large().items[:CHUNK_ROWS_MAX])
    first.add(number, items=large().items[CHUNK_ROWS_MAX : CHUNK_ROWS_MAX + 10], files=files()[:20])
    return first, number


def test_a_large_submission_shows_at_once_and_runs_in_order(world: World) -> None:
    """For whoever looks it is one step like any other."""
    submission = world.store.submit(large(), at=world.now)

    assert submission.created
    assert [row.path for row in submission.rows] == [each.path for each in files()]
    assert list(world.store.orphaned_outbox(at=world.now)) == list(submission.rows)
    counts = world.store.counts(batch_id=BATCH)
    assert (counts["queued"], counts["waiting"]) == (ITEMS - 1, 1)
    world.shift()
    assert ids(world.claim(limit=2)) == ["n0", "n2"]
    assert not world.store.submit(large(), at=world.now).created


def test_what_a_dead_submitter_left_is_seen_by_nobody(world: World, database: Database) -> None:
    """A part of a batch is no batch."""
    half_submit(world, database)
    world.shift()

    assert world.claim(limit=5) == []
    assert world.store.items() == []
    assert world.store.waiting() == []
    assert world.store.batches() == []
    assert world.store.batch(BATCH) is None
    assert world.store.get(ItemId("batch-n0-1")) is None
    assert world.store.find(dedupe_key="batch/n0#1") is None
    assert world.store.events(ItemId("batch-n0-1")) == []
    assert world.store.next_due() is None
    assert set(world.store.counts().values()) == {0}
    assert world.store.outbox() == []
    assert world.store.orphaned_outbox(at=world.now) == []
    with pytest.raises(UsageError, match="no batch"):
        world.store.enqueue(draft("late"), at=world.now)
    for hidden in ("batch-n0-1", "batch-n1-1"):
        with pytest.raises(UsageError, match="no item"):
            world.cancel(hidden)


@pytest.mark.parametrize("generation", [1, 2], ids=["same-ids", "other-ids"])
def test_the_batch_of_a_dead_submitter_can_be_submitted_again(
    world: World, database: Database, generation: int
) -> None:
    """With the same ids or others: what it left is removed first."""
    half_submit(world, database)

    submission = world.store.submit(large(generation=generation), at=world.now)

    assert submission.created
    counts = world.store.counts(batch_id=BATCH)
    assert (counts["queued"], counts["waiting"]) == (ITEMS - 1, 1)
    assert len(world.store.outbox(limit=2 * FILES)) == FILES


def test_a_small_batch_replaces_a_large_one_that_was_never_seen(world: World, database: Database) -> None:
    """Its table may have been changed after the death."""
    half_submit(world, database)

    assert world.submit(draft("n0"), concurrency=1).created

    assert ids(world.store.items()) == ["n0"]
    assert world.store.batches()[0].concurrency == 1


def test_an_overtaken_submitter_writes_nothing_more(world: World, database: Database) -> None:
    """It slept, and another one has the batch now: first on its way, then done."""
    slow, number = half_submit(world, database)
    quick = submitter(world, database, names_from=2_000_000)
    quick_number = quick.announce()

    with pytest.raises(Overtaken):
        slow.add(number, items=large().items[-1:])
    with pytest.raises(StoreUnavailable, match="submitted by another"):
        slow.finish(number)
    quick.add(quick_number, items=large().items[:3])
    assert quick.finish(quick_number) is None
    late = slow.finish(number)

    assert late is not None
    assert (late.created, late.batch.batch_id) == (False, BATCH)
    assert len(world.store.items()) == 2
    assert len(world.store.waiting()) == 1


def test_a_key_that_is_taken_refuses_the_large_batch_too(world: World) -> None:
    """Nothing of it shows, and the first owner of the key keeps it."""
    world.submit(draft("n5", batch="early", item_id="batch-n5-1"), batch="early")

    with pytest.raises(UsageError, match="batch-n5-1"):
        world.store.submit(large(), at=world.now)

    assert world.store.batch(BATCH) is None
    assert len(world.store.items(batch_id=BatchId("early"))) == 1


@pytest.mark.req("DC-events")
def test_a_reader_of_all_events_misses_none_of_a_batch_that_came_in_chunks(world: World, database: Database) -> None:
    """Its first events are older than what the reader has seen; it meets them where the batch came into view."""
    slow, number = half_submit(world, database)
    world.submit(draft("quick", batch="early"), batch="early")
    (seen,) = world.store.events_after()
    slow.add(number, items=large().items[-3:])
    slow.finish(number)
    world.submit(draft("after", batch="late"), batch="late")

    pages = {limit: read_on(world, seen.cursor, limit=limit) for limit in (1, 7, 10_000)}

    expected = [*(item.item_id for item in world.store.items(batch_id=BATCH)), "late-after-1"]
    assert len(expected) == CHUNK_ROWS_MAX + 10 + 3 - 1 + 1
    assert pages[1] == pages[7] == pages[10_000] == expected
    assert read_on(world, "", limit=7) == ["early-quick-1", *expected]


def test_events_of_a_submission_that_was_removed_cost_no_reader_its_place(world: World, database: Database) -> None:
    """Their numbers are given again, but nobody has seen them."""
    world.submit(draft("quick", batch="early"), batch="early")
    half_submit(world, database)
    seen = world.store.events_after()[-1]
    world.submit(draft("n0"))

    assert read_on(world, seen.cursor, limit=3) == ["batch-n0-1"]


def read_on(world: World, cursor: str, *, limit: int) -> list[str]:
    """Return whose events come after a cursor, read in pages."""
    met: list[str] = []
    while page := world.store.events_after(cursor, limit=limit):
        met += [each.item_id for each in page]
        cursor = page[-1].cursor
    return met
