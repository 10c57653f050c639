"""Each error is one clear message: the subject, the fact, the way out; never a traceback."""

from __future__ import annotations

import errno
import shutil

import pytest

from cli.teamster import Teamster
from operations.place import Place, step
from teamster.cli.explain import EXIT_USAGE, EXIT_WORLD, exit_code, explain
from teamster.model import AgentUnusable, LeaseLost, Problem, StoreUnavailable, TableProblems, UsageError, WorldError

WRONG = {
    "run": "error: what is to be run?",
    "run nowhere.json": "nowhere.json: no such file or directory",
    "run table.json -p hello": "error: both the table table.json and a prompt",
    "run table.json -C .": "error: -C goes with -p",
    "run -p ''": "error: the prompt is blank",
    "run -p hello -C nowhere": "nowhere is not there",
    "run .": "is a directory",
    "run table.json --slots 0": "Invalid value for '--slots'",
    "run table.json --sluts 3": "No such option: --sluts",
    "frobnicate": "No such command 'frobnicate'",
    "submit": "Missing argument 'TABLE'",
    "validate nowhere.yaml": "nowhere.yaml: no such file or directory",
    "rehearse nowhere.yaml": "nowhere.yaml: no such file or directory",
    "status nothing": "error: there is no batch nothing",
    "status ../x": "is not the id of a batch",
    "show nothing": "error: there is no batch nothing",
    "show run_nothing": "error: there is no run run_nothing",
    "show table a.b.c": "is neither a job nor a `job.step`",
    "show table z": "has no job z",
    "show table a": "job a has 2 steps: which one?",
    "show table a.z": "error: job a has no step z",
    "show table a.next": "was never started",
    "show a": "error: there is no batch a",
    "show b": "error: there is no batch b",
    "logs a": "error: there is no batch a",
    "logs a.only": "error: there is no batch a.only",
    "logs nothing": "error: there is no batch nothing",
    "logs table": "error: whose log? table is a batch",
    "logs table a.next": "was never started",
    "cancel nothing": "error: there is no batch nothing",
    "cancel table z": "has no job z",
    "retry table": "error: there is nothing to retry",
    "retry table a.z": "has no step z",
    "status --root nowhere": "error: nothing has run under",
    "verify --root table.json": "error: nothing has run under",
    "run table.json --root table.json": "table.json is not a folder",
    "up --root table.json": "table.json is not a folder",
}


def split(command: str) -> list[str]:
    """Split a command as a shell would."""
    return [word.strip("'") for word in command.split()]


@pytest.fixture
def submitted(place: Place) -> Place:
    """Submit a table and run nothing."""
    place.submit({"a": [step("only", "true"), step("next", "true", depends_on=["only"])]})
    return place


@pytest.mark.parametrize("command", WRONG)
def test_a_mistake_of_the_caller_names_the_fact_and_the_way_out(
    submitted: Place, teamster: Teamster, command: str
) -> None:
    """Exit code 2, two lines at most beside the root, nothing on standard output."""
    assert submitted.root.is_dir()
    said = teamster(*split(command))

    assert (said.code, said.out) == (2, "")
    told = [line for line in said.err.splitlines() if not line.startswith("root ")]
    assert WRONG[command] in told[0]
    assert told[0].startswith("error: ")
    assert len(told) == 2
    assert told[1].startswith("hint:  ")
    assert "Traceback" not in said.err


@pytest.mark.parametrize("command", [command for command in WRONG if "--root" not in command])
def test_a_program_is_told_the_same_as_one_object(submitted: Place, teamster: Teamster, command: str) -> None:
    assert submitted.root.is_dir()
    said = teamster(*split(command), "--json")

    assert (said.code, said.err) == (2, "")
    assert set(said.json) == {"error"}
    assert set(said.json["error"]) == {"message", "hint", "exit_code", "problems"}
    assert said.json["error"]["exit_code"] == 2
    assert said.json["error"]["message"]


@pytest.mark.parametrize("verb", ["show", "logs"])
def test_whoever_forgets_the_batch_is_told_how_to_write_it(submitted: Place, teamster: Teamster, verb: str) -> None:
    """A job is what people have in mind; the batch of today is the one that they mean."""
    (folder,) = (submitted.root / "runs").glob("[!_]*")
    for word in ("a", "a.only"):
        said = teamster(verb, word)
        assert f"hint:  it is in the newest batch: teamster {verb} {folder.name} {word}\n" in said.err
    assert "the newest batch" not in teamster(verb, "a.nothing").err


@pytest.mark.parametrize("value", ["abc", "0", "1.5", "999999"])
def test_a_wrong_variable_is_named(submitted: Place, teamster: Teamster, value: str) -> None:
    assert submitted.root.is_dir()
    said = teamster("up", "--until-idle", env={"TEAMSTER_SLOTS": value})

    assert said.code == 2
    assert "TEAMSTER_SLOTS is" in said.err


def test_a_missing_program_is_a_failure_of_the_world(submitted: Place, teamster: Teamster) -> None:
    assert submitted.root.is_dir()
    said = teamster("run", "-p", "hello", env={"CODEX_API_KEY": "sk-of-nobody", "TEAMSTER_CODEX": "/nope"})

    assert said.code == 3
    assert "error: codex can't be run: there is no program /nope" in said.err
    assert "TEAMSTER_CODEX" in said.err


@pytest.mark.parametrize("command", ["status", "verify", "up --until-idle", "run table.json", "cancel table"])
def test_a_database_that_is_none_is_told(submitted: Place, teamster: Teamster, command: str) -> None:
    folder = submitted.root / "db"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "teamster.sqlite").write_bytes(b"no database at all" * 1000)
    said = teamster(*split(command))

    assert said.code == 3
    assert "is not a database" in said.err
    assert "hint:  " in said.err
    assert "Traceback" not in said.err


def test_a_damaged_record_is_told_with_its_path(submitted: Place, teamster: Teamster) -> None:
    (path,) = submitted.root.glob("runs/*/batch_meta.json")
    path.write_bytes(b"half a docu")
    said = teamster("cancel", "table")

    assert said.code == 3
    assert f"{path} can't be read" in said.err
    assert "teamster verify" in said.err


def test_each_trunk_of_errors_has_its_exit_code() -> None:
    for error in (UsageError("x"), TableProblems("t", [])):
        assert exit_code(error) == EXIT_USAGE
    for other in (WorldError("x"), StoreUnavailable("x"), AgentUnusable("x"), LeaseLost("x")):
        assert exit_code(other) == EXIT_WORLD


def test_every_problem_of_a_table_is_listed_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    """What somebody wrote into a table is shown, not obeyed."""
    problems = [
        Problem(place="t.yaml:3:5", field="jobs[0].nmae", fact="unknown [red]key[/]\x1b[2J", hint="did you mean name?"),
        Problem(place="t.yaml:9:1", field="jobs", fact="it is empty"),
    ]
    assert explain(TableProblems("t.yaml", problems), as_json=False) == EXIT_USAGE

    assert capsys.readouterr().err.splitlines() == [
        "error: t.yaml has 2 problems",
        "  t.yaml:3:5: jobs[0].nmae: unknown [red]key[/]\\u001b[2J",
        "      did you mean name?",
        "  t.yaml:9:1: jobs: it is empty",
    ]


def test_an_error_of_the_system_names_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(OSError(errno.EACCES, "Permission denied", "/sealed/secret"), as_json=False) == EXIT_WORLD
    assert "error: /sealed/secret: permission denied" in capsys.readouterr().err


def test_a_mistake_of_ours_is_one_line_that_can_be_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """A broken promise of our own is no traceback either: the line says where it broke."""
    with pytest.raises(AssertionError) as caught:
        raise AssertionError("the moon is full")
    assert explain(caught.value, as_json=False) == EXIT_WORLD

    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("error: a mistake in teamster itself: AssertionError: the moon is full (test_errors.py:")
    assert len(told) == 2
