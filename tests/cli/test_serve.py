"""`teamster rehearse --serve`: the model alone, and the settings that point each program at it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest
from codex_cli_bin import bundled_codex_path

from cli.teamster import ENDS_SECONDS_MAX, Teamster, ended, start
from operations.place import Place

SCENARIO = "rules: [{match: job.step, moves: [{invalid_report: 'scripted for {this:job}.{this:step}'}]}]"


def answered(url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Any:
    """Ask for an answer in one piece."""
    request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=dict(headers))  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=ENDS_SECONDS_MAX) as response:  # noqa: S310 - loopback
        return json.load(response)


def test_the_settings_that_it_prints_bring_the_real_codex_to_the_model(place: Place) -> None:
    """They are copied into a shell as they stand."""
    (place.folder / "mine.yaml").write_text(SCENARIO, encoding="utf-8")
    process = start(place, "rehearse", "--serve", "--scenario", "mine.yaml")
    assert process.stdout is not None
    told = [process.stdout.readline().rstrip("\n")]
    while not told[-1].startswith("export ANTHROPIC_BASE_URL=") or "# any other" not in told[-3]:
        told.append(process.stdout.readline().rstrip("\n"))
    settings = told[told.index("# codex") + 1 : told.index("# claude") - 1]
    codex = f"{shlex.quote(str(bundled_codex_path()))} exec --skip-git-repo-check"

    home = place.folder / "codex-home"
    home.mkdir()
    script = "\n".join(settings).replace("codex exec", codex).replace("PROMPT", "hello")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
    asked = subprocess.run(
        ["sh", "-c", script],
        env=env,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ENDS_SECONDS_MAX,
        check=False,
    )
    process.send_signal(signal.SIGINT)

    assert asked.stdout.strip() == "scripted for job.step", asked.stderr
    assert ended(process).code == 0
    assert [line for line in told if line.startswith("#")][:3] == ["# codex", "# claude", "# opencode"]


def test_programs_read_the_settings_as_json(place: Place) -> None:
    """One object, then it serves; the key alone can say who asks."""
    (place.folder / "mine.yaml").write_text(SCENARIO, encoding="utf-8")
    process = start(place, "rehearse", "--serve", "--scenario", "mine.yaml", "--json")
    assert process.stdout is not None
    text = process.stdout.readline()
    while not text.endswith("\n}\n"):
        text += process.stdout.readline()
    told = json.loads(text)

    body = {"messages": [{"role": "user", "content": "go"}]}
    headers = {"authorization": "Bearer rehearsal.job.step"}
    said = answered(f"{told['base_url']}/chat/completions", headers, body)
    bare = told["agents"]["claude"]["env"]["ANTHROPIC_BASE_URL"]
    named = dict(line.split(": ") for line in told["agents"]["claude"]["env"]["ANTHROPIC_CUSTOM_HEADERS"].splitlines())
    also = answered(f"{bare}/v1/messages", named, body)
    process.send_signal(signal.SIGTERM)

    assert ended(process).code == 0
    assert said["choices"][0]["message"]["content"] == "scripted for job.step"
    assert also["content"][0]["text"] == "scripted for job.step"
    assert set(told) == {"base_url", "folder", "scenario", "agents"}
    assert set(told["agents"]) == {"codex", "claude", "opencode"}


@pytest.mark.parametrize("arguments", [[], ["table.json", "--serve"]], ids=["neither", "both"])
def test_a_table_or_the_model_alone(teamster: Teamster, arguments: list[str]) -> None:
    """Anything else is a slip."""
    said = teamster("rehearse", *arguments)

    assert said.code == 2
    assert "name a table to rehearse, or --serve" in said.err
