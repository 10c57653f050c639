"""The page on rehearsals says what the code does, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rehearsal.conftest import StartModel
from rehearsal.real_codex import Desk
from teamster.rehearsal import AGENTS, IDLE_SECONDS_MAX, CloneLimits
from teamster.rehearsal.answering import REQUEST_BYTES_MAX, WIRES
from teamster.rehearsal.conversation import HEADER_VARIABLES, KEY_BEGINS
from teamster.rehearsal.draw import SEED_MAX
from teamster.rehearsal.journal import REQUESTS_BYTES_MAX, REQUESTS_NAME
from teamster.rehearsal.listening import CONNECTIONS_MAX, KEEP_ALIVE_SECONDS
from teamster.rehearsal.moves import DELAY_SECONDS_MAX, FAIL_STATUSES, MOVES, PLACEHOLDER, THIS_NAMES
from teamster.rehearsal.reading import CONDITIONS, load_scenario
from teamster.rehearsal.record import LOG_NAME, RECORD_NAME, SCENARIO_NAME
from teamster.rehearsal.scenario import Break
from teamster.rehearsal.talk import CHARACTERS_PER_TOKEN
from teamster.rehearsal.tools import REPORT_NAME, SHELL_NAMES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rehearsal.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def first_column(head: str) -> list[str]:
    """Return what the rows of the table with this head are about."""
    rows = PAGE.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [row.split("`")[1] for row in rows]


def test_every_move_and_condition_stands_in_its_table() -> None:
    """A verb that the page doesn't show can't be found; one that it invents is worse."""
    assert sorted(first_column("move")) == sorted(MOVES)
    assert first_column("condition") == list(CONDITIONS)


def test_every_program_and_protocol_stands_in_its_table() -> None:
    """With where it is spoken, and the tool that runs its commands."""
    rows = PAGE.split("| agent | protocol |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]

    assert first_column("agent") == list(AGENTS)
    assert {path for path in WIRES if any(f"`{path}`" in row for row in rows)} == set(WIRES)
    assert all(any(f"`{name}`" in row for row in rows) for name in (*SHELL_NAMES[: len(AGENTS)], REPORT_NAME))
    assert all(f"`{header}`" in PAGE for header in HEADER_VARIABLES)
    assert f"`{KEY_BEGINS}.JOB.STEP.ATTEMPT`" in PAGE


def test_every_placeholder_stands_in_its_table() -> None:
    """And is one."""
    shown = first_column("placeholder")

    assert shown == ["{seen:REGEX}", "{remembered:REGEX}", *(f"{{this:{name}}}" for name in THIS_NAMES)]
    assert all(PLACEHOLDER.fullmatch(placeholder) for placeholder in shown)


def test_every_failure_stands_in_its_table() -> None:
    """With all the statuses that can be had."""
    assert first_column("`fail:`") == [*Break, "{status, message, retry_after_seconds}"]
    assert f"`status` is one of {', '.join(map(str, FAIL_STATUSES))};" in PAGE


def test_every_file_of_the_model_stands_in_its_table() -> None:
    """People look into its folder."""
    assert first_column("file") == [SCENARIO_NAME, RECORD_NAME, LOG_NAME, REQUESTS_NAME]
    assert all(f"`{variable}`" in PAGE for variable in HEADER_VARIABLES.values())


def test_the_bounds_are_those_of_the_code() -> None:
    """A figure in prose goes stale first."""
    limits = CloneLimits()

    assert f"seconds, {DELAY_SECONDS_MAX} at most" in PAGE
    assert f"serves {CONNECTIONS_MAX} connections at once, each request of {REQUEST_BYTES_MAX // 1024**2} MiB" in PAGE
    assert f"says every {KEEP_ALIVE_SECONDS:g} seconds that it is there" in PAGE
    assert f"`seed` (0 to {SEED_MAX};" in PAGE
    assert ("A token is taken for four characters" in PAGE) == (CHARACTERS_PER_TOKEN == 4)
    assert f"{REQUESTS_BYTES_MAX // 1024**2} MiB at most" in PAGE
    assert f"At most {limits.bytes_max // 1024**3} GiB and {limits.files_max:,} files" in PAGE
    assert (IDLE_SECONDS_MAX == 3600.0) == ("asked it anything for an hour" in PAGE)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_can_be_played(example: str) -> None:
    """To be copied and changed."""
    assert load_scenario(example, "page.yaml").rules


def test_the_examples_do_what_the_page_says(start: StartModel, tmp_path: Path) -> None:
    """The shortest one, the one that remembers, the one that mends and the one that fails once, on the real program."""
    rules = "".join(
        example.removeprefix("rules:\n")
        for example in EXAMPLES
        if any(name in example for name in ("deploy", "docs.", "mend."))
    )
    desk = Desk(folder=tmp_path, model=start(f"rules:\n{rules}"))
    desk.work.mkdir()
    (desk.work / "tally.sh").write_text("exit 1\n", encoding="utf-8")

    outline = desk.run(job="docs", step="outline")
    first = desk.run(job="docs", step="first")
    second = desk.run(job="docs", step="second", session=first.thread_id)
    mended = desk.run(job="mend", step="check")
    builds = [desk.run(job="code", step="build", attempt=attempt) for attempt in (1, 2)]

    assert outline.report["summary"] == "Wrote an outline."
    assert (desk.work / "notes" / "outline.md").read_text(encoding="utf-8") == "# Outline\n"
    assert second.report["summary"] == "I was told lantern."
    assert (desk.work / "tally.sh").read_text(encoding="utf-8") == "exit 0\n"
    assert mended.report["summary"] == "The check passes."
    assert [build.exit_code for build in builds] == [1, 0]
    assert builds[1].report["summary"] == "Attempt 2 went through."
