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

KEY_BEGINS: Final = "rehearsal"
KEY_HEADERS: Final = ("authorization", "x-api-key")
"""Where a key is sent. One like `rehearsal.JOB.STEP.ATTEMPT` says who asks, where a program sends no header of ours."""

_ATTEMPT_DIGITS_MAX: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The attempt of a step that asks. An unknown caller has the names `-` and attempt 1."""

    job_id: str = "-"
    step_id: str = "-"
    attempt_number: int = 1

    @property
    def key(self) -> str:
        """The key by which a program says that it asks for this attempt."""
        return f"{KEY_BEGINS}.{self.job_id}.{self.step_id}.{self.attempt_number}"

    def __str__(self) -> str:
        """Write it as people name it."""
        return f"{self.job_id}.{self.step_id}, attempt {self.attempt_number}"


def conversation_of(headers: Mapping[str, str]) -> Conversation:
    """Read who asks from the headers of a request, their names in lower case; what names nobody is passed over."""
    job_id, step_id, number = (headers.get(name, "") for name in HEADER_VARIABLES)
    if not is_id(job_id) or not is_id(step_id):
        job_id, step_id, number = _from_key(headers)
    if not is_id(job_id) or not is_id(step_id):
        return Conversation()
    is_number = number.isascii() and number.isdigit() and len(number) <= _ATTEMPT_DIGITS_MAX
    return Conversation(job_id=job_id, step_id=step_id, attempt_number=max(int(number), 1) if is_number else 1)


def _from_key(headers: Mapping[str, str]) -> tuple[str, str, str]:
    key = next((headers[name].removeprefix("Bearer ") for name in KEY_HEADERS if name in headers), "")
    match key.split("."):
        case [begin, job_id, step_id] if begin == KEY_BEGINS:
            return job_id, step_id, ""
        case [begin, job_id, step_id, number] if begin == KEY_BEGINS:
            return job_id, step_id, number
        case _:
            return "", "", ""
