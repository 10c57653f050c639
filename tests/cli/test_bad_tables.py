"""Tables that nobody can take: one clear answer each, exit code 2 or 3, and nothing half-made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.teamster import Teamster
from operations.place import GOAL, Place, step

Make = Callable[[Path], object]
JOB: dict[str, Any] = {"job_id": "a", "steps": [step("only", "true")]}
GOOD: dict[str, Any] = {"batch_goal_summary": GOAL, "jobs": [JOB]}
BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 8)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def text(content: str) -> Make:
    """Write a file of this content."""
    return lambda path: path.write_bytes(content.encode())


def changed(**fields: object) -> Make:
    """Write a good table but for some fields."""
    return text(json.dumps({**GOOD, **fields}))


def job(**fields: object) -> Make:
    """Write a table whose job is good but for some fields."""
    return changed(jobs=[{**JOB, **fields}])


def sparse(path: Path) -> None:
    """Make a file of 100 MB that takes no room."""
    with path.open("wb") as file:
        file.truncate(100_000_000)


BAD: dict[str, tuple[str, Make, str]] = {
    "nothing": ("t.json", lambda _: None, "no such file"),
    "a folder": ("t.json", Path.mkdir, "is a directory"),
    "a named pipe": ("t.json", os.mkfifo, "is no regular file"),
    "a link in a circle": ("t.json", lambda path: path.symlink_to(path), "too many levels"),
    "an unknown form": ("t.txt", text("x"), "is of no known form"),
    "100 MB": ("t.yaml", sparse, "has 100000000 bytes, the limit is 16777216"),
    "no UTF-8": ("t.json", lambda path: path.write_bytes(b"\xff\xfe{"), "is not UTF-8 text"),
    "empty YAML": ("t.yaml", text(""), "it is empty"),
    "empty JSON": ("t.json", text(""), "it is not JSON"),
    "empty TOML": ("t.toml", text(""), "batch_goal_summary: it is missing"),
    "a YAML bomb": ("t.yaml", text(BOMB), "it has more than 500000 values, aliases expanded"),
    "deep JSON": ("t.json", text("[" * 100_000), "it is nested deeper than 32 levels"),
    "deep TOML": ("t.toml", text(f"a = {'[' * 100_000}"), "it is nested deeper than 32 levels"),
    "control characters": ("t.yaml", text("a: \x1b[31m"), "it is not YAML"),
    "150 words": ("t.json", changed(batch_goal_summary="word " * 150), "it has 150 words, 1 too few"),
    "no jobs": ("t.json", changed(jobs=[]), "jobs: it is empty"),
    "twins by case": ("t.json", changed(jobs=[JOB, {**JOB, "job_id": "A"}]), "only by case"),
    "a reserved name": ("t.json", changed(batch_id="_system"), "'_system' is no id"),
    "a folder that is away": ("t.json", job(working_directory="nowhere"), "nowhere is not there"),
    "Teamster's own folder": ("t.json", job(working_directory="root/runs"), "Teamster keeps its records"),
    "a prompt beyond the roots": ("t.json", job(steps=[{"prompt_ref": "/etc/passwd"}]), "lies outside"),
    "a prompt through a link": ("t.json", job(steps=[{"prompt_ref": "away/passwd"}]), "lies outside"),
    "no such agent": ("t.json", job(agent="coder"), "'coder' is none of"),
    "no repository": ("t.json", job(steps=[{"prompt": "x"}]), "codex works in git repositories only"),
    "no such program": ("t.json", job(steps=[{"command": ["no-such-program"]}]), "no-such-program"),
    "no such step": ("t.json", job(steps=[{**step("b", "true"), "depends_on": "x.y"}]), "there is no job 'x'"),
    "a circle": ("t.json", job(steps=[{**step("b", "true"), "depends_on": "b"}]), "it waits for itself: b -> b"),
    "another version": ("t.json", changed(spec_version="2.0.0"), "2.0.0 is not known"),
    "a CSV file that is away": ("t.json", job(for_each="rows.csv"), "there is no file 'rows.csv'"),
}


@pytest.mark.req("PH-7.1", "PH-6.4d")
@pytest.mark.parametrize("verb", ["validate", "run"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_gets_one_clear_answer_and_leaves_nothing(
    place: Place, teamster: Teamster, name: str, verb: str
) -> None:
    """Its exit code, the same answer for a program, no root, no file changed, and no word of a mistake of ours."""
    (place.folder / "away").symlink_to("/etc")
    file, make, fact = BAD[name]
    if name == "Teamster's own folder":
        (place.root / "runs").mkdir(parents=True)
    make(place.folder / file)
    before = sorted(place.folder.rglob("*"))

    said = teamster(verb, file, "--json")
    error = said.json["error"]

    expected = 3 if name == "no such program" else 2  # what is missing is on the machine, not in the table
    assert (said.code, error["exit_code"]) == (expected, expected)
    shown = " ".join([error["message"], *(f"{one['field']}: {one['fact']}" for one in error["problems"])])
    assert fact in shown
    assert "mistake in teamster" not in shown
    assert sorted(place.folder.rglob("*")) == before


def test_a_root_that_can_not_be_written_is_the_world_s_fault(place: Place, teamster: Teamster) -> None:
    """The table is good; the disk is not: exit code 3, before anything was acknowledged."""
    (place.folder / "t.json").write_text(json.dumps(GOOD), encoding="utf-8")
    said = teamster("submit", "t.json", "--root", "/proc/teamster", "--json")

    assert (said.code, said.json["error"]["exit_code"]) == (3, 3)
