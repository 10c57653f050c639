"""Three wishes, each stronger than the last."""

from __future__ import annotations

from teamster.operations import Control


def wishes(control: Control) -> tuple[bool, bool, bool]:
    """Read what is wished."""
    return control.draining, control.stopping, control.leaving


def test_interrupting_drains_and_interrupting_again_stops() -> None:
    control = Control()
    assert wishes(control) == (False, False, False)
    control.interrupt()
    assert wishes(control) == (True, False, False)
    control.interrupt()
    assert wishes(control) == (True, True, False)


def test_leaving_ends_no_agent() -> None:
    """They are whoever's who adopts them."""
    control = Control()
    control.leave()

    assert wishes(control) == (True, False, True)


def test_a_wish_wakes_whoever_works_even_from_within_another_wish() -> None:
    """A second signal may come while the handler of the first one runs: no lock may stand in its way."""
    control, woken = Control(), []

    def wake() -> None:
        woken.append(wishes(control))
        if not control.stopping:
            control.interrupt()

    control.wakes(wake)
    control.interrupt()

    assert woken == [(True, False, False), (True, True, False)]
