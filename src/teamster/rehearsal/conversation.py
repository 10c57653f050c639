"""Who is talking: how the model knows which attempt asks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from teamster.model import is_id

JOB_HEADER: Final = "x-teamster-job"
STEP_HEADER: Final = "x-teamster-step"
ATTEMPT_HEADER: Final = "x-teamster-attempt"
HEADER_VARIABLES: Final[Mapping[str, str]] = {
    JOB_HEADER: "TEAMSTER_JOB_ID",
    STEP_HEADER: "TEAMSTER_STEP_ID",
    ATTEMPT_HEADER: "TEAMSTER_ATTEMPT",
}
"""Each header, and the variable of an agent's environment that an agent program puts into it."""

_ATTEMPT_DIGITS_MAX: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The attempt of a step that asks. An unknown caller has the names `-` and attempt 1."""

    job_id: str = "-"
    step_id: str = "-"
    attempt_number: int = 1

    def __str__(self) -> str:
        """Write it as people name it."""
        return f"{self.job_id}.{self.step_id}, attempt {self.attempt_number}"


def conversation_of(headers: Mapping[str, str]) -> Conversation:
    """Read who asks from the headers of a request, their names in lower case."""
    job_id, step_id = headers.get(JOB_HEADER, ""), headers.get(STEP_HEADER, "")
    if not is_id(job_id) or not is_id(step_id):
        return Conversation()
    number = headers.get(ATTEMPT_HEADER, "")
    is_number = number.isascii() and number.isdigit() and len(number) <= _ATTEMPT_DIGITS_MAX
    return Conversation(job_id=job_id, step_id=step_id, attempt_number=max(int(number), 1) if is_number else 1)
