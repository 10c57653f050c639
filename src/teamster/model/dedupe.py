"""Dedupe keys: what makes two requests the same work, as a value and as a text that reads back.

A key is `<kind>:<part>/<part>/...`; each part is percent-encoded, and empty where it is absent. So no two values give
the same text, and the text names everything that it was made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never
from urllib.parse import quote, unquote

from teamster.kit import INTEGER_MAX
from teamster.model.errors import UsageError
from teamster.model.grammar import ID, KEY, NAME
from teamster.model.ids import BatchId, JobId, StepId, StepKey
from teamster.model.shapes import Text, shown
from teamster.model.target import WORKFLOW_COMMANDS

_KIND_MARK: Final = ":"
_PART_MARK: Final = "/"


class DedupeScope(StrEnum):
    """Within what the work is the same work: parts beneath it are absent."""

    REPO = "repo"
    EPIC = "epic"
    PLAN = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWork:
    """One advance of a plan, or a command for a whole epic or repository."""

    scope: DedupeScope
    repo_id: str | None = None
    epic_id: str | None = None
    plan_id: str | None = None
    plan_iteration: int | None = None
    workflow_command: str
    role: str | None = None
    runtime: str | None = None

    def __post_init__(self) -> None:
        for form, part in (
            (NAME, self.repo_id), (ID, self.epic_id), (ID, self.plan_id), (NAME, self.role), (NAME, self.runtime),
        ):  # fmt: skip
            _require(form, part)
        if self.workflow_command not in WORKFLOW_COMMANDS:
            raise ValueError(f"{shown(self.workflow_command)} is no workflow command")
        if self.plan_iteration is not None:
            _require_count(self.plan_iteration, least=0)
        self._require_scope()
        _require(KEY, dedupe_key(self))

    def _require_scope(self) -> None:
        there = {
            DedupeScope.REPO: self.repo_id is not None,
            DedupeScope.EPIC: self.epic_id is not None,
            DedupeScope.PLAN: self.plan_id is not None,
        }
        if not there[self.scope]:
            raise ValueError(f"the scope is {self.scope}, and its id is missing")
        widest_first = list(DedupeScope)
        beneath = widest_first[widest_first.index(self.scope) + 1 :]
        if any(there[scope] for scope in beneath) or (self.plan_iteration is not None and self.plan_id is None):
            raise ValueError(f"the scope is {self.scope}, and something beneath it is named")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWork:
    """One generation of a step: asked for again after it ended, it is other work."""

    step: StepKey
    generation: int

    def __post_init__(self) -> None:
        _require_count(self.generation, least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptWork:
    """One drop of a prompt into an inbox.

    `drop` tells it from the next one under the same name: the id that the intake made for it, or the digest of its
    content where a repeat of the same content is the same work.
    """

    inbox_path: str
    drop: str

    def __post_init__(self) -> None:
        _require(KEY, self.inbox_path)
        _require(ID, self.drop)
        _require(KEY, dedupe_key(self))


Work = PlanWork | StepWork | PromptWork


class _Kind(StrEnum):
    PLAN = "plan"
    STEP = "step"
    PROMPT = "prompt"


def dedupe_key(work: Work) -> str:
    """Write the key of some work: equal work gives equal text, other work another one."""
    match work:
        case PlanWork():
            iteration = None if work.plan_iteration is None else str(work.plan_iteration)
            wide = (work.scope.value, work.repo_id, work.epic_id, work.plan_id, iteration)
            return _written(_Kind.PLAN, *wide, work.workflow_command, work.role, work.runtime)
        case StepWork(step=step, generation=generation):
            return _written(_Kind.STEP, step.batch_id, step.job_id, step.step_id, str(generation))
        case PromptWork():
            return _written(_Kind.PROMPT, work.inbox_path, work.drop)
        case _:
            assert_never(work)


def work_of(key: str) -> Work:
    """Read what `dedupe_key` wrote, and nothing else: not even another spelling of the same parts.

    Raises:
        UsageError: it is no such key. Other programs' keys are opaque to us.
    """
    kind, _, rest = key.partition(_KIND_MARK)
    try:
        work = _read(_Kind(kind), [unquote(part, errors="strict") or None for part in rest.split(_PART_MARK)])
        same = dedupe_key(work) == key
    except ValueError as error:
        raise _refused(key, str(error)) from error
    if not same:
        raise _refused(key, "it is written in another way than ours")
    return work


def _read(kind: _Kind, parts: Sequence[str | None]) -> Work:
    match kind, parts:
        case _Kind.PLAN, [str(scope), repo_id, epic_id, plan_id, iteration, str(command), role, runtime]:
            return PlanWork(
                scope=DedupeScope(scope),
                repo_id=repo_id,
                epic_id=epic_id,
                plan_id=plan_id,
                plan_iteration=None if iteration is None else int(iteration),
                workflow_command=command,
                role=role,
                runtime=runtime,
            )
        case _Kind.STEP, [str(batch_id), str(job_id), str(step_id), str(generation)]:
            step = StepKey(BatchId(batch_id), JobId(job_id), StepId(step_id))
            return StepWork(step=step, generation=int(generation))
        case _Kind.PROMPT, [str(inbox_path), str(drop)]:
            return PromptWork(inbox_path=inbox_path, drop=drop)
        case _:
            raise ValueError(f"a {kind} key has other parts")


def _written(kind: _Kind, *parts: str | None) -> str:
    return f"{kind}{_KIND_MARK}{_PART_MARK.join('' if part is None else quote(part, safe='') for part in parts)}"


def _require(form: Text, part: str | None) -> None:
    for fault in () if part is None else form.faults(part, ""):
        raise ValueError(f"{fault.fact}: {fault.hint}")


def _require_count(number: int, *, least: int) -> None:
    if not least <= number <= INTEGER_MAX:
        raise ValueError(f"{number} is not within {least} and {INTEGER_MAX}")


def _refused(key: str, fact: str) -> UsageError:
    hint = "plan:<scope>/<repo>/<epic>/<plan>/<iteration>/<command>/<role>/<runtime>, step:..., prompt:..."
    return UsageError(f"{shown(key)} is no dedupe key of ours: {fact}", hint=hint)
