from __future__ import annotations

from pathlib import Path

import pytest

from intake.writing import accept, only, refuse, step_of, table
from teamster.model import Dependency, ResumeFrom, StepId

THREAD = "01890A5D-AC96-774B-BCCE-B302099A8057"


@pytest.mark.parametrize("written", ["a", {"step_id": "a"}, {"step_id": "a", "selector": "latest_successful"}])
def test_a_resume_takes_the_latest_success_and_waits_for_it(tmp_path: Path, written: object) -> None:
    step = step_of(accept(tmp_path, table({"step_id": "a"}, {"resume_from": written})), 2)

    assert step.resume == ResumeFrom(step_id=StepId("a"))
    assert step.depends_on == (Dependency(step_id=StepId("a"), needs="succeeded"),)


def test_latest_may_go_on_from_a_failure(tmp_path: Path) -> None:
    """The dependency is met by any end; `depends_on` beside it doesn't make it stricter."""
    said = {"resume_from": {"step_id": "a", "selector": "latest"}, "depends_on": ["a", "b"]}
    step = step_of(accept(tmp_path, table({"step_id": "a"}, {"step_id": "b"}, said)), 3)

    assert step.resume == ResumeFrom(step_id=StepId("a"), selector="latest")
    assert step.depends_on == (
        Dependency(step_id=StepId("a"), needs="final"),
        Dependency(step_id=StepId("b"), needs="succeeded"),
    )


def test_a_thread_may_be_named_by_its_uuid(tmp_path: Path) -> None:
    said = {"resume_from": {"step_id": "a", "codex_thread_id": THREAD}}
    step = step_of(accept(tmp_path, table({"step_id": "a"}, said)), 2)

    assert step.resume is not None
    assert step.resume.codex_thread_id == THREAD.lower()


@pytest.mark.parametrize(
    ("resume", "field", "fact"),
    [
        ({}, "resume_from.step_id", "it is missing"),
        ({"step_id": 1}, "resume_from.step_id", "1 is not text"),
        ("", "resume_from", "it is blank"),
        (["a"], "resume_from", "a list is not a mapping"),
        ("b", "resume_from", "there is no step 'b'"),
        ({"step_id": "b"}, "resume_from.step_id", "there is no step 'b'"),
        ({"step_id": "a", "selector": "best"}, "resume_from.selector", "'best' is none of latest_successful, latest"),
        ({"step_id": "a", "run_id": "r"}, "resume_from.run_id", "known but not yet supported"),
        ({"step_id": "a", "selector": "latest", "run_id": "r"}, "resume_from.run_id", "it means nothing"),
        ({"step_id": "a", "codex_thread_id": "last"}, "resume_from.codex_thread_id", "'last' is no UUID"),
        ({"step_id": "a", "step": "a"}, "resume_from.step", "a resume_from has no such key"),
    ],
)
def test_a_resume_is_checked(tmp_path: Path, resume: object, field: str, fact: str) -> None:
    """Codex takes what is no UUID for a name, and begins a new conversation in silence."""
    problem = only(refuse(tmp_path, table({"step_id": "a"}, {"resume_from": resume})))

    assert problem.field == f"jobs[0].steps[1].{field}"
    assert problem.fact.startswith(fact)


def test_a_program_has_no_conversation_to_go_on_with(tmp_path: Path) -> None:
    program = {"agent": "command", "command": ["true"]}

    resumes = only(refuse(tmp_path, table({"step_id": "a"}, {**program, "resume_from": "a"})))
    resumed = only(refuse(tmp_path, table({"step_id": "a", **program}, {"resume_from": "a"})))

    assert resumes.fact == "a `command` agent has no conversation that it could go on with"
    assert resumed.fact == "a is done by a `command` agent, which leaves no conversation"


def test_two_steps_wide_is_a_prompt_and_an_appended_one(tmp_path: Path) -> None:
    """The pattern of the original: the second step says only what is new."""
    content = table({"step_id": "step1"})
    content["jobs"][0]["steps"].append({"resume_from": {"step_id": "step1"}, "append_prompt": "Now mend it."})

    assert step_of(accept(tmp_path, content), 2).prompt == "Now mend it."


def test_codex_outside_of_a_repository_is_told_before_it_would_refuse(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """It ends at once there, in each of hundreds of steps; a `command` and a step that says so are fine."""
    (tmp_path_factory.getbasetemp() / ".git").rmdir()
    policy = {"skip_git_repo_check": True}

    told = only(refuse(tmp_path, table({})))
    assert told.fact == f"codex works in git repositories only, and {tmp_path} is in none"
    accept(tmp_path, table({"execution_policy": policy}, {"agent": "command", "command": ["make"]}))
