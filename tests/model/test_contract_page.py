"""`docs/contract-v1.md` is what other implementations are built on: it must say what the code does."""

from __future__ import annotations

import re

import pytest
from scripts.schemas import PAGE, render, tables

from docs.reading import rows
from teamster.kit import JSON_LIMITS
from teamster.kit.exact import FAULTS_MAX, INTEGER_MAX
from teamster.model import FORMS, MOVES, EventType, ItemStatus, PromptWork, StepWork, Verb, dedupe_key, work_of
from teamster.model.contract import PROBLEMS_MAX
from teamster.model.grammar import KEY_CHARACTERS_MAX
from teamster.model.ids import ID_CHARACTERS_MAX
from teamster.model.shapes import TEXT_CHARACTERS_MAX
from teamster.policy import FailureClass

TEXT = PAGE.read_text(encoding="utf-8")
CODES_BESIDE_CLASSES = {"canceled", "needs_attention", "superseded"}


@pytest.mark.req("DC-spec")
def test_the_tables_of_the_page_are_the_generated_ones() -> None:
    """`make docs` writes them again: members of each object, statuses, moves, commands."""
    assert render(TEXT) == TEXT
    assert [name for name in tables() if f"<!-- table: {name} -->" not in TEXT] == []


@pytest.mark.req("DC-spec", "DC-rec", "DC-lease", "DC-events", "DC-target", "DC-result")
def test_the_page_has_each_member_of_each_object() -> None:
    """A member that the page doesn't know is one that nobody can rely on."""
    for form in FORMS:
        section = TEXT.split(f"<!-- table: {form.form} -->", 1)[1].split("<!-- end -->", 1)[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(form.fields)


@pytest.mark.req("DC-spec", "DC-life")
def test_the_page_says_for_each_verb_what_guards_it() -> None:
    """The move alone doesn't say who may make it."""
    guards = TEXT.split("### What each verb is guarded by", 1)[1].split("###", 1)[0]

    assert re.findall(r"^\| `([a-z]+)` \|", guards, re.MULTILINE) == list(Verb)
    for verb, move in MOVES.items():
        line = next(line for line in guards.splitlines() if line.startswith(f"| `{verb}` |"))
        assert ("owner's" in line) == move.owned


@pytest.mark.req("DC-spec")
def test_the_codes_of_the_page_are_those_that_we_write() -> None:
    """Programs of others decide by them."""
    listed = {word for row in rows(PAGE, "code") for word in re.findall(r"`(\w+)`", row[0])}

    assert listed == {*FailureClass, *CODES_BESIDE_CLASSES}


@pytest.mark.req("DC-spec")
def test_the_examples_of_keys_are_keys() -> None:
    """People copy examples."""
    kinds = {row[0].strip("`"): row[2].strip("`") for row in rows(PAGE, "kind")}

    assert set(kinds) == {"plan", "step", "prompt"}
    assert all(dedupe_key(work_of(key)) == key for key in kinds.values())
    assert isinstance(work_of(kinds["step"]), StepWork)
    assert isinstance(work_of(kinds["prompt"]), PromptWork)


@pytest.mark.parametrize(
    "said",
    [
        f"an integer from 0 to {INTEGER_MAX}",
        f"more than {JSON_LIMITS.depth_max} levels, more than {JSON_LIMITS.values_max} values",
        f"more than {JSON_LIMITS.bytes_max // 2**20} MiB",
        f"the first a letter or digit, {ID_CHARACTERS_MAX} at most",
        f"A *name* is 1 to {TEXT_CHARACTERS_MAX} characters",
        f"*key* 1 to {KEY_CHARACTERS_MAX},",
        f"{PROBLEMS_MAX} at\n  most",
    ],
)
def test_the_bounds_of_the_page_are_those_of_the_code(said: str) -> None:
    assert said in TEXT
    assert PROBLEMS_MAX == FAULTS_MAX


@pytest.mark.parametrize("words", [ItemStatus, EventType], ids=["status", "event"])
def test_the_page_names_every_word_of_the_contract(words: type[ItemStatus | EventType]) -> None:
    assert [word for word in words if f"`{word}`" not in TEXT] == []
