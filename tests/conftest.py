"""What holds for every test: a requirement that a test claims to prove must exist."""

from __future__ import annotations

import pytest
from scripts.conformance import proven_by, read_requirements


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a run in which a test names a requirement that `docs/requirements.md` doesn't have."""
    known = read_requirements()
    unknown = sorted(
        {f"{item.nodeid}: no requirement {name!r}" for item in items for name in proven_by(item) if name not in known}
    )
    if unknown:
        raise pytest.UsageError("\n".join(unknown))
