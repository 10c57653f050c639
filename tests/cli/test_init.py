"""`teamster init`, from the first command to a rehearsal."""

from __future__ import annotations

import os

import pytest

from cli.teamster import Teamster
from operations.place import Place
from teamster.intake import SCHEMA_FILE
from teamster.rehearsal import stop_model


def test_it_says_what_it_made_and_what_to_type_next(place: Place, teamster: Teamster) -> None:
    said = teamster("init", "first steps")

    assert said.code == 0
    assert said.out.split("\n")[:2] == [
        str(place.folder / "first steps" / name) for name in ("table.yaml", "prompts/look.md")
    ]
    assert "teamster rehearse 'first steps/table.yaml'" in said.err
    assert str(SCHEMA_FILE) in said.err
    assert not place.root.exists()
    assert teamster("validate", "first steps/table.yaml").code == 0


def test_as_json_it_names_files_and_schema(place: Place, teamster: Teamster) -> None:
    value = teamster("init", "--json").json

    assert value == {
        "made": [str(place.folder / "table.yaml"), str(place.folder / "prompts" / "look.md")],
        "schema": str(SCHEMA_FILE),
    }
    assert teamster("init").code == 2


@pytest.mark.req("PH-6.3", "PH-10.3")
def test_the_table_that_it_writes_can_be_rehearsed(place: Place, teamster: Teamster) -> None:
    """The real Codex on the scripted model: templates, an order between jobs, a resume, and words handed on."""
    teamster("init", "new")
    said = teamster("rehearse", "new/table.yaml", "--json", env={"HOME": str(place.folder), "PATH": os.environ["PATH"]})
    stop_model(place.root.with_name("root.rehearsal") / "model")  # it would stay for an hour

    assert said.code == 0, said.out + said.err
    assert said.json["counts"]["succeeded"] == 6
