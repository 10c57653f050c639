"""Which rule an attempt plays by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.draw import Draw
from teamster.rehearsal.scenario import Condition, Line, Rule, Say, Scenario


def rule(match: str, *attempts: int) -> Rule:
    """Return a rule that says its own name."""
    return Rule(match=match, attempts=frozenset(attempts), lines=(Line(Say(match)),))


@pytest.mark.parametrize(
    ("match", "attempts", "fits"),
    [
        pytest.param("docs.outline", (), True, id="named"),
        pytest.param("docs.*", (), True, id="any-step"),
        pytest.param("*.outline", (), True, id="any-job"),
        pytest.param("*", (), True, id="any"),
        pytest.param("d?cs.out*", (2,), True, id="pattern"),
        pytest.param("docs.outline", (1, 3), False, id="other-attempt"),
        pytest.param("doc.outline", (), False, id="other-job"),
        pytest.param("Docs.outline", (), False, id="case"),
    ],
)
def test_a_rule_fits_by_job_step_and_attempt(match: str, attempts: tuple[int, ...], *, fits: bool) -> None:
    """The patterns are those of a shell."""
    asked = Conversation(job_id="docs", step_id="outline", attempt_number=2)

    assert rule(match, *attempts).fits(asked) == fits


def test_the_first_rule_that_fits_is_the_script() -> None:
    """Put what is special above what is general."""
    scenario = Scenario((rule("docs.outline", 1), rule("docs.*"), rule("*")))

    def said(job: str, attempt: int) -> object:
        return scenario.lines_for(Conversation(job_id=job, step_id="outline", attempt_number=attempt))

    assert said("docs", 1) == (Line(Say("docs.outline")),)
    assert said("docs", 2) == (Line(Say("docs.*")),)
    assert said("code", 1) == (Line(Say("*")),)
    assert Scenario().lines_for(Conversation()) == ()


def test_a_rule_can_take_a_share_of_the_attempts() -> None:
    """One failure in five, over a table of 500 jobs: always the same ones for a seed, others for another."""

    def taken(seed: int) -> set[int]:
        scenario = Scenario((replace(rule("*"), chance=0.2),), Draw(seed))
        asked = {number: Conversation(job_id=f"job-{number}", step_id="only") for number in range(500)}
        return {number for number, conversation in asked.items() if scenario.lines_for(conversation)}

    assert 80 < len(taken(1)) < 120
    assert taken(1) == taken(1) != taken(2)


def test_a_retry_is_drawn_anew() -> None:
    """Else what failed by chance would fail for ever."""
    scenario = Scenario((replace(rule("*"), chance=0.5),))
    asked = (Conversation(job_id="a", step_id="b", attempt_number=number) for number in range(1, 40))

    assert {bool(scenario.lines_for(conversation)) for conversation in asked} == {True, False}


@pytest.mark.parametrize("is_wanted", [True, False])
@pytest.mark.parametrize("is_remembered", [True, False])
def test_a_condition_looks_where_it_says(*, is_wanted: bool, is_remembered: bool) -> None:
    """Four conditions, one rule."""
    condition = Condition(text="x", is_wanted=is_wanted, is_remembered=is_remembered)

    assert condition.holds(seen="x", remembered="") == (is_wanted != is_remembered)
