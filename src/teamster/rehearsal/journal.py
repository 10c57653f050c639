"""What the model was asked, line by line: people look at it, tests count it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from teamster.kit import Clock, append, canonical, iso, one_line
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.talk import Talk

REQUESTS_NAME: Final = "requests.jsonl"
REQUESTS_BYTES_MAX: Final = 64 * 1024 * 1024
ASKED_CHARACTERS_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request, and the answer that was given to it.

    `prompts` counts the turns of the conversation so far, those of a resumed one included; `calls` the tools that
    were used in it. `asked` is the beginning of the last prompt. `answered` is the tool that was called, `report`,
    `errand` for what a program asked for itself, or the failure that was played.
    """

    at: str
    job_id: str
    step_id: str
    attempt: int
    thread: str
    prompts: int
    calls: int
    asked: str
    answered: str


class Journal:
    """The file of requests. What comes after `bytes_max` is not written: a rehearsal may go on for days."""

    def __init__(self, path: Path, *, clock: Clock, bytes_max: int = REQUESTS_BYTES_MAX) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._bytes_left = bytes_max - (path.stat().st_size if path.exists() else 0)

    def add(self, conversation: Conversation, talk: Talk, *, answered: str) -> None:
        """Write one line."""
        request = ModelRequest(
            at=iso(self._clock.now().wall),
            job_id=conversation.job_id,
            step_id=conversation.step_id,
            attempt=conversation.attempt_number,
            thread=talk.thread,
            prompts=talk.prompts,
            calls=talk.calls,
            asked=one_line(talk.asked[: 4 * ASKED_CHARACTERS_MAX], characters_max=ASKED_CHARACTERS_MAX),
            answered=answered,
        )
        line = canonical(asdict(request)) + b"\n"
        with self._lock:
            self._bytes_left -= len(line)
            if self._bytes_left >= 0:
                append(self._path, line)


def read_requests(folder: Path) -> tuple[ModelRequest, ...]:
    """Read what the model of a folder was asked, the oldest first; a line that is not whole yet is left out."""
    path = folder / REQUESTS_NAME
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return tuple(_request(json.loads(line)) for line in lines)


def _request(value: Mapping[str, Any]) -> ModelRequest:
    return ModelRequest(**value)
