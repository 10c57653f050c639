"""`docs/artifact-contract.md` is what other programs are built on: it must say what the code does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from teamster.artifacts import KEPT, ROOT_FOLDERS, meta_faults, pointers_faults, queued, state_faults

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "artifact-contract.md").read_text(encoding="utf-8")
COLUMNS = 5


def kept_rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the page's names, each with the prefix of its table, and what it says about them."""
    prefix = ""
    for line in PAGE.splitlines():
        below = re.fullmatch(r"Below `(?:<root>/)?([^`]*)`:", line)
        prefix = below[1] if below else prefix
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == COLUMNS:
            yield prefix + cells[0].strip("`").removeprefix("./"), tuple(cells[1:])


@pytest.mark.req("PH-8.2.2")
def test_the_page_lists_each_kept_name_with_its_class_writer_and_end_of_change() -> None:
    """A file that the page doesn't know is a file that nobody can rely on."""
    expected = [
        (name, (rule.file_class.value, rule.writer, rule.written, rule.immutable_from)) for name, rule in KEPT.items()
    ]

    assert sorted(kept_rows()) == sorted(expected)


@pytest.mark.parametrize(
    ("title", "faults_of"),
    [("meta.json", meta_faults), ("state.json", state_faults), ("current.json", pointers_faults)],
)
def test_each_example_is_a_document_without_a_fault(
    title: str, faults_of: Callable[[Mapping[str, Any]], list[str]]
) -> None:
    """People copy examples."""
    section = PAGE.split(f"### `{title}`", 1)[1]
    example = json.loads(section.split("```json", 1)[1].split("```", 1)[0])

    assert faults_of(example) == []


def test_the_example_of_a_state_has_all_its_fields() -> None:
    section = PAGE.split("### `state.json`", 1)[1]

    assert list(json.loads(section.split("```json", 1)[1].split("```", 1)[0])) == list(queued())


def test_the_tree_shows_each_folder_of_the_root() -> None:
    tree = PAGE.split("```text", 1)[1].split("```", 1)[0]

    assert [name for name in ROOT_FOLDERS if f"{name}/" not in tree] == []
