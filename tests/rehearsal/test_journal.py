"""What the model was asked, line by line."""

from __future__ import annotations

from pathlib import Path

from teamster.kit import ManualClock
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.journal import REQUESTS_NAME, Journal, ModelRequest, read_requests
from teamster.rehearsal.responses import Responses
from teamster.rehearsal.talk import Talk

WHO = Conversation(job_id="docs", step_id="outline", attempt_number=2)


def talk(prompt: str) -> Talk:
    """Return a conversation of one prompt."""
    return Responses().read({"input": prompt, "prompt_cache_key": "t-1"}, {})


def test_each_request_is_a_line_that_can_be_read_again(tmp_path: Path) -> None:
    """Tests count turns by it, people see what happened."""
    journal = Journal(tmp_path / REQUESTS_NAME, clock=ManualClock())
    journal.add(WHO, talk("What\nis  it?" + "x" * 1000), answered="report")

    (request,) = read_requests(tmp_path)

    assert request.asked.startswith("What is it?xxx")
    assert len(request.asked) == 200
    assert request == ModelRequest(
        at="2026-01-14T17:30:00.000000Z",
        job_id="docs",
        step_id="outline",
        attempt=2,
        thread="t-1",
        prompts=1,
        calls=0,
        asked=request.asked,
        answered="report",
    )


def test_a_line_that_is_not_whole_yet_is_left_out(tmp_path: Path) -> None:
    """Somebody may look while the model writes."""
    Journal(tmp_path / REQUESTS_NAME, clock=ManualClock()).add(WHO, talk("a"), answered="report")
    with (tmp_path / REQUESTS_NAME).open("ab") as file:
        file.write(b'{"at": "20')

    assert len(read_requests(tmp_path)) == 1


def test_nothing_was_asked_in_a_folder_without_a_journal(tmp_path: Path) -> None:
    """A rehearsal that has just begun."""
    assert read_requests(tmp_path) == ()


def test_it_stops_growing_at_its_bound_also_after_a_new_start(tmp_path: Path) -> None:
    """A rehearsal may go on for days."""
    path = tmp_path / REQUESTS_NAME
    for _ in range(2):
        journal = Journal(path, clock=ManualClock(), bytes_max=500)
        for _ in range(5):
            journal.add(WHO, talk("a"), answered="report")

    assert 0 < path.stat().st_size <= 500
