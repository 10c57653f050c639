"""The queue's benchmark measures what it says, on a store of its own."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from bench.store import CYCLE_TARGET, Size, begin_shift, copy_of, cycle, fill, measure, submit

from teamster.store import open_sqlite

TINY = Size(at_once=20, one_by_one=3, present=(5, 10), seconds=0.02, claims=4)


def test_every_figure_that_was_asked_for_is_there(tmp_path: Path) -> None:
    """From claim to done by one worker, by several, and in batches, for each number of items present."""
    found = {figure.name: figure for figure in measure(tmp_path, TINY)}

    kinds = ("batched", "1_workers", "2_workers", "8_workers")
    cycles = {f"claim_to_done_per_second_{kind}_{present}_present" for kind in kinds for present in TINY.present}
    assert cycles <= set(found)
    assert {f"claim_p{part}_ms_{present}_present" for part in (50, 99) for present in TINY.present} <= set(found)
    assert all(figure.value > 0 for figure in found.values())
    one = found["claim_to_done_per_second_1_workers_5_present"]
    assert one.target == CYCLE_TARGET
    assert one.ratio is not None


def test_a_cycle_ends_what_it_claims(tmp_path: Path) -> None:
    """A rate of items that are not done would be a fast one."""
    with contextlib.closing(open_sqlite(tmp_path / "store.db")) as store:
        shift_id = begin_shift(store)
        submit(store, 5)

        assert [cycle(store, shift_id, limit=3) for _ in range(3)] == [3, 2, 0]
        assert store.counts()["succeeded"] == 5


@pytest.mark.parametrize("count", [1, 7])
def test_filling_leaves_finished_items_and_nothing_to_deliver(tmp_path: Path, count: int) -> None:
    """What is measured with many items present is not measured with a full outbox."""
    path = tmp_path / "store.db"
    with contextlib.closing(open_sqlite(path)) as store:
        fill(store, begin_shift(store), count)

    with contextlib.closing(open_sqlite(copy_of(path))) as copy:
        assert copy.counts()["succeeded"] == count
        assert list(copy.outbox()) == []
