"""Names of things, each a type of its own, all of one grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NewType

BatchId = NewType("BatchId", str)
JobId = NewType("JobId", str)
StepId = NewType("StepId", str)
RunId = NewType("RunId", str)
ItemId = NewType("ItemId", str)
ShiftId = NewType("ShiftId", str)
RunnerId = NewType("RunnerId", str)
HostId = NewType("HostId", str)
RootId = NewType("RootId", str)
ClaimToken = NewType("ClaimToken", str)
RequestId = NewType("RequestId", str)

ID_CHARACTERS_MAX = 64
ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
ID_RULE = "letters, digits, `_` and `-`, the first a letter or digit, 64 at most"


def is_collection(text: str) -> bool:
    """Tell whether a text names a collection, such as `_plans`: items without a step. No batch can have such a name."""
    return text[:1] == "_" and is_id(text[1:])


def is_id(text: str) -> bool:
    """Tell whether a text fits the grammar of ids. It has no dot: `job.step` is a reference."""
    return ID_PATTERN.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, order=True)
class StepKey:
    """The name of a step: what dependencies point at."""

    batch_id: BatchId
    job_id: JobId
    step_id: StepId

    def __post_init__(self) -> None:
        for part in (self.batch_id, self.job_id, self.step_id):
            if not is_id(part):
                raise ValueError(f"{part!r} is not an id: {ID_RULE}")

    def __str__(self) -> str:
        """Write the reference within the batch, `job.step`."""
        return f"{self.job_id}.{self.step_id}"
