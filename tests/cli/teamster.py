"""The command line, called in this process or started as one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

import pytest

from operations.place import Place
from teamster.cli import run

ENDS_SECONDS_MAX: Final = 60.0


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Its one JSON object."""
        value: dict[str, Any] = json.loads(self.out)
        return value


@dataclass(frozen=True)
class Teamster:
    """`teamster` at a place."""

    place: Place
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, env: dict[str, str] | None = None) -> Said:
        """Call it in this process."""
        place = Place(self.place.folder, env={**self.place.env, "TEAMSTER_ROOT": str(self.place.root), **(env or {})})
        self.capture.readouterr()
        code = run(lambda: place.wiring, arguments)
        out, err = self.capture.readouterr()
        return Said(code, out, err)


def start(place: Place, *arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start it as a process in a session of its own, as a terminal would."""
    return subprocess.Popen(
        [sys.executable, "-m", "teamster", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=place.folder,
        env={**os.environ, **place.env, "TEAMSTER_ROOT": str(place.root), **more.pop("env", {})},
        **more,
    )


def ended(process: subprocess.Popen[str]) -> Said:
    """Wait for its end."""
    out, err = process.communicate(timeout=ENDS_SECONDS_MAX)
    return Said(process.returncode, out, err)


def lines(said: Said) -> list[str]:
    """Return the lines of an answer without the space that fills columns."""
    return [line.rstrip() for line in said.out.splitlines()]
