"""The real Claude Code and OpenCode on the scripted model, where this machine has them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.programs import program_of
from rehearsal.conftest import StartModel
from teamster.rehearsal import Conversation, Model

PROGRAM_SECONDS_MAX = 120
FORM = {
    "type": "object",
    "properties": {"status": {"enum": ["ok", "failed"]}, "summary": {"type": "string"}},
    "required": ["status", "summary"],
    "additionalProperties": False,
}
SCENARIO = r"""
rules:
  - match: docs.first
    moves:
      - say: The word of the day is lantern.
      - run: echo "hello from $TEAMSTER_STEP_ID"
      - write: {path: notes/today.md, content: "it's \"fine\"\n"}
      - report: {summary: 'The shell said: {seen:hello from \w+}'}
  - match: docs.second
    moves:
      - report: {summary: 'I was told {remembered:word of the day is (\w+)}.'}
  - match: docs.refused
    moves:
      - fail: {status: 401, message: no such key}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A folder where the runs of one program share a home and a working directory."""

    agent: str
    program: str
    folder: Path
    model: Model

    @property
    def work(self) -> Path:
        """The working directory."""
        return self.folder / "work"

    def run(self, step: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end as a step of the job `docs`, with what points it at the model."""
        pointing = self.model.pointing(self.agent)
        assert pointing is not None
        self.work.mkdir(exist_ok=True)
        home = {name: str(self.folder / "home") for name in ("HOME", "CLAUDE_CONFIG_DIR")}
        home |= {f"XDG_{name}_HOME": str(self.folder / name) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        return subprocess.run(
            [self.program, *arguments],
            env={"PATH": os.environ["PATH"], **home, **pointing.env_for(Conversation(job_id="docs", step_id=step))},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROGRAM_SECONDS_MAX,
            check=False,
        )


def desk_of(agent: str, start: StartModel, folder: Path) -> Desk:
    """Find a program, and start its model."""
    return Desk(agent=agent, program=program_of(agent), folder=folder, model=start(SCENARIO))


def events_of(run: subprocess.CompletedProcess[str]) -> list[Any]:
    """Read what it printed, line by line."""
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_claude_code_works_reports_and_remembers(start: StartModel, tmp_path: Path) -> None:
    """Through its own shell and its own tool for reports; a failure of the service is one of the run."""
    desk = desk_of("claude", start, tmp_path)
    printed = ("-p", "--output-format=stream-json", "--verbose", "--allowedTools=Bash", "--json-schema")

    first = desk.run("first", *printed, json.dumps(FORM), "Do it.")
    *_, ended = events_of(first)
    second = desk.run("second", *printed, json.dumps(FORM), "--resume", ended["session_id"], "Which word was it?")
    refused = desk.run("refused", *printed, json.dumps(FORM), "Do it.")

    assert ended["structured_output"] == {"status": "ok", "summary": "The shell said: hello from first"}, first.stderr
    assert (desk.work / "notes" / "today.md").read_text(encoding="utf-8") == 'it\'s "fine"\n'
    assert ended["usage"]["output_tokens"] > 0
    assert events_of(second)[-1]["structured_output"]["summary"] == "I was told lantern."
    assert (refused.returncode, events_of(refused)[-1]["api_error_status"]) == (1, 401)
    assert [request.answered for request in desk.model.requests] == ["Bash", "Bash", "report", "report", "fail 401"]


def test_opencode_works_reports_and_remembers(start: StartModel, tmp_path: Path) -> None:
    """Through its own shell; the form of the report stands in the prompt, whose quotes it escapes."""
    desk = desk_of("opencode", start, tmp_path)
    prompt = f"Do it. The last message is JSON of this form:\n{json.dumps(FORM)}"

    first = desk.run("first", "run", "--format=json", prompt)
    session = events_of(first)[0]["sessionID"]
    second = desk.run("second", "run", "--format=json", f"--session={session}", prompt)

    said = [event["part"]["text"] for event in events_of(first) if event["type"] == "text"]
    assert json.loads(said[-1]) == {"status": "ok", "summary": "The shell said: hello from first"}, first.stderr
    assert (desk.work / "notes" / "today.md").read_text(encoding="utf-8") == 'it\'s "fine"\n'
    answer = next(event["part"]["text"] for event in events_of(second) if event["type"] == "text")
    assert json.loads(answer)["summary"] == "I was told lantern."
    asked = [request.answered for request in desk.model.requests if request.answered != "errand"]
    assert asked == ["bash", "bash", "report", "report"]
