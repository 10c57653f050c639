"""Unified diffs that people wrote by hand: what files they name, and line counts that are right."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

NOTHING: Final = "/dev/null"

_PART: Final = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def names_in(diff: str) -> tuple[str, ...]:
    """Return the names of the files that a diff changes, with what stands before them; none: it is no diff."""
    lines = diff.split("\n")
    if not any(_PART.match(line) for line in lines):
        return ()
    return tuple(
        name.split("\t")[0].strip()
        for old, new in pairwise(lines)
        if _begins_file(old, new)
        for name in (old[4:], new[4:])
    )


def recounted(diff: str) -> str:
    """Return a diff whose parts say how many lines they really have: nobody counts them by hand.

    A line of context that is empty has lost its blank, as editors do.
    """
    lines = [*diff.removesuffix("\n").split("\n"), ""]
    written: list[str] = []
    part: list[str] = []
    head: re.Match[str] | None = None
    for line, following in pairwise(lines):
        begun = _PART.match(line)
        if begun is not None or _begins_file(line, following):
            written += _counted(head, part)
            head, part = begun, []
        if head is None:
            written.append(line)
        elif begun is None:
            part.append(line or " ")
    return "\n".join([*written, *_counted(head, part), ""])


def _begins_file(line: str, following: str) -> bool:
    return line.startswith("--- ") and following.startswith("+++ ")


def _counted(head: re.Match[str] | None, part: list[str]) -> list[str]:
    if head is None:
        return []
    old, new = (sum(line[0] in {" ", sign} for line in part) for sign in "-+")
    return [f"@@ -{head[1]},{old} +{head[2]},{new} @@", *part]
