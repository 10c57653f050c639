"""The page of the command line says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from cli.teamster import Teamster
from operations.place import Place, step
from teamster.cli import explain
from teamster.cli.program import _VERBS, _program

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
EVERYWHERE = {"--root", "--json", "--help", "-h"}
VERBS = [name for _, name, _ in _VERBS]


def section(heading: str) -> str:
    """Return what stands below a heading."""
    found = re.search(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return found[1]


def cells(text: str, head: str) -> list[str]:
    """Return the first column of the tables of a section that have this head."""
    tables = re.findall(rf"\| {head} \|[^\n]*\n\| ---[^\n]*\n((?:\|[^\n]*\n)+)", text)
    return [line.strip("| ").split(" | ")[0] for table in tables for line in table.splitlines()]


def named(text: str) -> set[str]:
    """Return the words in backquotes, an option without its value."""
    return {word.split(" ")[0] for word in re.findall(r"`([^`]+)`", text)}


def fields(text: str) -> set[str]:
    """Return the fields that the tables of a text list."""
    return {name for cell in cells(text, "field") for name in named(cell)}


def keys_of(heading: str) -> set[str]:
    """Return the keys that the line about JSON names."""
    (line,) = re.findall(r"JSON(?: of an attempt)?(?:, once it is over)?: (.*)", section(heading))
    return named(re.sub(r"\([^)]*\)", "", line).replace("[]", ""))


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_stands_there_with_exactly_its_options(place: Place, verb: str) -> None:
    """An option that is not on the page can't be found, one that is not in the program is a lie."""
    command = typer.main.get_command(_program(place.wiring)).commands[verb]  # type: ignore[attr-defined]
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    rows = cells(section(verb), "option")
    listed = {word for cell in rows for word in named(cell)}

    assert {word for word in listed if word.startswith("-")} == options - EVERYWHERE
    arguments = [parameter for parameter in command.params if not parameter.opts[0].startswith("-")]
    assert len([cell for cell in rows if not cell.startswith("`-")]) == len(arguments)


def test_the_page_names_no_verb_that_is_not_there() -> None:
    assert re.findall(r"^### (.*)$", PAGE, re.MULTILINE) == VERBS


def test_the_exit_codes_are_the_program_s() -> None:
    codes = {value for name, value in vars(explain).items() if name.startswith("EXIT_")}

    assert {int(cell) for cell in cells(section("Exit codes"), "code")} == codes


def test_the_json_of_each_verb_has_the_fields_of_the_page(place: Place, teamster: Teamster) -> None:
    """Programs are written against this page."""
    jobs = {"a": [step("only", "exit 1")], "b": [step("only", "true")]}
    place.write("table.json", jobs)
    all_batches, rest = section("status").split("JSON of one batch")
    one_batch, one_step = rest.split("Each step of")

    assert set(teamster("validate", "table.json", "--json").json) == keys_of("validate")
    assert set(teamster("submit", "table.json", "--json").json) == keys_of("submit")
    up = teamster("up", "--until-idle", "--json").json
    assert set(up) == keys_of("up")
    assert set(up["batches"][0]) == fields(all_batches)
    batch = up["batches"][0]["batch_id"]
    board = teamster("status", batch, "--json").json
    assert set(board) == fields(one_batch) | {"root"}
    assert set(board["steps"][0]) == set(board["attention"][0]) == fields(one_step)
    assert set(teamster("run", "table.json", "--json").json) == set(board) | {"created", "accepted_job_ids"}
    held = {**step("only", "true"), "agent": "codex", "execution_policy": {"skip_git_repo_check": True}}
    del held["command"]
    place.write("held.json", {"a": [held]})
    teamster("submit", "held.json")
    (waits,) = teamster("up", "--until-idle", "--json").json["held"]
    assert set(waits) == {"batch_id", "message", "hint"}
    assert set(teamster("show", batch, "a", "--json").json) == keys_of("show")
    assert set(teamster("logs", batch, "a", "--json").json) == keys_of("logs")
    assert set(teamster("verify", "--json").json) == keys_of("verify")
    assert set(teamster("config", "--json").json) == keys_of("config")
    assert set(teamster("cancel", batch, "--json").json) == keys_of("cancel")
    assert set(teamster("retry", batch, "--json").json) == keys_of("retry")


def test_an_error_has_the_fields_of_the_page(teamster: Teamster) -> None:
    value = teamster("run", "--json").json["error"]

    assert f'{{"error": {{{", ".join(repr(name) for name in value)}'.replace("'", '"') in PAGE
