"""Kept files, read beneath the root; what isn't there, or isn't what it should be, is None."""

from __future__ import annotations

import json
from typing import Any, Final

from teamster.artifacts import Root
from teamster.kit import OutsideRoot, read_beneath

FILE_BYTES_MAX: Final = 16 << 20


def read_text(root: Root, path: str) -> str | None:
    """Read a kept text."""
    try:
        return read_beneath(root.path, path, bytes_max=FILE_BYTES_MAX).decode("utf-8", "replace")
    except (OSError, OutsideRoot):
        return None


def read_json(root: Root, path: str) -> dict[str, Any] | None:
    """Read a kept JSON object."""
    text = read_text(root, path)
    try:
        value = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
