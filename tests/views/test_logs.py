"""What an agent printed, while it runs and after it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from operations.place import Place, step
from teamster.artifacts import Root
from teamster.kit import append, document, write_snapshot
from teamster.model import RootId
from teamster.views import find_run, follow_log, read_log

DIRECTORY = "runs/b/j/steps/s/attempts/20260101T120000Z_run_1"
EVENTS: list[dict[str, object]] = [
    {"type": "thread.started", "thread_id": "0"},
    {"type": "item.started", "item": {"type": "command_execution", "command": "ls -l"}},
    {"type": "item.completed", "item": {"type": "command_execution", "exit_code": 2}},
    {"type": "item.completed", "item": {"type": "command_execution", "exit_code": 0}},
    {"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": "a.py"}, {"path": "b.py"}]}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Done.\x1b[31m \ud800"}},
    {"type": "turn.failed", "error": {"message": "too much"}},
    {"type": "error", "message": "gone"},
    {"type": "item.completed", "item": {"type": "unheard_of"}},
]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    (tmp_path / DIRECTORY).mkdir(parents=True)
    return Root(path=tmp_path, root_id=RootId("root_1"))


def write_events(root: Root, events: list[dict[str, object]]) -> None:
    """Append what an agent says."""
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    append(root.path / DIRECTORY / "codex.events.jsonl", lines)


def test_events_become_what_a_person_would_say(root: Root) -> None:
    """What could steer a terminal is shown, not obeyed; a line that is not whole yet waits."""
    write_events(root, EVENTS)
    append(root.path / DIRECTORY / "codex.events.jsonl", b'not json\n[1]\n{"type": "error", "mess')

    assert list(read_log(root, DIRECTORY)) == [
        "$ ls -l",
        "  exit code 2",
        "  changed a.py, b.py",
        "Done.\\u001b[31m \\ud800",
        "! too much",
        "! gone",
    ]
    assert [json.loads(line)["type"] for line in list(read_log(root, DIRECTORY, raw=True))[:2]] == [
        "thread.started",
        "item.started",
    ]


def test_an_attempt_that_printed_nothing_has_an_empty_log(root: Root) -> None:
    assert list(read_log(root, DIRECTORY)) == []


def test_following_ends_with_the_attempt_and_loses_no_line(root: Root) -> None:
    """The last lines and the complaints are what a person waits for."""
    state = root.path / DIRECTORY / "state.json"
    write_snapshot(state, document({"status": "running"}))
    write_events(root, EVENTS[1:2])
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        write_events(root, EVENTS[5:6])
        (root.path / DIRECTORY / ".teamster").mkdir(exist_ok=True)
        write_snapshot(root.path / DIRECTORY / ".teamster/stderr.txt", b"oh\n")
        write_snapshot(state, document({"status": "failed"}))

    assert list(follow_log(root, DIRECTORY, wait=wait)) == ["$ ls -l", "Done.\\u001b[31m \\ud800", "oh"]
    assert len(waits) == 1


def test_the_output_of_a_command_is_its_log(place: Place) -> None:
    batch_id = place.submit({"a": [step("only", "echo one; echo two; echo three >&2")]})
    place.work(batch_id)
    (path,) = place.attempts(batch_id, "a", "only")
    run_id, directory = find_run(place.harness.root, path.name.partition("_")[2])

    assert run_id
    assert list(read_log(place.harness.root, directory)) == ["one", "two", "three"]
    assert list(follow_log(place.harness.root, directory, wait=threading.Event().wait)) == ["one", "two", "three"]
