"""The schemas that ship say what the parser says: other languages have them instead of our code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import extend
from scripts.schemas import FOLDER, schemas, written

from model.records import PATIENT, anything, damaged, events, records
from teamster.model import RecordProblems, event_from_json, record_from_json

SCHEMAS = schemas()
# To JSON Schema 1.0 is an integer, since most programs can't tell it from 1. Ours can, and the page says so.
INTEGERS = Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
_strict = extend(Draft202012Validator, type_checker=INTEGERS)  # type: ignore[no-untyped-call]
RECORD = _strict(SCHEMAS["contract_v1_record.schema.json"])
EVENT = _strict(SCHEMAS["contract_v1_event.schema.json"])


def is_taken(read: Callable[[Any], object], value: Any) -> bool:
    """Tell whether the parser takes a value."""
    try:
        read(value)
    except RecordProblems:
        return False
    return True


@pytest.mark.req("DC-spec")
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_files_are_the_generated_ones(name: str) -> None:
    """`make docs` writes them again."""
    Draft202012Validator.check_schema(SCHEMAS[name])

    assert (FOLDER / name).read_text(encoding="utf-8") == written(SCHEMAS[name])


def test_no_file_is_left_that_nobody_generates() -> None:
    """It would be believed."""
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(SCHEMAS)


@pytest.mark.req("DC-spec")
@settings(max_examples=60, **PATIENT)
@given(records)
def test_the_schema_takes_every_record_that_is_one(value: dict[str, Any]) -> None:
    assert RECORD.is_valid(value)


@pytest.mark.req("DC-spec")
@settings(max_examples=200, **PATIENT)
@given(damaged() | anything)
def test_schema_and_parser_take_and_refuse_the_same_records(value: Any) -> None:
    """A worker that checks by the schema must not be refused by us, nor believe what we refuse."""
    assert RECORD.is_valid(value) == is_taken(record_from_json, value), written(value)


@pytest.mark.req("DC-spec", "DC-events")
@settings(max_examples=100, **PATIENT)
@given(
    st.builds(lambda event, change: {**event, **change}, events, st.dictionaries(
        st.sampled_from(["type", "from_status", "to_status", "at", "data"]),
        st.sampled_from(["queued", "claimed", "failed", "started", None, {}, "2026-01-14T17:30:00Z", 1]),
        max_size=2,
    ))
)  # fmt: skip
def test_schema_and_parser_take_and_refuse_the_same_events(value: dict[str, Any]) -> None:
    assert EVENT.is_valid(value) == is_taken(event_from_json, value), json.dumps(value)
