"""What prompts say of earlier steps: each must be known, and have ended by the time that the prompt is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from teamster.intake.directory import Directory, Name
from teamster.intake.graph import Wait
from teamster.intake.parsed import FieldPath
from teamster.intake.steps import StepDraft
from teamster.model import Reference


def with_references(jobs: Sequence[list[StepDraft]], directory: Directory) -> list[list[StepDraft]]:
    """Return the steps of all jobs, each waiting for what its prompt refers to; note what it doesn't wait for."""
    waits = {step.name: frozenset(wait.step for wait in step.waits) for job in jobs for step in job}
    return [[_with_references(step, directory, waits) for step in job] for job in jobs]


def _with_references(step: StepDraft, directory: Directory, waits: Mapping[Name, frozenset[Name]]) -> StepDraft:
    path = _place(step)
    for reference in step.prompt.references:
        name = (reference.job_id or step.name[0], reference.step_id)
        text = ".".join(name) if reference.job_id else reference.step_id
        if not directory.find(text, path, step.fields.problems, own=step.name):
            continue
        if not _is_before(name, step.name, waits):
            fact = f"{reference.written} is not known when it starts: {step.name[1]} does not wait for {text}"
            step.fields.problems.add(path, fact, partial(_hint, text, reference))
        elif name not in waits[step.name] and name not in {wait.step for wait in step.waits}:
            step = replace(step, waits=(*step.waits, Wait(step=name, path=path)))
    return step


def _place(step: StepDraft) -> FieldPath:
    """Say where the prompt stands that a person wrote."""
    return step.fields.at(next((name for name in ("prompt", "prompt_ref") if step.fields.has(name)), "append_prompt"))


def _hint(text: str, reference: Reference) -> str:
    return f"add `depends_on: {text}`; {{{reference.written}}} passes the braces on"


def _is_before(name: Name, step: Name, waits: Mapping[Name, frozenset[Name]]) -> bool:
    """Tell whether a step waits for another one, directly or through others."""
    seen: set[Name] = set()
    left = [step]
    while left:
        following = waits.get(left.pop(), frozenset())
        if name in following:
            return True
        left += following - seen
        seen |= following
    return False
