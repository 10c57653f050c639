"""The record by which a running model is found again."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self

from teamster.model import JsonObject, WorldError
from teamster.rehearsal.answering import HEALTH_PATH, STOP_PATH, TOKEN_HEADER
from teamster.rehearsal.listening import LOOPBACK, proof_of

SCENARIO_NAME: Final = "scenario.yaml"
RECORD_NAME: Final = "model.json"
LOG_NAME: Final = "model.log"
IDLE_SECONDS_MAX: Final = 3600.0
ANSWER_SECONDS_MAX: Final = 5.0
ANSWER_BYTES_MAX: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """What a model writes about itself when it listens. Its token lets who can read the record end it."""

    base_url: str
    port: int
    pid: int
    token: str = field(repr=False)
    scenario_sha256: str

    def to_json(self) -> JsonObject:
        """Write it."""
        return {
            "base_url": self.base_url,
            "port": self.port,
            "pid": self.pid,
            "token": self.token,
            "scenario_sha256": self.scenario_sha256,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """Read what `to_json` wrote."""
        return cls(**value)

    def is_answering(self) -> bool:
        """Ask it whether it is there: a recorded port may be somebody else's by now."""
        try:
            status, body = self._ask("GET", HEALTH_PATH)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return status == HTTPStatus.OK and isinstance(body, dict) and body.get("proof") == proof_of(self.token)

    def ask_to_stop(self) -> None:
        """Tell it to end. One that is gone already is no problem.

        Raises:
            WorldError: it answers, but does not obey.
        """
        try:
            status, body = self._ask("POST", STOP_PATH)
        except (OSError, http.client.HTTPException, ValueError):
            return
        if status != HTTPStatus.OK:
            raise WorldError(f"the scripted model on port {self.port} does not stop: {body}")

    def _ask(self, method: str, path: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=ANSWER_SECONDS_MAX)
        try:
            connection.request(method, path, body=b"", headers={TOKEN_HEADER: self.token} if method == "POST" else {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read(ANSWER_BYTES_MAX))
        finally:
            connection.close()


def read_record(folder: Path) -> ModelRecord | None:
    """Read a folder's record; None where there is none that can be read."""
    try:
        return ModelRecord.from_json(json.loads((folder / RECORD_NAME).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
