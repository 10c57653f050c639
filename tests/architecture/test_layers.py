"""The layer contract: kept by the code, and able to refuse what it should."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the real import-linter on the package under `folder`/src."""
    return subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package and its contracts, to be broken."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_rooms_look_down_and_never_up() -> None:
    """The folder list is the architecture."""
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        pytest.param("kit/up.py", "import teamster.model", id="kit-looks-up"),
        pytest.param("store/across.py", "import teamster.process", id="store-looks-at-its-neighbour"),
        pytest.param("runner/across.py", "import teamster.scheduler", id="runner-calls-the-scheduler"),
        pytest.param("cli/down.py", "import teamster.store", id="surface-opens-the-store"),
        pytest.param("cli/down.py", "import teamster.policy", id="surface-decides"),
        pytest.param("store/wrong.py", "import sqlite3", id="the-wrong-sqlite"),
        pytest.param("workspace/wrong.py", "import subprocess", id="a-room-that-starts-programs"),
        pytest.param("helpers/__init__.py", "", id="a-room-without-a-place"),
    ],
)
def test_the_contracts_refuse_what_they_should(copy: Path, module: str, line: str) -> None:
    """A contract that can't fail is a wish."""
    path = copy / "src" / "teamster" / module
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{line}\n", encoding="utf-8")

    result = lint_imports(copy)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout
