"""The published schema: current, true of every example, and refused by the reader wherever it refuses."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft7Validator
from scripts.launch_table import PUBLISHED, render

from intake.writing import GOAL, lines, table
from teamster.intake import LIMITS, SCHEMA_FILE, launch_table_schema, table_from
from teamster.intake.parsed import written
from teamster.intake.shapes import INHERITED, SHAPES
from teamster.model import TableDefaults, TableProblems

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "launch-table.md").read_text(encoding="utf-8")
SCHEMA: Final = launch_table_schema()
# What people write by mistake, and what nobody would.
VALUES: Final[tuple[Any, ...]] = (
    True, 7, -1, 0, 1.5, 10**9, "", " ", "a b", "nonsense", "7", "-", "_a", "a.b", "1.0", "ok", "x" * 5000,
    [], [7], [[]], ["nonsense"], ["a", 7], [{}], [None], {}, {"zzz": 1}, {"a": {"b": [1]}}, [{"zzz": 1}],
)  # fmt: skip
# Where a level stands in a table, and what else must be there.
PLACES: Final[dict[str, tuple[tuple[str | int, ...], dict[str, Any]]]] = {
    "table": ((), {}),
    "job": (("jobs", 0), {}),
    "step": (("jobs", 0, "steps", 1), {}),
    "pack": (("packs", "p"), {}),
    "resume_from": (("jobs", 0, "steps", 1, "resume_from"), {"step_id": "a"}),
    "artifact": (("jobs", 0, "steps", 1, "artifacts_expected", 0), {"path": "x"}),
    "runner_affinity": (("jobs", 0, "steps", 1, "runner_affinity"), {}),
    "retention_policy": (("retention_policy",), {}),
    "execution_policy": (("jobs", 0, "execution_policy"), {}),
    "timeouts": (("jobs", 0, "steps", 1, "timeouts"), {}),
    "retry_policy": (("retry_policy",), {}),
    "workspace_policy": (("workspace_policy",), {}),
}
FIELDS: Final = [(level, name) for level in SHAPES for name in SHAPES[level]]


@pytest.mark.parametrize("path", [SCHEMA_FILE, PUBLISHED], ids=lambda path: str(path.parent.name))
def test_the_schema_that_is_shipped_is_the_one_that_the_fields_make(path: Path) -> None:
    """`make docs` writes it again."""
    assert path.read_text(encoding="utf-8") == render()


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert set(PLACES) == set(SHAPES)


def tables() -> Iterator[Any]:
    """Yield every table that is shown to people, in whatever form."""
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in {".yaml", ".json"}:
            yield pytest.param(yaml.safe_load(path.read_text(encoding="utf-8")), id=path.name)
    for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1:-1]):
        yield pytest.param({"batch_goal_summary": GOAL, **yaml.safe_load(text)}, id=f"yaml-{number}")
    for number, text in enumerate(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)):
        yield pytest.param({**tomllib.loads(text), "batch_goal_summary": GOAL}, id=f"toml-{number}")


@pytest.mark.parametrize("value", list(tables()))
def test_an_editor_finds_nothing_wrong_with_a_good_table(value: Any) -> None:
    """Red lines under what is right teach people to look away."""
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(value)] == []


def with_field(level: str, name: str, value: Any) -> tuple[dict[str, Any], str]:
    """Return a good table but for one field, and how the field is called in messages."""
    content: Any = table({"step_id": "a"}, {"step_id": "b", "depends_on": "a"})
    path, around = PLACES[level]
    holder: Any = content
    for part, following in zip(path, (*path[1:], "")[: len(path)], strict=True):
        if isinstance(holder, dict):
            holder = holder.setdefault(part, [{}] if isinstance(following, int) else {})
        else:
            holder = holder[part]
    holder.update({key: said for key, said in around.items() if name not in {key, "name"}})
    if name in {"prompt_ref", "command"} and level == "step":
        del holder["prompt"]
    holder[name] = value
    return content, written((*path, name))


def is_wrong(level: str, name: str, value: Any) -> bool:
    """Ask the schema."""
    field = {**SHAPES[level][name], "definitions": SCHEMA["definitions"]}
    return not Draft7Validator(field).is_valid(value)


def edges(shape: dict[str, Any]) -> Iterator[Any]:
    """Yield what lies just beyond the bounds of a shape."""
    for bound, step in (("minimum", -1), ("maximum", 1)):
        if bound in shape:
            yield shape[bound] + step
    if "maxLength" in shape and shape["maxLength"] < LIMITS.goal_characters_max:
        yield "x" * (shape["maxLength"] + 1)
    if "maxItems" in shape and shape["maxItems"] <= LIMITS.depends_on_max:
        yield ["x"] * (shape["maxItems"] + 1)
    if "maxProperties" in shape:
        yield {f"n{number}": "x" for number in range(shape["maxProperties"] + 1)}


@pytest.mark.req("PH-7.1", "PH-6.2a", "PH-6.2b", "PH-6.2c", "PH-6.2d", "PH-6.2e", "PH-6.2f")
@pytest.mark.parametrize(("level", "name"), FIELDS)
def test_every_field_wrong_in_every_way_is_refused_at_its_place(tmp_path: Path, level: str, name: str) -> None:
    """Whatever the schema calls wrong the reader refuses, and says which field it is, with a line and a column."""
    (tmp_path / ".git").mkdir()
    wrong = [value for value in (*VALUES, *edges(dict(SHAPES[level][name]))) if is_wrong(level, name, value)]
    assert wrong, "a field that takes everything says nothing"

    for value in wrong:
        content, shown = with_field(level, name, value)
        with pytest.raises(TableProblems) as caught:
            table_from(json.dumps(content), path=tmp_path / "t.json", defaults=TableDefaults())
        at_place = [problem for problem in caught.value.problems if problem.field.startswith(shown)]
        assert at_place, (value, lines(caught.value.problems))
        assert all(re.search(r":[0-9]+:[0-9]+$", problem.place) for problem in at_place)
        assert all(str(problem).isprintable() for problem in caught.value.problems)


@pytest.mark.parametrize("level", SHAPES)
def test_what_the_schema_offers_as_default_is_taken(tmp_path: Path, level: str) -> None:
    """A completion that is then refused would be a trap."""
    for name, shape in SHAPES[level].items():
        if "default" in shape:
            content, _ = with_field(level, name, shape["default"])
            table_from(json.dumps(content), path=tmp_path / "t.json", defaults=TableDefaults())


def test_what_may_stand_anywhere_stands_on_three_levels() -> None:
    assert all(INHERITED.keys() <= SHAPES[level].keys() for level in ("table", "job", "step"))
