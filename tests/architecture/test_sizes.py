"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("src", "tests", "bench", "scripts") for path in (ROOT / folder).rglob("*.py"))
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
EXCEPTIONS: dict[str, str] = {  # "path" or "path:function" to its reason; only shrinks
    "src/teamster/process/nursery.py": "run by its path with `-I -S`, it can't import a second file",
}


def named(path: Path) -> str:
    """Return a file's path as a test id."""
    return path.relative_to(ROOT).as_posix()


def too_long(path: Path) -> dict[str, int]:
    """Return what is longer than its stop, with its lines."""
    text = path.read_text(encoding="utf-8")
    sizes = {
        f"{named(path)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    long = {name: lines for name, lines in sizes.items() if lines > FUNCTION_LINES_MAX}
    lines = len(text.splitlines())
    return {**long, named(path): lines} if lines > FILE_LINES_MAX else long


@pytest.mark.parametrize("path", FILES, ids=named)
def test_files_and_functions_stop_growing_in_time(path: Path) -> None:
    """Aim under 150 lines and 15; these are the stops."""
    assert {name: lines for name, lines in too_long(path).items() if name not in EXCEPTIONS} == {}


def test_an_exception_that_is_no_longer_needed_goes() -> None:
    """The list only shrinks."""
    needed = {name for path in FILES for name in too_long(path)}

    assert set(EXCEPTIONS) <= needed
