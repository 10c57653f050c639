"""A launch table after normalisation: it reads back, it has a digest, it can't be nonsense."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamster.kit import canonical, sha256
from teamster.model import (
    AgentChoice,
    BatchId,
    Dependency,
    ExecutionPolicy,
    Job,
    JobId,
    ResumeFrom,
    RetryPolicy,
    RunId,
    Step,
    StepId,
    Table,
    TableDefaults,
    dependencies_of,
)

ONE: Final = StepId("step1")
FIRST: Final = Step(
    step_id=ONE,
    working_directory="/repo",
    prompt="Find the failing test.",
    agent=AgentChoice(),
    policy=ExecutionPolicy(),
    timeout_seconds=3600.0,
    retry=RetryPolicy(),
)
RESUME: Final = ResumeFrom(step_id=ONE)
SECOND: Final = replace(
    FIRST,
    step_id=StepId("step2"),
    prompt="Now fix it.",
    agent=AgentChoice(agent="command", command=("tool", "{prompt_file}")),
    policy=ExecutionPolicy(sandbox="read-only", model="m", add_dirs=("/data",), capture_events_jsonl=False),
    retry=RetryPolicy(attempts_max=3, backoff_seconds=1.0, backoff_seconds_max=2.0),
    schema={"type": "object"},
    resume=RESUME,
    depends_on=dependencies_of((), RESUME),
)
JOB: Final = Job(
    job_id=JobId("job_1"), working_directory="/repo", steps=(FIRST, SECOND), labels={"team": "a"}, tags=("slow",)
)
TABLE: Final = Table(
    batch_id=BatchId("batch_1"),
    goal_summary="A goal.",
    jobs=(JOB,),
    concurrency=8,
    source="/repo/table.yaml",
    labels={"x": "y"},
    tags=("night",),
)


def written(table: Table) -> Any:
    """Write a table as a file holds it."""
    return json.loads(json.dumps(table.to_json()))


@pytest.mark.parametrize(
    "resume",
    [
        ResumeFrom(step_id=ONE),
        ResumeFrom(step_id=ONE, selector="latest"),
        ResumeFrom(step_id=ONE, selector="run_id", run_id=RunId("run_1"), codex_thread_id="a-thread"),
    ],
    ids=lambda resume: resume.selector,
)
def test_a_table_reads_back(resume: ResumeFrom) -> None:
    """`batch_meta.json` alone says what a batch does: a lost database is made again from it."""
    step = replace(SECOND, resume=resume, depends_on=dependencies_of((), resume))
    table = replace(TABLE, jobs=(replace(JOB, steps=(FIRST, step)),))

    assert Table.from_json(written(table)) == table


@given(prompt=st.text(st.characters(exclude_categories=["Cs"])), timeout=st.floats(0.1, 1e6), tries=st.integers(1, 99))
def test_a_step_reads_back_whatever_it_says(prompt: str, timeout: float, tries: int) -> None:
    """It is the `spec` of its item."""
    step = replace(FIRST, prompt=prompt, timeout_seconds=timeout, retry=RetryPolicy(attempts_max=tries))

    assert Step.from_json(json.loads(canonical(step.to_json()))) == step
    assert step.prompt_sha256 == sha256(prompt.encode())


def test_the_digest_says_what_a_batch_does_and_not_what_it_is_called() -> None:
    """Running the same table again continues its batch."""
    assert replace(TABLE, batch_id=BatchId("other"), source="/elsewhere.yaml").digest == TABLE.digest
    assert Table.from_json(written(TABLE)).digest == TABLE.digest


CHANGES: Final[dict[str, Callable[[Table], Table]]] = {
    "goal": lambda table: replace(table, goal_summary="Another."),
    "concurrency": lambda table: replace(table, concurrency=9),
    "labels": lambda table: replace(table, labels={}),
    "prompt": lambda table: replace(table, jobs=(replace(JOB, steps=(replace(FIRST, prompt="Else."), SECOND)),)),
    "sandbox": lambda table: replace(
        table, jobs=(replace(JOB, steps=(replace(FIRST, policy=ExecutionPolicy(sandbox="read-only")), SECOND)),)
    ),
    "order": lambda table: replace(table, jobs=(replace(JOB, steps=(SECOND, FIRST)),)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_table_has_another_digest(change: Callable[[Table], Table]) -> None:
    """A changed table must not go on in silence as the old one."""
    assert change(TABLE).digest != TABLE.digest


@pytest.mark.req("PH-6.2f")
@pytest.mark.parametrize(
    ("resume", "needs"),
    [
        (ResumeFrom(step_id=ONE), "succeeded"),
        (ResumeFrom(step_id=ONE, selector="latest"), "final"),
        (ResumeFrom(step_id=ONE, selector="run_id", run_id=RunId("run_1")), "final"),
    ],
    ids=lambda value: value.selector if isinstance(value, ResumeFrom) else None,
)
def test_a_resume_implies_its_dependency(resume: ResumeFrom, needs: str) -> None:
    """`latest` may go on from a failed attempt: it can't wait for a success, not even where the step is named too."""
    zero = StepId("step0")

    assert dependencies_of((zero, ONE), resume) == (
        Dependency(step_id=zero),
        Dependency(step_id=ONE, needs="succeeded" if needs == "succeeded" else "final"),
    )


def test_dependencies_are_named_once() -> None:
    """Twice the same is once."""
    assert dependencies_of((ONE, ONE), None) == (Dependency(step_id=ONE),)
    assert dependencies_of((), None) == ()


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: replace(FIRST, step_id=StepId("two words")), "is not an id"),
        (lambda: replace(FIRST, working_directory="repo"), "is not an absolute path"),
        (lambda: replace(FIRST, timeout_seconds=0), "leaves no time"),
        (lambda: replace(FIRST, timeout_seconds=float("nan")), "leaves no time"),
        (lambda: replace(FIRST, timeout_seconds=float("inf")), "has no end"),
        (lambda: replace(SECOND, depends_on=()), "must depend on it"),
        (lambda: RetryPolicy(attempts_max=0), "are no attempt"),
        (lambda: RetryPolicy(backoff_seconds=-1), "is not within"),
        (lambda: RetryPolicy(backoff_seconds=float("nan")), "is not within"),
        (lambda: RetryPolicy(backoff_seconds=9, backoff_seconds_max=8), "is not within"),
        (lambda: RetryPolicy(backoff_seconds_max=float("inf")), "is not within"),
        (lambda: ResumeFrom(step_id=ONE, selector="run_id"), "goes with the selector"),
        (lambda: ResumeFrom(step_id=ONE, run_id=RunId("run_1")), "goes with the selector"),
        (lambda: replace(JOB, job_id=JobId("job.1")), "is not an id"),
        (lambda: replace(JOB, steps=()), "does nothing"),
        (lambda: replace(JOB, steps=(FIRST, FIRST)), "step1 stands beside step1"),
        (lambda: replace(JOB, steps=(FIRST, replace(FIRST, step_id=StepId("STEP1")))), "STEP1 stands beside step1"),
        (lambda: replace(JOB, steps=(SECOND,)), "can't depend on step1"),
        (lambda: replace(JOB, steps=(replace(FIRST, depends_on=(Dependency(step_id=ONE),)),)), "can't depend on step1"),
        (lambda: replace(TABLE, batch_id=BatchId("_system")), "is not an id"),
        (lambda: replace(TABLE, jobs=()), "does nothing"),
        (lambda: replace(TABLE, jobs=(JOB, JOB)), "job_1 stands beside job_1"),
        (lambda: replace(TABLE, concurrency=0), "nothing runs"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_nonsense_is_not_made(build: Callable[[], object], named: str) -> None:
    """Illegal values cannot be built; what a person wrote is told in other words, all at once, by the intake."""
    with pytest.raises(ValueError, match=named):
        build()


def test_the_defaults_are_those_of_the_docs() -> None:
    """A table that says nothing gets the careful way."""
    defaults = TableDefaults()

    assert (defaults.concurrency, defaults.timeout_seconds, defaults.retry.attempts_max) == (8, 3600.0, 1)
    assert (defaults.policy.sandbox, defaults.policy.approval_policy) == ("workspace-write", "never")
    assert defaults.agent == AgentChoice(agent="codex")
    assert not defaults.policy.web_search_enabled
