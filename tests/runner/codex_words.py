"""What Codex prints and leaves behind, as a script plays it."""

from __future__ import annotations

import json
from typing import Any

from runner.parts import Script, report
from teamster.model import Exited, Outcome

THREAD = "0198b5b2-0000-7000-8000-000000000001"
OTHER_THREAD = "0198b5b2-0000-7000-8000-000000000002"


def rollout(thread: str = THREAD) -> str:
    """Name a session's file below a home."""
    return f"sessions/2026/01/14/rollout-2026-01-14T17-30-00-{thread}.jsonl"


def codex_says(*events: dict[str, Any], final: str | None = None, thread: str = THREAD) -> bytes:
    """Return what Codex prints; with `final` it says its last word."""
    lines: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": thread}, {"type": "turn.started"}, *events]
    if final is not None:
        lines.append({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": final}})
        lines.append({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 7}})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def codex_did(outcome: Outcome | None = None, *, thread: str = THREAD, session: bytes = b"{}\n") -> Script:
    """Return the script of a Codex that did its work in a thread and left its session."""
    return Script(outcome or Exited(0), codex_says(final=report(), thread=thread), files={rollout(thread): session})
