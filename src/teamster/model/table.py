"""A launch table after normalisation: what a batch will do, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal

from teamster.kit import digest, sha256
from teamster.model.agent import AGENT_NAMES, AgentChoice, AgentName, ExecutionPolicy
from teamster.model.ids import ID_RULE, BatchId, JobId, RunId, StepId, is_id
from teamster.model.record import JsonObject

Selector = Literal["latest_successful", "latest", "run_id"]
Need = Literal["succeeded", "final"]
WorkspaceMode = Literal["shared"]

SELECTORS: Final[tuple[Selector, ...]] = ("latest_successful", "latest", "run_id")
GOAL_WORDS_MIN: Final = 151
SPEC_VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a step may be tried, and how long to wait before the next try.

    The wait doubles with each try that was consumed, up to `backoff_seconds_max`.
    """

    attempts_max: int = 1
    backoff_seconds: float = 5.0
    backoff_seconds_max: float = 300.0

    def __post_init__(self) -> None:
        if self.attempts_max < 1:
            raise ValueError(f"{self.attempts_max} attempts are no attempt")
        if not 0 <= self.backoff_seconds <= self.backoff_seconds_max < inf:
            raise ValueError(f"a wait of {self.backoff_seconds} s is not within 0 and {self.backoff_seconds_max} s")

    def to_json(self) -> JsonObject:
        """Write it for `batch_meta.json`, in the words of a launch table."""
        return {
            "max_attempts": self.attempts_max,
            "backoff_seconds": self.backoff_seconds,
            "backoff_seconds_max": self.backoff_seconds_max,
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> RetryPolicy:
        """Read what `to_json` wrote."""
        return cls(
            attempts_max=value["max_attempts"],
            backoff_seconds=value["backoff_seconds"],
            backoff_seconds_max=value["backoff_seconds_max"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeFrom:
    """The conversation that a step goes on with: which step's, and which attempt's."""

    step_id: StepId
    selector: Selector = "latest_successful"
    run_id: RunId | None = None
    codex_thread_id: str | None = None

    def __post_init__(self) -> None:
        if (self.run_id is not None) != (self.selector == "run_id"):
            raise ValueError(f"{self.step_id}: `run_id` goes with the selector `run_id` and with no other")

    @property
    def needs(self) -> Need:
        """What must be true of the source: `latest` and `run_id` may go on from a failed attempt."""
        return "succeeded" if self.selector == "latest_successful" else "final"

    def to_json(self) -> JsonObject:
        """Write it as a launch table does."""
        optional = {"run_id": self.run_id, "codex_thread_id": self.codex_thread_id}
        return {
            "step_id": self.step_id,
            "selector": self.selector,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> ResumeFrom:
        """Read what `to_json` wrote."""
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A step of the same job that must come first, and how it must have ended."""

    step_id: StepId
    needs: Need = "succeeded"


def dependencies_of(step_ids: tuple[StepId, ...], resume: ResumeFrom | None) -> tuple[Dependency, ...]:
    """Join what a step names with what its `resume_from` implies; the selector decides about the source."""
    needs: dict[StepId, Need] = dict.fromkeys(step_ids, "succeeded")
    if resume is not None:
        needs[resume.step_id] = resume.needs
    return tuple(Dependency(step_id=step_id, needs=need) for step_id, need in needs.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """All that a runner needs to know about one step: the `spec` of its item.

    `prompt` is the full text, packs and appendices in it. Without a `schema` the shipped Run Report holds.
    """

    step_id: StepId
    working_directory: str
    prompt: str
    agent: AgentChoice
    policy: ExecutionPolicy
    timeout_seconds: float
    retry: RetryPolicy
    workspace_mode: WorkspaceMode = "shared"
    schema: JsonObject | None = None
    depends_on: tuple[Dependency, ...] = ()
    resume: ResumeFrom | None = None
    prompt_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        _require_id(self.step_id)
        if not self.working_directory.startswith("/"):
            raise ValueError(f"{self.step_id}: {self.working_directory!r} is not an absolute path")
        if not 0 < self.timeout_seconds < inf:
            raise ValueError(f"{self.step_id}: a timeout of {self.timeout_seconds} s leaves no time, or has no end")
        if self.resume is not None and self.resume.step_id not in {need.step_id for need in self.depends_on}:
            raise ValueError(f"{self.step_id}: it resumes {self.resume.step_id} and must depend on it")
        object.__setattr__(self, "prompt_sha256", sha256(self.prompt.encode()))

    @property
    def capture_events(self) -> bool:
        """Tell whether the agent's event lines are kept with the attempt."""
        return self.policy.capture_events_jsonl

    def to_json(self) -> JsonObject:
        """Write it for `batch_meta.json` and for the item's `spec`."""
        return {
            "step_id": self.step_id,
            "working_directory": self.working_directory,
            "workspace_mode": self.workspace_mode,
            "prompt": self.prompt,
            "prompt_sha256": self.prompt_sha256,
            "schema": self.schema,
            "depends_on": [dependency.step_id for dependency in self.depends_on],
            "resume_from": None if self.resume is None else self.resume.to_json(),
            **self.agent.to_json(),
            "execution_policy": self.policy.to_json(),
            "timeout_seconds": self.timeout_seconds,
            "retry_policy": self.retry.to_json(),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Step:
        """Read what `to_json` wrote."""
        resume = None if value["resume_from"] is None else ResumeFrom.from_json(value["resume_from"])
        return cls(
            step_id=value["step_id"],
            working_directory=value["working_directory"],
            workspace_mode=value["workspace_mode"],
            prompt=value["prompt"],
            schema=value["schema"],
            depends_on=dependencies_of(tuple(value["depends_on"]), resume),
            resume=resume,
            agent=AgentChoice.from_json(value),
            policy=ExecutionPolicy.from_json(value["execution_policy"]),
            timeout_seconds=value["timeout_seconds"],
            retry=RetryPolicy.from_json(value["retry_policy"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Steps that share a working directory and a name."""

    job_id: JobId
    working_directory: str
    steps: tuple[Step, ...]
    workspace_mode: WorkspaceMode = "shared"
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_id(self.job_id)
        if not self.steps:
            raise ValueError(f"{self.job_id}: a job without a step does nothing")
        step_ids = _require_unlike(self.job_id, (step.step_id for step in self.steps))
        for step in self.steps:
            if missing := {need.step_id for need in step.depends_on} - (step_ids - {step.step_id}):
                raise ValueError(f"{self.job_id}.{step.step_id}: it can't depend on {', '.join(sorted(missing))}")

    def to_json(self) -> JsonObject:
        """Write it for `batch_meta.json`."""
        return {
            "job_id": self.job_id,
            "working_directory": self.working_directory,
            "workspace_mode": self.workspace_mode,
            "labels": dict(self.labels),
            "tags": list(self.tags),
            "steps": [step.to_json() for step in self.steps],
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Job:
        """Read what `to_json` wrote."""
        return cls(
            job_id=value["job_id"],
            working_directory=value["working_directory"],
            workspace_mode=value["workspace_mode"],
            labels=value["labels"],
            tags=tuple(value["tags"]),
            steps=tuple(Step.from_json(step) for step in value["steps"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A batch as it was submitted: every id assigned, every default applied, every file read."""

    batch_id: BatchId
    goal_summary: str
    jobs: tuple[Job, ...]
    concurrency: int
    source: str
    spec_version: str = SPEC_VERSION
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_id(self.batch_id)
        if not self.jobs:
            raise ValueError(f"{self.batch_id}: a batch without a job does nothing")
        _require_unlike(self.batch_id, (job.job_id for job in self.jobs))
        if self.concurrency < 1:
            raise ValueError(f"{self.batch_id}: at a concurrency of {self.concurrency} nothing runs")

    @property
    def digest(self) -> str:
        """What two submissions have in common when they ask for the same: id and source don't count."""
        return digest(self.content())

    def content(self) -> JsonObject:
        """Write what the batch does, without what it is called."""
        return {
            "spec_version": self.spec_version,
            "batch_goal_summary": self.goal_summary,
            "labels": dict(self.labels),
            "tags": list(self.tags),
            "concurrency": self.concurrency,
            "jobs": [job.to_json() for job in self.jobs],
        }

    def to_json(self) -> JsonObject:
        """Write it for `batch_meta.json`."""
        return {"batch_id": self.batch_id, "source": self.source, **self.content()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Table:
        """Read what `to_json` wrote."""
        return cls(
            batch_id=value["batch_id"],
            source=value["source"],
            spec_version=value["spec_version"],
            goal_summary=value["batch_goal_summary"],
            labels=value["labels"],
            tags=tuple(value["tags"]),
            concurrency=value["concurrency"],
            jobs=tuple(Job.from_json(job) for job in value["jobs"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDefaults:
    """What holds for a step where its table, job and step say nothing. `agents` are all that a table may name."""

    agent: AgentChoice = field(default_factory=AgentChoice)
    agents: tuple[AgentName, ...] = AGENT_NAMES
    policy: ExecutionPolicy = field(default_factory=ExecutionPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: float = 3600.0
    concurrency: int = 8


def _require_id(text: str) -> None:
    if not is_id(text):
        raise ValueError(f"{text!r} is not an id: {ID_RULE}")


def _require_unlike(owner: str, ids: Iterable[str]) -> set[str]:
    """Return the ids; two that differ in case alone would share a folder on some file systems."""
    seen: dict[str, str] = {}
    for text in ids:
        if twin := seen.get(text.casefold()):
            raise ValueError(f"{owner}: {text} stands beside {twin}")
        seen[text.casefold()] = text
    return set(seen.values())
