"""Print every requirement with the tests that prove it, and the count: a report, not a gate."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "requirements.md"
_ROW = re.compile(r"\| (?P<id>[A-Z]+[A-Z0-9]*-[A-Za-z0-9.]+) \| (?P<title>.+) \|")


def read_requirements() -> dict[str, str]:
    """Return each requirement's id and title, in the order of the page.

    Raises:
        ValueError: an id stands there twice.
    """
    requirements: dict[str, str] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if row := _ROW.fullmatch(line):
            if row["id"] in requirements:
                raise ValueError(f"{PAGE.name}: {row['id']} stands there twice")
            requirements[row["id"]] = row["title"]
    return requirements


def proven_by(item: pytest.Item) -> tuple[str, ...]:
    """Return the ids that a test claims to prove."""
    return tuple(str(name) for mark in item.iter_markers("req") for name in mark.args)


class Collector:
    """Sees what pytest collects, and runs nothing."""

    def __init__(self) -> None:
        self.proofs: dict[str, set[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note each test under the requirements that it names; its parameters don't matter."""
        for item in session.items:
            for name in proven_by(item):
                self.proofs.setdefault(name, set()).add(item.nodeid.partition("[")[0])


def report(requirements: Mapping[str, str], proofs: Mapping[str, set[str]]) -> str:
    """Write the report: a line for each requirement, its tests below it, the count at the end."""
    lines: list[str] = []
    for name, title in requirements.items():
        tests = sorted(proofs.get(name, ()))
        lines.append(f"{'proven' if tests else 'open  '}  {name:<10}  {title}")
        lines.extend(f"                    {test}" for test in tests)
    proven = sum(name in proofs for name in requirements)
    lines.append(f"\n{len(requirements)} requirements: {proven} proven, {len(requirements) - proven} open")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Collect the tests (`arguments`: paths, default all) and print the report."""
    collector, output = Collector(), io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main(["--collect-only", "-q", f"--rootdir={ROOT}", *arguments], plugins=[collector])
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        print(output.getvalue(), file=sys.stderr)
        return int(status)
    print(report(read_requirements(), collector.proofs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
