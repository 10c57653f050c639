"""What may stand in tracked files: pins without addresses, ignores with reasons, no trace of one machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINS = sorted((ROOT / "requirements").iterdir())
FORBIDDEN = {
    "a machine's path": r"(?<![\w.~/-])/(?:work|farm|root|opt)/(?!\*)",
    "a home folder": r"/(?:home|Users)/[a-z]\w*/",
    "a registry": r"https?://[^ ]*/(?:simple|packages)/|pypi\.org|files\.pythonhosted|registry\.npmjs",
    "an index option": r"--(?:extra-)?(?:index-url|find-links|registry)\b",
    "a working tool's signature": r"(?i:co-authored-by|generated with|\bas an ai\b|(?:claude|codex|ai) session\b)",
    "a note to oneself": r"\b(?:FIXME|XXX)\b|\bTODO\b(?! \(#\d+\))",
}
ALLOWED = {"tests/architecture/test_tree.py"}  # it names what it forbids


def tracked() -> list[str]:
    """Return the text files that git knows, or, outside a clone, none."""
    result = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    return [name for name in result.stdout.split("\0") if name and name not in ALLOWED and (ROOT / name).is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_holds(what: str) -> None:
    """What is true on one machine, or at one moment, doesn't belong into the house."""
    pattern = re.compile(FORBIDDEN[what])
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name in tracked()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]

    assert found == []


@pytest.mark.parametrize("path", PINS, ids=lambda path: str(path.name))
def test_requirements_name_no_address(path: Path) -> None:
    """Each machine uses the index that it is set up for."""
    assert re.search(r"http|://|index-url|find-links|trusted-host| @ ", path.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("path", [path for path in PINS if path.suffix == ".txt"], ids=lambda path: str(path.name))
def test_every_pin_is_exact_and_hashed(path: Path) -> None:
    """A pin without a hash is a wish."""
    pins = re.split(r"\n(?=\S)", path.read_text(encoding="utf-8").strip())

    assert [pin for pin in pins if "==" not in pin.splitlines()[0] or "--hash=sha256:" not in pin] == []


def test_what_tests_need_holds_what_users_get() -> None:
    """Tests run with the very versions that a user gets."""
    base, dev = ((ROOT / "requirements" / name).read_text(encoding="utf-8") for name in ("base.txt", "dev.txt"))

    assert {line for line in base.splitlines() if "==" in line} <= set(dev.splitlines())


def test_every_lint_that_is_ignored_has_its_reason_beside_it() -> None:
    """A rule that is switched off without a reason is never switched on again."""
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    ignores = [line for line in lines if re.match(r'\s*(?:"[\w*/.]+" = \[.*)?"[A-Z]+\d+"', line)]

    assert ignores
    assert [line for line in ignores if "#" not in line] == []


def test_nothing_is_silenced_in_the_lines_of_the_product_without_a_reason() -> None:
    """`noqa` and `type: ignore` name their rule and say why."""
    silenced = [
        f"{path.name}:{number}"
        for path in (ROOT / "src").rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# (?:noqa|type: ignore)", line)
        and not re.search(r"# (?:noqa: [A-Z0-9, ]+|type: ignore\[[\w, -]+\]) +(?:#|-) *\w", line)
    ]

    assert silenced == []


def test_the_base_install_grows_by_decision() -> None:
    """Another dependency needs a decision record that says what it replaces."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=\[ ]", dependency)[0] for dependency in project["dependencies"]}

    assert names == {"apsw", "backports.zstd", "jsonschema", "pyyaml", "rich", "structlog", "typer"}


def test_the_floor_of_the_command_line_library_is_what_tests_run_with() -> None:
    """We use what only newer ones have, and no test ever ran with an older one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "requirements" / "base.txt").read_text(encoding="utf-8")
    pinned = re.search(r"^typer==(\d+\.\d+)\.", pins, re.MULTILINE)

    assert pinned is not None
    assert f"typer>={pinned[1]}" in project["dependencies"]
