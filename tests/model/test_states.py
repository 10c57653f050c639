"""The tables of moves: every pair is listed or refused, in each vocabulary."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Final

import pytest

from teamster.model import (
    ATTEMPT_MOVES,
    FINAL_ATTEMPT_STATUSES,
    FINAL_STATUSES,
    MOVES,
    OWNED_STATUSES,
    VIEWS,
    AttemptStatus,
    EventType,
    ItemStatus,
    StepStatus,
    Verb,
)

S = ItemStatus
V = Verb
LEGAL: Final = {
    (S.QUEUED, V.CLAIM): S.CLAIMED,
    (S.STALLED, V.CLAIM): S.CLAIMED,
    (S.CLAIMED, V.START): S.RUNNING,
    (S.CLAIMED, V.HEARTBEAT): S.CLAIMED,
    (S.RUNNING, V.HEARTBEAT): S.RUNNING,
    (S.RUNNING, V.COMPLETE): S.SUCCEEDED,
    (S.RUNNING, V.FAIL): S.FAILED,
    (S.CLAIMED, V.STALL): S.STALLED,
    (S.RUNNING, V.STALL): S.STALLED,
    (S.STALLED, V.REQUEUE): S.QUEUED,
    (S.QUEUED, V.CANCEL): S.FAILED,
    (S.STALLED, V.ABANDON): S.FAILED,
}
PH_MOVES: Final = {  # the words of `state.json`: queued to running to terminal, or queued to canceled
    ("queued", "running"),
    ("queued", "canceled"),
    ("running", "succeeded"),
    ("running", "failed"),
    ("running", "canceled"),
    ("running", "needs_attention"),
}
PV_QUEUE_MOVES: Final = {
    ("queued", "running"),
    ("running", "succeeded"),
    ("running", "failed_retryable"),
    ("running", "failed_final"),
    ("failed_retryable", "queued"),
}


@pytest.mark.req("DC-life")
@pytest.mark.parametrize(("status", "verb"), list(product(ItemStatus, Verb)), ids="-".join)
def test_only_listed_moves_are_legal(status: ItemStatus, verb: Verb) -> None:
    """Every pair is either listed, with the state that follows, or refused; there is no third case."""
    if (status, verb) in LEGAL:
        assert MOVES[verb].target(status) is LEGAL[status, verb]
        return
    with pytest.raises(ValueError, match=f"no move from {status}"):
        MOVES[verb].target(status)


@pytest.mark.req("DC-life")
def test_terminal_states_are_those_of_the_contract() -> None:
    """Nothing leaves them."""
    assert {S.SUCCEEDED, S.FAILED} == FINAL_STATUSES


def test_every_verb_is_in_the_table_and_makes_an_item_or_moves_it() -> None:
    """`enqueue` alone has no source."""
    assert set(MOVES) == set(Verb)
    assert [verb for verb, move in MOVES.items() if not move.sources] == [V.ENQUEUE]
    assert MOVES[V.ENQUEUE].to is S.QUEUED


@pytest.mark.req("DC-events")
def test_the_events_are_those_of_the_contract() -> None:
    """Other runtimes read them; each is told by some move."""
    assert {event.value for event in EventType} == {
        "enqueued", "claimed", "started", "heartbeat", "succeeded", "failed", "stalled", "requeued",
    }  # fmt: skip
    assert {move.event for move in MOVES.values()} == set(EventType)


@pytest.mark.req("DC-own")
def test_the_owners_moves_leave_owned_states_and_no_other_does() -> None:
    """At most one owner; what it holds nobody else moves."""
    assert {S.CLAIMED, S.RUNNING} == OWNED_STATUSES
    for verb, move in MOVES.items():
        assert move.owned == bool(move.sources & OWNED_STATUSES), verb
        assert not move.owned or move.sources <= OWNED_STATUSES, verb


def test_the_extensions_are_two_and_touch_no_owner() -> None:
    """An operator never changes an item over its owner's head."""
    assert {verb for verb, move in MOVES.items() if move.extension} == {V.CANCEL, V.ABANDON}


@pytest.mark.parametrize(("before", "after"), list(product(AttemptStatus, AttemptStatus)), ids="-".join)
def test_an_attempt_moves_as_its_state_file_may(before: AttemptStatus, after: AttemptStatus) -> None:
    """Only queued to running to terminal, or queued to canceled; a terminal status never changes."""
    assert (after in ATTEMPT_MOVES[before]) == ((before.value, after.value) in PH_MOVES)


def test_terminal_attempts_are_those_that_nothing_leaves() -> None:
    """Four ends, as in PH."""
    assert {status.value for status in FINAL_ATTEMPT_STATUSES} == {"succeeded", "failed", "canceled", "needs_attention"}


def test_the_steps_are_counted_in_the_words_of_the_scoreboard() -> None:
    """PH-9.1.1 lists them in this order."""
    assert [status.value for status in StepStatus] == [
        "blocked", "ready", "running", "succeeded", "failed", "needs_attention", "canceled",
    ]  # fmt: skip


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.happened)
def test_what_a_reader_sees_in_a_row_is_legal_in_its_own_vocabulary(view: object) -> None:
    """Three vocabularies are three views of one history."""
    shown = next(one for one in VIEWS if one is view)

    steps = {(before, after) for (before, _), after in LEGAL.items()}
    assert all(pair in steps for pair in pairwise(shown.item))
    assert all(pair in PV_QUEUE_MOVES for pair in pairwise(shown.prompt_queue))
    assert (shown.error_code is None) or shown.item == (S.FAILED,)


def test_an_adopted_attempt_shows_no_move_to_its_readers() -> None:
    """Owner lost, agent alive: the run goes on."""
    adopted = next(view for view in VIEWS if view.happened.endswith("adopted"))

    assert (adopted.attempt, adopted.prompt_run) == (AttemptStatus.RUNNING, "running")
    assert adopted.item == (S.STALLED, S.CLAIMED, S.RUNNING)
