"""The nearer word counts, and whoever said it is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.model import ConfigProblems, UsageError
from teamster.settings import OPTIONS, ConfigText, Settings, config_problems, layers, settings_from

PLACE = "/somewhere/teamster.toml"


def file(text: str) -> ConfigText:
    """Return a file as it was read."""
    return ConfigText(path=PLACE, content=text.encode())


@pytest.mark.req("PH-6.4a")
def test_each_layer_wins_over_the_one_below_and_is_named() -> None:
    """Who wonders why eight agents run wants to know which line to change."""
    text = file('# mine\n\nslots = 3\n"heartbeat_seconds" = 30\nsandbox = "read-only"\n')

    found = layers({"TEAMSTER_HEARTBEAT_SECONDS": "45", "TEAMSTER_SLOTS": "9"}, file=text, flags={"slots": 4})

    assert (found["slots"].value, found["slots"].source) == (4, "--slots")
    assert (found["heartbeat_seconds"].value, found["heartbeat_seconds"].source) == (45.0, "TEAMSTER_HEARTBEAT_SECONDS")
    assert (found["sandbox"].value, found["sandbox"].source) == ("read-only", f"{PLACE}:5")
    assert (found["attempts_max"].value, found["attempts_max"].source) == (1, "default")
    assert list(found) == [option.name for option in OPTIONS]


def test_what_is_unset_says_nothing() -> None:
    """An empty variable, a flag that nobody gave, a file with comments alone."""
    assert settings_from({"TEAMSTER_SLOTS": ""}, file=file("# nothing\n"), flags={"slots": None}) == Settings()


def test_every_problem_of_a_file_is_told_with_its_line() -> None:
    """One at a time would take an evening."""
    text = 'slots = 0\nslot = 3\n\nsandbox = "none"\nattempts_max = 1.5\nheartbeat_seconds = "soon"\n[codex]\nx = 1\n'

    with pytest.raises(ConfigProblems) as refused:
        layers({}, file=file(text))

    told = {problem.field: (problem.place, problem.fact, problem.hint) for problem in refused.value.problems}
    assert told == {
        "slots": (f"{PLACE}:1", "0 is not within 1 and 512", "give it 1 to 512"),
        "slot": (f"{PLACE}:2", "nothing of that name can be set", "did you mean `slots`?"),
        "sandbox": (
            f"{PLACE}:4",
            "'none' is none of read-only, workspace-write, danger-full-access",
            "give it read-only, workspace-write, danger-full-access",
        ),
        "attempts_max": (f"{PLACE}:5", "1.5 is not a whole number", "give it 1 to 100"),
        "heartbeat_seconds": (f"{PLACE}:6", "'soon' is not a number", "give it 1 to 900"),
        "codex": (f"{PLACE}:7", "nothing of that name can be set", told["codex"][2]),
    }
    assert refused.value.fact == f"{PLACE} has 6 problems"


@pytest.mark.parametrize(
    ("content", "place", "fact"),
    [
        (b"slots = \n", f"{PLACE}:1:9", "it is not TOML"),
        (b"slots = 1\nslots = 2\n", PLACE, "it is not TOML"),
        (b"\xff\n", PLACE, "it is not UTF-8"),
        (b"x = " + b"[" * 5000, PLACE, "it is not TOML"),
    ],
    ids=["no value", "twice", "no text", "deep"],
)
def test_what_is_no_configuration_at_all_is_told(content: bytes, place: str, fact: str) -> None:
    """With its place, where there is one."""
    (problem,) = config_problems(ConfigText(path=PLACE, content=content))

    assert problem.place.startswith(place)
    assert problem.fact.startswith(fact)


@given(st.binary(max_size=200))
def test_no_file_ends_in_another_exception(content: bytes) -> None:
    """Whatever lies under that name."""
    found = ConfigText(path=PLACE, content=content)
    if config_problems(found):
        with pytest.raises(ConfigProblems):
            layers({}, file=found)
    else:
        layers({}, file=found)


VALUES = st.one_of(st.integers(), st.floats(allow_nan=True), st.booleans(), st.text(max_size=8), st.none())


@given(st.sampled_from(OPTIONS), VALUES)
def test_whatever_is_taken_makes_settings(option: Any, value: Any) -> None:
    """A value that has no fault can't fail later."""
    if option.fault(value):
        return

    made = Settings(**{option.name: option.taken(value)})

    assert getattr(made, option.name) == value


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_can_be_set_by_its_variable_as_in_the_file(option: Any) -> None:
    """The same bounds and the same words hold for both."""
    usual = getattr(Settings(), option.name)
    good = "/programs/codex" if usual is None else usual
    line = f"{option.name} = {json.dumps(good)}\n"

    by_file = layers({}, file=file(line))[option.name]
    by_variable = layers({option.variable: str(good)})[option.name]

    assert by_file.value == by_variable.value == good
    if option.low is not None:
        with pytest.raises(UsageError, match=option.variable):
            layers({option.variable: str(option.high + 1)})
