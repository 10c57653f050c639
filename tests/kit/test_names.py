"""Names that nobody has used before, in the grammar of ids."""

from __future__ import annotations

import pytest

from teamster.kit import CountedNames, Names, RandomNames
from teamster.model import is_id


@pytest.mark.parametrize("names", [RandomNames(), CountedNames()], ids=["random", "counted"])
def test_names_are_new_and_fit_the_grammar(names: Names) -> None:
    """Both makers keep the same promise."""
    made = [names.fresh("run") for _ in range(100)] + [names.token() for _ in range(100)]

    assert len(set(made)) == 200
    assert all(is_id(name) for name in made)
    assert all(name.startswith("run_") for name in made[:100])


def test_counted_names_come_again() -> None:
    """A simulation with the same seed is the same simulation."""
    first, second = CountedNames(), CountedNames()

    assert [first.fresh("a"), first.token()] == [second.fresh("a"), second.token()] == ["a_00000001", "token_00000002"]
    assert CountedNames(start=7).fresh("a") == "a_00000008"


def test_a_token_can_not_be_guessed() -> None:
    """It is the right to write about an item."""
    assert len(RandomNames().token()) >= 32
