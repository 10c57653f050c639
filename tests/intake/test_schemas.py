from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.intake import LIMITS
from teamster.intake.schemas import STRICT_HINT
from teamster.model import RUN_REPORT_SCHEMA


def richer(**properties: Any) -> dict[str, Any]:
    """Return the Run Report's schema with more properties, all required."""
    schema = copy.deepcopy(RUN_REPORT_SCHEMA)
    schema["properties"].update(properties)
    schema["required"] = list(schema["properties"])
    return schema


LOOSE = {"type": "object", "properties": {"file": {"type": "string"}}}


def test_without_a_word_the_run_report_holds(tmp_path: Path) -> None:
    assert step_of(accept(tmp_path, table())).schema is None


def test_a_schema_may_be_written_out_or_lie_in_a_file(tmp_path: Path) -> None:
    schema = richer(risk={"type": "string"})
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")

    read = accept(tmp_path, table({"output_schema": schema}, {"output_schema_ref": "s.json"}))

    assert step_of(read).schema == step_of(read, 2).schema == schema


def test_the_innermost_schema_holds_in_whatever_form(tmp_path: Path) -> None:
    outer, inner = richer(a={"type": "string"}), richer(b={"type": "string"})
    (tmp_path / "s.json").write_text(json.dumps(outer), encoding="utf-8")

    read = accept(tmp_path, table({}, {"output_schema": inner}, output_schema_ref="s.json"))

    assert (step_of(read).schema, step_of(read, 2).schema) == (outer, inner)


@pytest.mark.parametrize(
    ("schema", "fact"),
    [
        ({"type": "objekt"}, "it is not a JSON Schema"),
        ({"type": "object"}, "it does not require status, summary"),
        ({**richer(), "type": ["object"]}, "at the top: its `type` must be `object`"),
        ({**richer(), "additionalProperties": True}, "at the top: `additionalProperties` must be false"),
        ({**richer(), "required": RUN_REPORT_SCHEMA["required"], "properties": richer(x={})["properties"]}, "lacks x"),
        (richer(x={"type": "array", "items": {**LOOSE, "required": ["file"]}}), "at properties.x.items: `additional"),
        (richer(x={**LOOSE, "additionalProperties": False}), "at properties.x: `required` lacks file"),
        (richer(x={"pattern": "("}), "'(' is not a 'regex'"),
        (richer(x={"$ref": "https://example.org/s.json"}), "points at nothing within the schema"),
        (richer(x={"$ref": "#/$defs/nothing"}), "points at nothing within the schema"),
        (richer(x={"title": "\ud800"}), "it holds half of a surrogate pair"),
    ],
)
def test_a_schema_that_would_fail_later_fails_now(tmp_path: Path, schema: dict[str, Any], fact: str) -> None:
    """A model refuses it only after the attempt has begun, and again at each retry."""
    problem = only(refuse(tmp_path, table({"output_schema": schema})))

    assert problem.field == "jobs[0].steps[0].output_schema"
    assert fact in problem.fact
    assert problem.hint == (STRICT_HINT if problem.fact.startswith("at ") else "")


def test_a_program_may_report_in_a_looser_form(tmp_path: Path) -> None:
    """Only models ask for strictness."""
    step = {"command": ["true"], "output_schema": richer(x=LOOSE)}

    assert step_of(accept(tmp_path, table(step))).schema == step["output_schema"]


def test_a_schema_may_point_within_itself(tmp_path: Path) -> None:
    schema = {**richer(x={"$ref": "#/$defs/a~1b"}), "$defs": {"a/b": {"type": "string"}}}

    assert step_of(accept(tmp_path, table({"output_schema": schema}))).schema == schema


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("{", "s.json:1:2: it is not JSON"),
        ("[]", "s.json holds no schema"),
        ('{"a": 1, "a": 2}', "s.json:1:2: a: the key stands more than once"),
        ("", "s.json:1:1: it is not JSON"),
        (" " * 300_000, "has 300000 bytes, the limit is 65536"),
    ],
)
def test_a_schema_file_that_is_none_is_told_with_its_own_place(tmp_path: Path, content: str, fact: str) -> None:
    (tmp_path / "s.json").write_text(content, encoding="utf-8")

    problem = only(refuse(tmp_path, table({"output_schema_ref": "s.json"})))

    assert problem.field == "jobs[0].steps[0].output_schema_ref"
    assert fact in problem.fact


@pytest.mark.parametrize(
    ("said", "field", "fact"),
    [
        ({"output_schema": "s.json"}, "output_schema", "'s.json' is not a mapping"),
        ({"output_schema_ref": {}}, "output_schema_ref", "a mapping is not text"),
        ({"output_schema_ref": "none.json"}, "output_schema_ref", "there is no file 'none.json'"),
        ({"output_schema_ref": "a", "output_schema": richer()}, "output_schema_ref", "both stand here"),
    ],
)
def test_a_schema_stands_in_one_place(tmp_path: Path, said: dict[str, Any], field: str, fact: str) -> None:
    problem = only(refuse(tmp_path, table(said)))

    assert problem.field == f"jobs[0].steps[0].{field}"
    assert fact in problem.fact


def test_a_schema_for_all_is_told_once_where_it_stands(tmp_path: Path) -> None:
    assert only(refuse(tmp_path, table({}, {}, {}, output_schema={"type": "object"}))).field == "output_schema"


def test_a_schema_is_bounded_when_written_out_too(tmp_path: Path) -> None:
    limits = replace(LIMITS, schema_bytes_max=100)

    assert "the limit is 100" in only(refuse(tmp_path, table(output_schema=richer()), limits=limits)).fact
