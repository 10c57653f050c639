"""What an item acts on: an advance of a plan, a step of a batch, or a prompt of the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from teamster.kit import ROOT_PATH
from teamster.model.grammar import ID, KEY, NAME
from teamster.model.rules import NotEmpty, When, With
from teamster.model.shapes import Choice, Count, Field, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One workflow command: the role that usually does it, and what of a plan its target must name."""

    role: str
    needs: tuple[str, ...]


_PLAN: Final = ("plan_id",)
_ATTEMPT: Final = ("plan_id", "plan_iteration")
COMMANDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "plan": Command(role="epic-planner", needs=()),  # before there is a plan
        "code": Command(role="plan-coder", needs=_ATTEMPT),
        "finish-code": Command(role="plan-coder", needs=_ATTEMPT),
        "review": Command(role="plan-reviewer", needs=_ATTEMPT),
        "fix": Command(role="plan-fixer", needs=_ATTEMPT),
        "done": Command(role="orchestrator", needs=_ATTEMPT),
        "verify": Command(role="plan-verifier", needs=_PLAN),  # on demand, in no phase
    }
)
WORKFLOW_COMMANDS: Final = tuple(COMMANDS)
_STEP: Final = ("batch_id", "job_id", "step_id")

TARGET: Final = Form(
    form="target",
    about="What the job acts on: an advance of a plan, a step of a batch, or a prompt of the inbox.",
    fields={
        "repo_id": Field(NAME, about="Which repository, where several are served."),
        "epic_id": Field(ID, about="The epic, where the work is driven by one."),
        "plan_id": Field(ID, about="The plan."),
        "plan_iteration": Field(Count(), about="The plan's iteration, from `plans/<plan_id>/state.json`."),
        "workflow_command": Field(Choice(values=WORKFLOW_COMMANDS), about="The command that advances the plan."),
        "role": Field(NAME, about="Which role should take it; an open word (extension)."),
        "runtime": Field(NAME, about="Which runtime should take it (extension)."),
        "batch_id": Field(ID, about="The batch of a step (extension)."),
        "job_id": Field(ID, about="The job of a step: what a launch table means by it (extension)."),
        "step_id": Field(ID, about="The step (extension)."),
        "inbox_path": Field(KEY, about="The prompt, relative to its inbox (extension)."),
    },
    rules=(
        NotEmpty(hint="name a plan, a step or a prompt"),
        With(field="plan_iteration", needs=_PLAN),
        *(
            When(field="workflow_command", words=(name,), needs=command.needs)
            for name, command in COMMANDS.items()
            if command.needs
        ),
        *(With(field=name, needs=tuple(other for other in _STEP if other != name)) for name in _STEP),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an item acts on; `extra` are members that are not ours."""

    repo_id: str | None = None
    epic_id: str | None = None
    plan_id: str | None = None
    plan_iteration: int | None = None
    workflow_command: str | None = None
    role: str | None = None
    runtime: str | None = None
    batch_id: str | None = None
    job_id: str | None = None
    step_id: str | None = None
    inbox_path: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fault in TARGET.faults(self.to_json(), ROOT_PATH):
            raise ValueError(f"target: {fault.path}: {fault.fact}")

    def to_json(self) -> dict[str, Any]:
        """Write it as contract v1 wants it, with what was not ours."""
        named = {name: getattr(self, name) for name in TARGET.fields}
        return {**{name: value for name, value in named.items() if value is not None}, **self.extra}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Target:
        """Read a value without faults."""
        return cls(**TARGET.known(value), extra=TARGET.unknown(value))
