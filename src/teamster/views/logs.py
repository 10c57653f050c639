"""What an agent printed, line by line: from the kept event log, while it runs and after it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

from teamster.artifacts import AttemptFile, Root, attempt_file
from teamster.kit import OutsideRoot, open_beneath, printable
from teamster.model import FINAL_ATTEMPT_STATUSES
from teamster.views.reading import read_json, read_text

FOLLOW_SECONDS: Final = 0.5


def read_log(root: Root, directory: str, *, raw: bool = False) -> Iterator[str]:
    """Yield what was printed so far, then what it complained about; `raw` yields the event lines as they are."""
    for line in _lines(root, directory, 0)[0]:
        yield from _shown(line, raw=raw)
    if not raw:
        yield from _complaints(root, directory)


def follow_log(root: Root, directory: str, *, wait: Callable[[float], object], raw: bool = False) -> Iterator[str]:
    """Yield what is printed until the attempt has ended, then what it complained about."""
    offset = 0
    while True:
        state = read_json(root, attempt_file(directory, AttemptFile.STATE)) or {}
        lines, offset = _lines(root, directory, offset)
        for line in lines:
            yield from _shown(line, raw=raw)
        if state.get("status") in FINAL_ATTEMPT_STATUSES:
            if not raw:
                yield from _complaints(root, directory)
            return
        wait(FOLLOW_SECONDS)


def _complaints(root: Root, directory: str) -> Iterator[str]:
    complaints = read_text(root, attempt_file(directory, AttemptFile.STDERR)) or ""
    yield from (printable(line) for line in complaints.splitlines())


def _lines(root: Root, directory: str, offset: int) -> tuple[list[bytes], int]:
    try:
        descriptor = open_beneath(root.path, attempt_file(directory, AttemptFile.EVENTS))
    except (OSError, OutsideRoot):
        return [], offset
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset)
        content = file.read()
    whole = content.rfind(b"\n") + 1
    return content[:whole].splitlines(), offset + whole


def _shown(line: bytes, *, raw: bool) -> Iterator[str]:
    if raw:
        yield line.decode("utf-8", "replace")
        return
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return
    text = _text(event) if isinstance(event, dict) else None
    if text is not None:
        yield printable(text)


def _text(event: dict[str, Any]) -> str | None:
    """Say in one line what an event tells a person; None where it tells nothing."""
    match event:
        case {"type": "teamster.output", "text": str(text)}:
            return text
        case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:
            return text
        case {"type": "item.started", "item": {"type": "command_execution", "command": str(command)}}:
            return f"$ {command}"
        case {"type": "item.completed", "item": {"type": "command_execution", "exit_code": int(code)}} if code:
            return f"  exit code {code}"
        case {"type": "item.completed", "item": {"type": "file_change", "changes": [*changes]}}:
            paths = [str(change.get("path")) for change in changes if isinstance(change, dict)]
            return f"  changed {', '.join(paths)}"
        case {"type": "turn.failed", "error": {"message": str(message)}} | {"type": "error", "message": str(message)}:
            return f"! {message}"
        case _:
            return None
