"""Rooms are entered by their doors: what may be imported from where."""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "teamster"
RUN_BY_PATH = [PACKAGE / "process" / "nursery.py", PACKAGE / "kit" / "flushing.py"]
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted(folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").is_file())
DOOR_PARTS = 2  # teamster.<room>


def imported_by(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports by dots: name the module in full"
            yield node.module or ""


def named(path: Path) -> str:
    """Return a file's path as a test id."""
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_other_rooms_are_entered_by_their_door(path: Path) -> None:
    """What a door doesn't export may change without asking anybody."""
    own_room = path.relative_to(PACKAGE).parts[0]
    behind_doors = [
        name
        for name in imported_by(path)
        if name.startswith("teamster.") and name.count(".") >= DOOR_PARTS and name.split(".")[1] != own_room
    ]

    assert behind_doors == []


@pytest.mark.parametrize("path", RUN_BY_PATH, ids=named)
def test_a_program_that_is_run_by_its_path_needs_the_standard_library_alone(path: Path) -> None:
    """With `-I -S` anything else isn't there, and would double its memory."""
    assert {name.split(".")[0] for name in imported_by(path)} <= sys.stdlib_module_names


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_says_what_the_room_may_touch_and_exports_what_exists(room: str) -> None:
    """A newcomer reads the door first; `__all__` is the whole promise."""
    door = importlib.import_module(f"teamster.{room}")
    text = (door.__doc__ or "").lower()

    assert "may touch" in text
    assert "must not" in text
    assert [name for name in door.__all__ if not hasattr(door, name)] == []
    assert len(set(door.__all__)) == len(door.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_a_door_exports_each_name_that_it_imports_from_its_room(room: str) -> None:
    """A name that stands at the door without being promised is an accident waiting for a user."""
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    own = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"teamster.{room}")
        for alias in node.names
    }

    assert own <= set(importlib.import_module(f"teamster.{room}").__all__)


def test_every_surface_is_kept_from_store_process_and_policy() -> None:
    """The contract names surfaces one by one; a new one must be added to it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    surfaces = {f"teamster.{room}" for room in ROOMS if room in {"cli", "tui", "web", "api", "mcp"}}
    kept = next(contract for contract in contracts if contract["name"].startswith("Surfaces"))

    assert surfaces <= set(kept["source_modules"])
    assert set(kept["forbidden_modules"]) == {"teamster.store", "teamster.process", "teamster.policy"}
