"""The page of launch tables and the examples say what the reader does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from intake.writing import GOAL, refuse
from teamster.intake import LIMITS, read_table, table_from
from teamster.intake.keys import LATER_VALUES, LEVELS
from teamster.intake.shapes import INHERITED, SHAPES, Shapes
from teamster.model import APPROVAL_POLICIES, PLACEHOLDERS, SANDBOXES, TableDefaults

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "launch-table.md").read_text(encoding="utf-8")
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in {".yaml", ".json"})
SNIPPETS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
BROKEN = SNIPPETS[-1]
HEADINGS = {"table": "Table", "job": "Job", "step": "Step"}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without backquotes."""
    section = re.search(rf"^##+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert section is not None, heading
    lines = [line for line in section[1].splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def listed(heading: str) -> list[tuple[str, str]]:
    """Return the fields below a heading, and what is said of each."""
    return [(row[0], row[3]) for row in rows(heading)]


def told(shapes: Shapes) -> list[tuple[str, str]]:
    """Return fields of the reader in the same form."""
    return [(name, shape["description"].strip("`")) for name, shape in shapes.items()]


@pytest.mark.parametrize("level", LEVELS)
def test_the_page_lists_the_fields_that_the_reader_knows(level: str) -> None:
    """A field that is not on the page can't be found, one that is not in the reader is a lie."""
    inherited = INHERITED if level in HEADINGS else {}

    own = {name: shape for name, shape in SHAPES[level].items() if name not in inherited}
    assert listed(HEADINGS.get(level, level)) == told(own)


def test_the_page_lists_what_may_stand_anywhere() -> None:
    assert listed("Anywhere") == told(INHERITED)


def test_the_page_lists_the_words_that_may_be_chosen() -> None:
    words = {row[0]: tuple(re.findall(r"[a-z][a-z-]+", row[1])) for row in rows("execution_policy")}

    assert words["sandbox"] == SANDBOXES
    assert words["approval_policy"] == APPROVAL_POLICIES


def test_the_page_lists_what_comes_later() -> None:
    expected = [(level, name) for level, names in LATER_VALUES.items() for name in names]

    assert [(row[0], row[1]) for row in rows("Known, and not yet there")] == expected


def test_the_page_lists_the_placeholders() -> None:
    assert [row[0].strip("{}") for row in rows("Agents")] == list(PLACEHOLDERS)


def test_the_page_states_the_limits() -> None:
    assert {row[0]: int(row[1]) for row in rows("Limits")} == {
        field.name: getattr(LIMITS, field.name) for field in fields(LIMITS)
    }


def test_the_page_states_the_defaults_that_hold() -> None:
    """Of all that is said about a field, its default is what people rely on in silence."""
    defaults = TableDefaults()
    said = {row[0]: row[2] for name in ("Table", "Anywhere", "execution_policy", "retry_policy") for row in rows(name)}

    assert said["concurrency"] == str(defaults.concurrency)
    assert said["timeout_seconds"] == f"{defaults.timeout_seconds:g}"
    assert said["agent"].strip("`") == defaults.agent.agent
    assert said["sandbox"].strip("`") == defaults.policy.sandbox
    assert said["approval_policy"].strip("`") == defaults.policy.approval_policy
    assert said["max_attempts"] == str(defaults.retry.attempts_max)
    assert said["backoff_seconds"] == f"{defaults.retry.backoff_seconds:g}"
    assert said["backoff_seconds_max"] == f"{defaults.retry.backoff_seconds_max:g}"


def test_the_first_example_of_the_page_is_the_file_that_it_names() -> None:
    assert SNIPPETS[0] == (ROOT / "examples" / "hello.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("snippet", SNIPPETS[1:-1], ids=range(1, len(SNIPPETS) - 1))
def test_what_the_page_shows_is_read(tmp_path: Path, snippet: str) -> None:
    """A fragment needs nothing but a goal."""
    text = f"batch_goal_summary: {GOAL}\n{snippet}"

    assert table_from(text, path=tmp_path / "t.yaml", defaults=TableDefaults()).jobs


def test_the_problems_that_the_page_shows_are_those_that_come(tmp_path: Path) -> None:
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[-1].splitlines()

    assert [f"tidy{str(problem)[5:]}" for problem in refuse(tmp_path, BROKEN)] == shown


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.name))
def test_every_example_is_a_good_table(path: Path) -> None:
    """Everyone begins by copying one."""
    read = read_table(path, defaults=TableDefaults())

    assert len(read.goal_summary.split()) > 150
    assert len(set(read.goal_summary.casefold().split())) > 80, "a goal is made of sentences, not of filling"


def test_every_example_is_named_on_the_page() -> None:
    assert [path.name for path in EXAMPLES if f"`{path.name}`" not in PAGE] == []


def test_the_hello_table_shows_programs_and_an_agent() -> None:
    read = read_table(ROOT / "examples" / "hello.yaml", defaults=TableDefaults())

    assert {step.agent.agent for job in read.jobs for step in job.steps} == {"command", "codex"}
