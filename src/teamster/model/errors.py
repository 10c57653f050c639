"""What can go wrong, in three trunks.

```text
TeamsterError
├── UsageError            the caller asked for something impossible        exit 2
│   └── InputProblems     what came in, with all its problems and their places
│       ├── TableProblems     a table
│       ├── ConfigProblems    a configuration
│       └── RecordProblems    JSON of contract v1
├── WorldError            disk, process, program or database failed        exit 3
│   ├── StoreUnavailable
│   └── AgentUnusable     a program is missing, or not the one we know
└── LeaseLost             somebody else owns the item now: expected, ends the attempt quietly
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class TeamsterError(Exception):
    """The root: a fact about a subject, and a hint at the way out."""

    def __init__(self, fact: str, *, hint: str = "") -> None:
        super().__init__(fact)
        self.fact = fact
        self.hint = hint


class UsageError(TeamsterError):
    """The caller asked for something impossible."""


class WorldError(TeamsterError):
    """Disk, process, program or database failed; a later try may do."""


class StoreUnavailable(WorldError):
    """The database can't be reached, read or written."""


class AgentUnusable(WorldError):
    """An agent program is missing, or lacks a flag that we need."""


class LeaseLost(TeamsterError):
    """The writer is no longer the owner. Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with what a person wrote: the place, the fact, the way out."""

    place: str
    field: str
    fact: str
    hint: str = ""

    def __str__(self) -> str:
        """Write it as one line, as compilers do."""
        text = f"{self.place}: {self.field}: {self.fact}"
        return f"{text} ({self.hint})" if self.hint else text


class InputProblems(UsageError):
    """What came in can't be taken; every problem is listed."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        count = len(problems)
        super().__init__(f"{source} has {count} problem{'s' if count != 1 else ''}")
        self.source = source
        self.problems = tuple(problems)


class TableProblems(InputProblems):
    """A table can't be taken."""


class RecordProblems(InputProblems):
    """JSON of contract v1 can't be taken: nothing of it was."""


class ConfigProblems(InputProblems):
    """A configuration file can't be taken."""
