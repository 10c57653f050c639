"""A report that fits a schema, whatever the author left out."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from teamster.model import RUN_REPORT_SCHEMA
from teamster.rehearsal.filling import Unfillable, fill


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(RUN_REPORT_SCHEMA, id="run-report"),
        pytest.param({"type": "integer", "minimum": 3, "multipleOf": 5}, id="integer"),
        pytest.param({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, id="number"),
        pytest.param({"type": "integer", "maximum": -4}, id="negative"),
        pytest.param({"type": "integer", "exclusiveMaximum": 0}, id="below-zero"),
        pytest.param({"type": "string", "minLength": 30}, id="long"),
        pytest.param({"type": "string", "maxLength": 3}, id="short"),
        pytest.param({"type": "string", "pattern": "^[0-9a-f]{7}$"}, id="pattern"),
        pytest.param({"type": "string", "format": "date-time"}, id="date"),
        pytest.param({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, id="array"),
        pytest.param({"type": ["null", "string"]}, id="one-of-two-types"),
        pytest.param({"const": 7}, id="const"),
        pytest.param({"enum": ["bad", "ok"]}, id="enum"),
        pytest.param({"anyOf": [{"type": "null"}, {"type": "integer"}]}, id="any-of"),
        pytest.param(
            {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["a"]}], "type": "object"}, id="all-of"
        ),
        pytest.param(
            {
                "$defs": {"name/x": {"type": "string", "maxLength": 2}},
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/name~1x"}},
                "required": ["a"],
            },
            id="reference",
        ),
        pytest.param({}, id="anything"),
    ],
)
def test_what_is_made_up_is_valid(schema: dict[str, Any]) -> None:
    """Checked by the same library that checks reports."""
    assert list(Draft202012Validator(schema).iter_errors(fill(schema))) == []


def test_what_was_given_is_kept_and_the_rest_filled_in() -> None:
    """A scenario names what matters and nothing else."""
    report = fill(RUN_REPORT_SCHEMA, {"status": "failed", "artifacts": [{"path": "a.md", "kind": "file"}]}, summary="S")

    assert report == {
        "schema_version": "1.0.0",
        "status": "failed",
        "summary": "S",
        "files_read": [],
        "files_written": [],
        "artifacts": [{"path": "a.md", "kind": "file", "description": "rehearsed"}],
    }


def test_a_good_report_is_ok() -> None:
    """Where a list of words has `ok`, it is chosen, wherever it stands."""
    assert fill({"enum": ["failed", "ok"]}) == "ok"


def test_the_alternative_that_knows_the_given_fields_is_taken() -> None:
    """An author who names a field means the form that has it."""
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
        ]
    }

    assert fill(schema, {"b": "x"}) == {"b": "x"}


@pytest.mark.parametrize(
    ("schema", "fact"),
    [
        pytest.param({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "refers to itself", id="circle"),
        pytest.param({"$ref": "#/$defs/b"}, "which is not there", id="nowhere"),
        pytest.param({"$ref": "other.json"}, "outside itself", id="outside"),
        pytest.param({"type": "string", "pattern": "^x{40}y$"}, "nothing plain fits", id="pattern"),
        pytest.param({"type": "string", "pattern": "("}, "the schema has the pattern", id="no-pattern"),
        pytest.param(
            {
                "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}},
                "$ref": "#/$defs/a",
            },
            "nested deeper",
            id="endless",
        ),
    ],
)
def test_a_schema_that_nothing_plain_fits_says_why(schema: dict[str, Any], fact: str) -> None:
    """The author then gives the field in the scenario."""
    with pytest.raises(Unfillable, match=fact):
        fill(schema)
