"""A launch table after normalisation: what a batch will do, with nothing left to look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal

from teamster.kit import digest, sha256
from teamster.model.agent import AGENT_NAMES, AgentChoice, AgentName, ExecutionPolicy
from teamster.model.dependency import Dependency, ResumeFrom, dependencies_of
from teamster.model.ids import ID_RULE, BatchId, JobId, StepId, is_id
from teamster.model.record import JsonObject
from teamster.model.reference import Reference
from teamster.model.wanted import ExpectedArtifact, RetentionPolicy, RunnerAffinity

WorkspaceMode = Literal["shared"]
RetriedStatus = Literal["failed", "needs_attention"]

RETRIED_STATUSES: Final[tuple[RetriedStatus, ...]] = ("failed", "needs_attention")
GOAL_WORDS_MIN: Final = 151
SPEC_VERSION: Final = "1.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a step may be tried, and how long to wait before the next try.

    The wait doubles with each try that was consumed, up to `backoff_seconds_max`. A try that ended otherwise than
    `on_statuses` say is the last one.
    """

    attempts_max: int = 1
    backoff_seconds: float = 5.0
    backoff_seconds_max: float = 300.0
    on_statuses: tuple[RetriedStatus, ...] = ("failed",)

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
            **({} if self.on_statuses == ("failed",) else {"retry_on_statuses": list(self.on_statuses)}),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> RetryPolicy:
        """Read what `to_json` wrote."""
        return cls(
            attempts_max=value["max_attempts"],
            backoff_seconds=value["backoff_seconds"],
            backoff_seconds_max=value["backoff_seconds_max"],
            on_statuses=tuple(value.get("retry_on_statuses", ("failed",))),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """All that a runner needs to know about one step: the `spec` of its item.

    `prompt` is the full text, packs and appendices in it; its `references` are filled in when the step starts. Without
    a `schema` the shipped Run Report holds.
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
    affinity: RunnerAffinity | None = None
    artifacts_expected: tuple[ExpectedArtifact, ...] = ()
    references: tuple[Reference, ...] = ()
    prompt_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        _require_id(self.step_id)
        if not self.working_directory.startswith("/"):
            raise ValueError(f"{self.step_id}: {self.working_directory!r} is not an absolute path")
        if not 0 < self.timeout_seconds < inf:
            raise ValueError(f"{self.step_id}: a timeout of {self.timeout_seconds} s leaves no time, or has no end")
        if self.resume is not None and self.resume.step_id not in map(str, self.depends_on):
            raise ValueError(f"{self.step_id}: it resumes {self.resume.step_id} and must depend on it")
        for reference in self.references:
            if not self.prompt.startswith(reference.written, reference.at):
                raise ValueError(f"{self.step_id}: {reference.written} is not where it should be in the prompt")
            if str(reference.dependency) not in map(str, self.depends_on):
                raise ValueError(f"{self.step_id}: it refers to {reference.dependency} and must depend on it")
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
            "depends_on": [str(dependency) for dependency in self.depends_on],
            "resume_from": None if self.resume is None else self.resume.to_json(),
            **self.agent.to_json(),
            "execution_policy": self.policy.to_json(),
            "timeout_seconds": self.timeout_seconds,
            "retry_policy": self.retry.to_json(),
            **_said(
                runner_affinity=None if self.affinity is None else self.affinity.to_json(),
                artifacts_expected=[artifact.to_json() for artifact in self.artifacts_expected] or None,
                prompt_references=[reference.to_json() for reference in self.references] or None,
            ),
        }

    @classmethod
    def from_json(cls, value: JsonObject) -> Step:
        """Read what `to_json` wrote."""
        resume = None if value["resume_from"] is None else ResumeFrom.from_json(value["resume_from"])
        affinity = value.get("runner_affinity")
        return cls(
            step_id=value["step_id"],
            working_directory=value["working_directory"],
            workspace_mode=value["workspace_mode"],
            prompt=value["prompt"],
            schema=value["schema"],
            depends_on=dependencies_of(value["depends_on"], resume),
            resume=resume,
            agent=AgentChoice.from_json(value),
            policy=ExecutionPolicy.from_json(value["execution_policy"]),
            timeout_seconds=value["timeout_seconds"],
            retry=RetryPolicy.from_json(value["retry_policy"]),
            affinity=None if affinity is None else RunnerAffinity(**affinity),
            artifacts_expected=tuple(ExpectedArtifact(**one) for one in value.get("artifacts_expected", ())),
            references=tuple(Reference.from_json(one) for one in value.get("prompt_references", ())),
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
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    concurrency: int | None = None

    def __post_init__(self) -> None:
        _require_id(self.job_id)
        _require_room(self.job_id, self.concurrency)
        if not self.steps:
            raise ValueError(f"{self.job_id}: a job without a step does nothing")
        step_ids = _require_unlike(self.job_id, (step.step_id for step in self.steps))
        for step in self.steps:
            own = {need.step_id for need in step.depends_on if need.job_id is None}
            if missing := own - (step_ids - {step.step_id}):
                raise ValueError(f"{self.job_id}.{step.step_id}: it can't depend on {', '.join(sorted(missing))}")

    def to_json(self) -> JsonObject:
        """Write it for `batch_meta.json`."""
        return {
            "job_id": self.job_id,
            "working_directory": self.working_directory,
            "workspace_mode": self.workspace_mode,
            "labels": dict(self.labels),
            "tags": list(self.tags),
            **_said(retention_policy=self.retention.to_json() or None, concurrency=self.concurrency),
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
            retention=RetentionPolicy(**value.get("retention_policy", {})),
            concurrency=value.get("concurrency"),
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
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)
    concurrency_per_directory: int | None = None
    concurrency_per_repository: int | None = None

    def __post_init__(self) -> None:
        _require_id(self.batch_id)
        if not self.jobs:
            raise ValueError(f"{self.batch_id}: a batch without a job does nothing")
        _require_unlike(self.batch_id, (job.job_id for job in self.jobs))
        for number in (self.concurrency, self.concurrency_per_directory, self.concurrency_per_repository):
            _require_room(self.batch_id, number)
        self._require_known()

    def _require_known(self) -> None:
        """Refuse dependencies on steps of other jobs that are not there, or that are written as if they were others."""
        known = {(job.job_id, step.step_id) for job in self.jobs for step in job.steps}
        for job in self.jobs:
            for step in job.steps:
                for need in step.depends_on:
                    if need.job_id == job.job_id or (need.job_id or job.job_id, need.step_id) not in known:
                        raise ValueError(f"{job.job_id}.{step.step_id}: it can't depend on {need}")

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
            **_said(
                concurrency_per_directory=self.concurrency_per_directory,
                concurrency_per_repository=self.concurrency_per_repository,
                retention_policy=self.retention.to_json() or None,
            ),
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
            retention=RetentionPolicy(**value.get("retention_policy", {})),
            concurrency_per_directory=value.get("concurrency_per_directory"),
            concurrency_per_repository=value.get("concurrency_per_repository"),
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


def _said(**more: Any) -> JsonObject:
    """Write what few tables say. Left out where it isn't said: the digests of all others stay as they were."""
    return {name: value for name, value in more.items() if value is not None}


def _require_room(owner: str, concurrency: int | None) -> None:
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"{owner}: at a concurrency of {concurrency} nothing runs")


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
