"""Chance that is the same each time."""

from __future__ import annotations

from teamster.rehearsal.draw import Draw


def test_the_same_names_draw_the_same() -> None:
    """A model that was started again goes on as the last one would have."""
    assert Draw(1).digits("a", 2) == Draw(1).digits("a", 2)
    assert len({Draw(seed).digits("a", name) for seed in range(10) for name in range(10)}) == 100


def test_shares_lie_evenly_between_nothing_and_all() -> None:
    """One attempt in ten is one in ten."""
    shares = [Draw().share(number) for number in range(2000)]

    assert all(0 <= share < 1 for share in shares)
    assert all(150 < sum(int(share * 10) == tenth for share in shares) < 250 for tenth in range(10))
