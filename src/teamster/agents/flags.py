"""Reads what a program says about itself: its version, and the flags that its help names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_VERSION: Final = re.compile(r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*")


def read_version(text: str) -> str | None:
    """Find the version in what a program prints."""
    found = _VERSION.search(text)
    return found[0] if found else None


def names_flag(text: str, flag: str) -> bool:
    """Tell whether a help text names a flag, whole."""
    return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text) is not None


def missing_flags(text: str, flags: Iterable[str], *, call: str) -> tuple[str, ...]:
    """Return the flags that a help text doesn't name, each with the call that needs it."""
    return tuple(f"{call} {flag}" for flag in flags if not names_flag(text, flag))
