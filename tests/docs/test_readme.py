"""The README's first five minutes, typed as they stand there by somebody who has just arrived."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from docs.reading import README, ROOT, blocks, text_of
from teamster.intake import read_table
from teamster.model import GOAL_WORDS_MIN, TableDefaults
from teamster.rehearsal import stop_model

MAKE, GIT, VALIDATE, REHEARSE, LOOK, RUN = blocks(README, "sh")
[TABLE] = blocks(README, "yaml")
COMMANDS_SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Somebody with a checkout, a home of their own, no key, and a shell."""

    folder: Path

    @property
    def checkout(self) -> Path:
        """Where they type."""
        return self.folder / "checkout"

    @property
    def state(self) -> Path:
        """Where the README says that a rehearsal lies."""
        return self.folder / "home" / ".local" / "state" / "teamster.rehearsal"

    def type(self, commands: str) -> subprocess.CompletedProcess[str]:
        """Type some lines, until one fails."""
        return subprocess.run(
            ["sh", "-eu", "-c", commands],
            cwd=self.checkout,
            env={"HOME": str(self.folder / "home"), "PATH": os.environ["PATH"], "COLUMNS": "120"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMANDS_SECONDS_MAX,
        )

    def save_table(self) -> Path:
        """Save the table under the name that the README gives it."""
        named = re.search(r"^Save this as `(.+?)`:$", text_of(README), re.MULTILINE)
        assert named is not None
        path = (self.checkout / named[1]).resolve()
        path.write_text(TABLE, encoding="utf-8")
        return path


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    """Arrive with a checkout whose `.venv` is there; leave no model behind."""
    somebody = Newcomer(tmp_path)
    (somebody.checkout / ".venv" / "bin").mkdir(parents=True)
    (somebody.checkout / ".venv" / "bin" / "teamster").symlink_to(Path(sys.executable).with_name("teamster"))
    (tmp_path / "home").mkdir()
    yield somebody
    stop_model(somebody.state / "model")


def test_the_first_five_minutes_go_as_the_readme_says(newcomer: Newcomer) -> None:
    """Every command of the page, in its order; the one that needs a key says so."""
    made = newcomer.type(GIT)
    table = newcomer.save_table()
    validated = newcomer.type(VALIDATE)
    rehearsed = newcomer.type(REHEARSE)
    looked = newcomer.type(LOOK)

    assert (made.returncode, made.stderr) == (0, made.stderr)
    assert "tour.yaml is fine: 1 job, 4 steps" in validated.stdout, validated.stderr
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert rehearsed.stderr.startswith(f"root {newcomer.state} (")
    assert "4 steps: 4 succeeded" in rehearsed.stdout
    assert looked.returncode == 0, looked.stderr
    assert "4 steps: 4 succeeded" in looked.stdout
    assert "resumed from" in looked.stdout
    assert looked.stdout.splitlines()[-1] == f"?? {table.name}"
    assert sorted(path.name for path in table.parent.iterdir()) == [".git", table.name]


def test_without_a_key_nothing_starts(newcomer: Newcomer) -> None:
    """The page promises a refusal before the first step; the hint names both ways on."""
    newcomer.type(GIT)
    newcomer.save_table()
    export, run = RUN.strip().splitlines()

    refused = newcomer.type(run)

    assert export.startswith("export CODEX_API_KEY=")
    assert refused.returncode == 2
    assert "CODEX_API_KEY" in refused.stderr
    assert "teamster rehearse" in refused.stderr
    assert list(newcomer.folder.glob("home/.local/state/teamster/runs/*")) == []


def test_the_two_commands_are_targets_of_make() -> None:
    """They are run by everybody else; here it's enough that they are there, and say what they do."""
    targets = set(re.findall(r"^([a-z]+):.*## ", text_of(ROOT / "Makefile"), re.MULTILINE))

    assert [line.removeprefix("make ") for line in MAKE.strip().splitlines()] == ["demo", "test"]
    assert {"demo", "test"} <= targets


def test_the_table_to_copy_shows_what_tables_are_for(tmp_path: Path) -> None:
    """A program, an agent, a resumed conversation, a retry; and a goal that is worth its words."""
    (tmp_path / "tour.yaml").write_text(TABLE, encoding="utf-8")
    (tmp_path / ".git").mkdir()

    [job] = read_table(tmp_path / "tour.yaml", defaults=TableDefaults()).jobs

    agents = [step.agent.agent for step in job.steps]
    goal = yaml.safe_load(TABLE)["batch_goal_summary"]
    assert {"codex", "command"} == set(agents)
    assert [step.step_id for step in job.steps if step.resume is not None] == ["write"]
    assert max(step.retry.attempts_max for step in job.steps) > 1
    assert len(goal.split()) > GOAL_WORDS_MIN
    assert len(set(re.findall(r"[^.]+\.", goal))) >= 8
