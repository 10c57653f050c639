"""What each real program does by its plan, on the scripted model: one list of promises for all that have sessions."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from agents.programs import Bench
from agents.relay import relayed
from teamster.model import AttemptStatus
from teamster.policy import FailureClass

SCENARIO = r"""
rules:
  - match: docs.first
    moves:
      - say: The word of the day is lantern.
      - run: "env > seen.txt; pwd > where.txt"
      - write: {path: notes/today.md, content: "it's \"fine\"\n"}
      - report: {summary: 'worked'}
  - match: docs.second
    moves:
      - report: {summary: 'I was told {remembered:word of the day is (\w+)}.'}
  - match: docs.reader
    moves:
      - run: "touch written.txt"
      - report: {summary: 'tried'}
  - match: docs.refused
    moves:
      - fail: {status: 401, message: no such key}
"""


class RealAgentContract:
    """Subclasses supply `bench`, on a model that plays `SCENARIO`, and say where instructions are looked for."""

    instructions = ("AGENTS.md",)
    no_session = "01a1f597-4370-49b2-a48a-fada053bd682"

    @pytest.mark.req("PH-2.3", "PH-8.1.1", "PH-10.2")
    def test_it_works_reports_and_is_resumed(self, bench: Bench) -> None:
        """The whole way: its own tools, its report, its usage, and a copy of its session that remembers."""
        first = bench.run("first")
        thread = str(first.reading.thread_id)
        held = bench.carry(thread, source="first", to="second")
        second = bench.run("second", session=thread)

        assert first.verdict.status is AttemptStatus.SUCCEEDED, (first.verdict, first.stderr)
        assert (bench.work / "notes" / "today.md").read_text(encoding="utf-8") == 'it\'s "fine"\n'
        assert (bench.work / "where.txt").read_text(encoding="utf-8").strip() == str(bench.work)
        seen = (bench.work / "seen.txt").read_text(encoding="utf-8")
        pointing = bench.model.pointing(bench.agent.name)
        assert pointing is not None
        assert pointing.key not in seen
        assert str(bench.folder / "first" / "scratch" / "tmp") in seen
        assert "TEAMSTER_STEP_ID=first" in seen
        assert first.reading.usage is not None
        assert first.reading.usage.output > 0
        assert first.reading.unknown_events == 0
        assert second.verdict.status is AttemptStatus.SUCCEEDED, (second.verdict, second.stderr)
        assert "I was told lantern." in str(second.report_text)
        assert second.reading.thread_id == thread
        assert second.reading.usage is not None
        assert second.reading.usage.output < first.reading.usage.output
        assert held == {name: (bench.home("first") / name).read_bytes() for name in held}

    @pytest.mark.req("PH-7.3b")
    def test_the_instructions_of_the_repository_reach_the_model(self, bench: Bench) -> None:
        """From the working directory and its parents, though its home is another; the prompt reaches it too."""
        bench.work.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", bench.folder], timeout=60, check=True)
        for name in self.instructions:
            (bench.work / name).write_text(f"In {name} the rule is velvet.\n", encoding="utf-8")
            (bench.folder / name).write_text(f"Above, in {name}, the rule is granite.\n", encoding="utf-8")

        with relayed(bench.model) as (model, asked):
            replace(bench, model=model).run("second", prompt="Which rule holds?")

        assert asked.holds("Which rule holds?")
        assert [name for name in self.instructions if not asked.holds(f"In {name} the rule is velvet.")] == []
        assert [name for name in self.instructions if not asked.holds(f"Above, in {name}, the rule is granite.")] == []

    def test_a_reader_writes_nothing(self, bench: Bench) -> None:
        """A sandbox that a program can't keep to would be a promise that nobody holds."""
        ended = bench.run("reader", sandbox="read-only")

        assert ended.reading.events > 0, ended.stderr
        assert not (bench.work / "written.txt").exists()

    def test_a_key_that_is_refused_is_told_as_such(self, bench: Bench) -> None:
        """Trying again would not help."""
        ended = bench.run("refused")

        assert ended.verdict.failure_class is FailureClass.AUTH, (ended.verdict, ended.stderr)

    def test_a_session_that_is_not_there_is_no_success(self, bench: Bench) -> None:
        """A program that began anew in silence would have forgotten everything."""
        ended = bench.run("second", session=self.no_session)

        assert ended.verdict.status is not AttemptStatus.SUCCEEDED
        assert ended.code == 1
