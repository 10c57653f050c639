"""The real Codex on the scripted model: what a rehearsal stands or falls with."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.conftest import StartModel
from rehearsal.real_codex import Desk
from teamster.rehearsal import MODEL_KEY


def test_a_step_without_a_script_answers_with_a_valid_report(start: StartModel, tmp_path: Path) -> None:
    """A table can be rehearsed before anybody has written a scenario."""
    run = Desk(folder=tmp_path, model=start("")).run(job="docs", step="outline")

    assert run.exit_code == 0, run.complaints
    assert run.report == {
        "schema_version": "1.0.0",
        "status": "ok",
        "summary": "Rehearsal of docs.outline, attempt 1.",
        "files_read": [],
        "files_written": [],
        "artifacts": [],
    }


def test_it_runs_commands_writes_files_and_reports_what_it_saw(start: StartModel, tmp_path: Path) -> None:
    """The tools are real: only the model is not."""
    model = start(r"""
rules:
  - moves:
      - say: I look around.
      - run: echo "hello from $TEAMSTER_STEP_ID"
      - write: {path: notes/today.md, content: "it's \"fine\"\n"}
      - report: {summary: 'The shell said: {seen:hello from \w+}', files_written: [notes/today.md]}
""")
    desk = Desk(folder=tmp_path, model=model)

    run = desk.run(job="docs", step="outline")

    assert (desk.work / "notes" / "today.md").read_text(encoding="utf-8") == 'it\'s "fine"\n'
    assert run.report["summary"] == "The shell said: hello from outline"
    assert run.report["files_written"] == ["notes/today.md"]
    assert "I look around." in [event["item"]["text"] for event in run.events if is_message(event)]
    assert [request.answered for request in model.requests] == ["exec_command", "exec_command", "report"]


def test_a_resumed_step_remembers_what_only_the_first_one_was_told(start: StartModel, tmp_path: Path) -> None:
    """The word stands in no file: it can only come from the history that the resume brought along."""
    model = start(r"""
rules:
  - match: docs.first
    moves: [{say: The word of the day is lantern.}, {report: }]
  - match: docs.second
    moves: [{report: {summary: 'I was told {remembered:word of the day is (\w+)}'}}]
""")
    desk = Desk(folder=tmp_path, model=model)
    first = desk.run(job="docs", step="first", prompt="Choose a word.")

    second = desk.run(job="docs", step="second", prompt="Which word was it?", session=first.thread_id)
    stranger = desk.run(job="docs", step="second", attempt=2, prompt="Which word was it?")

    assert second.thread_id == first.thread_id
    assert second.report["summary"] == "I was told lantern"
    assert stranger.report["summary"].startswith("I was told [nothing remembered of")
    assert [(request.step_id, request.prompts) for request in model.requests] == [
        ("first", 1),
        ("second", 2),
        ("second", 1),
    ]
    assert [request.thread for request in model.requests] == [first.thread_id, first.thread_id, stranger.thread_id]


def test_another_attempt_plays_another_rule(start: StartModel, tmp_path: Path) -> None:
    """How a retry is rehearsed: the first attempt fails, the second does not."""
    desk = Desk(folder=tmp_path, model=start("rules: [{match: docs.*, attempt: 1, moves: [{fail: {status: 500}}]}]"))

    first, second = desk.run(job="docs", attempt=1), desk.run(job="docs", attempt=2)

    assert (first.exit_code, second.exit_code) == (1, 0)
    assert second.report["summary"] == "Rehearsal of docs.step, attempt 2."


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        pytest.param("{status: 429}", "429", id="too-many-requests"),
        pytest.param("{status: 429, retry_after_seconds: 3600}", "usage limit", id="quota-with-a-reset"),
        pytest.param("{status: 401, message: no such key}", "401", id="auth"),
        pytest.param("{status: 500}", "high demand", id="overloaded"),
        pytest.param("{status: 503, message: back soon}", "503 Service Unavailable: back soon", id="unavailable"),
        pytest.param("stream_cut", "stream disconnected before", id="cut-stream"),
        pytest.param("malformed_json", "stream closed before", id="malformed"),
    ],
)
def test_it_fails_as_services_do(start: StartModel, tmp_path: Path, failure: str, words: str) -> None:
    """Codex sees each failure as it would come from a paid model, and at once."""
    desk = Desk(folder=tmp_path, model=start(f"rules: [{{moves: [{{fail: {failure}}}]}}]"))

    run = desk.run()

    assert run.exit_code == 1
    assert words in run.failure


def test_a_report_that_fits_no_schema_is_sent_where_the_script_says_so(start: StartModel, tmp_path: Path) -> None:
    """How a harness takes bad reports can be rehearsed too."""
    desk = Desk(folder=tmp_path, model=start("rules: [{moves: [{invalid_report: I forgot the form.}]}]"))

    assert desk.run().last_message == "I forgot the form."


def test_the_output_schema_of_the_step_is_the_form_of_the_report(start: StartModel, tmp_path: Path) -> None:
    """A step with a schema of its own can be rehearsed without a line of script."""
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["good", "bad"]}, "score": {"type": "integer"}},
        "required": ["verdict", "score"],
        "additionalProperties": False,
    }

    run = Desk(folder=tmp_path, model=start("")).run(schema=schema)

    assert run.report == {"verdict": "good", "score": 0}


def test_the_key_reaches_no_tool_and_a_proxy_is_passed_by(start: StartModel, tmp_path: Path) -> None:
    """The key goes the way of a real one; a proxy of the machine would never find the model."""
    model = start(r"""
rules: [{moves: [{run: env | grep -c _KEY}, {report: {summary: '{seen:(?m)^\d+$}'}}]}]
""")
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}

    run = Desk(folder=tmp_path, model=model).run(env=nowhere)

    assert run.report["summary"] == "0", run.complaints
    assert MODEL_KEY not in str(model.requests)


def is_message(event: object) -> bool:
    """Tell whether an event is something that the model said."""
    match event:
        case {"type": "item.completed", "item": {"type": "agent_message"}}:
            return True
        case _:
            return False
