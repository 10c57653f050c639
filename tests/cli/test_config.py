"""`teamster config` says what holds, and why."""

from __future__ import annotations

from cli.teamster import Teamster


def test_each_setting_names_who_said_so(teamster: Teamster) -> None:
    """A person looks for the line to change."""
    place = teamster.place.folder / "own.toml"
    place.write_text("\nslots = 3\nheartbeat_seconds = 30\n", encoding="utf-8")
    env = {"TEAMSTER_CONFIG": str(place), "TEAMSTER_HEARTBEAT_SECONDS": "40"}

    shown = teamster("config", "show", env=env)
    said = teamster("config", "--slots", "5", "--json", env=env).json

    assert shown.code == 0
    assert f"{place} is fine" in shown.out
    rows = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line}
    assert rows["slots"] == ["3", f"{place}:2"]
    assert rows["heartbeat_seconds"] == ["40", "TEAMSTER_HEARTBEAT_SECONDS"]
    assert rows["attempts_max"] == ["1", "default"]
    assert {row["name"]: (row["value"], row["source"]) for row in said["settings"]}["slots"] == (5, "--slots")
    assert (said["config"], said["is_there"]) == (str(place), True)


def test_a_file_with_problems_is_refused_by_every_verb_that_needs_it(teamster: Teamster) -> None:
    """With the line, the fact and the way out; nothing is made."""
    place = teamster.place.folder / "own.toml"
    place.write_text("slots = 3\nslotz = 4\n", encoding="utf-8")
    env = {"TEAMSTER_CONFIG": str(place)}

    for verb in (["config", "check"], ["up", "--until-idle"]):
        refused = teamster(*verb, env=env)
        assert refused.code == 2
        assert f"{place}:2: slotz: nothing of that name can be set" in refused.err
        assert "did you mean `slots`?" in refused.err
    assert not teamster.place.root.exists()


def test_without_a_file_the_place_for_one_is_named(teamster: Teamster) -> None:
    assert "teamster/teamster.toml is not there" in teamster("config", "check").out
