"""Reads the steps of one job."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from teamster.intake.directory import Directory, Name
from teamster.intake.fields import Fields
from teamster.intake.folders import Folders
from teamster.intake.graph import Wait, Waiter, ancestors
from teamster.intake.keys import LATER_VALUES, check_keys, choose, later_fact, missing
from teamster.intake.limits import Limits
from teamster.intake.manner import Manner, within
from teamster.intake.parsed import FieldPath, Problems
from teamster.intake.prompts import PackChoice, Prompt, Prompts
from teamster.intake.rows import fit_for
from teamster.intake.schemas import Schemas
from teamster.intake.wanted import read_artifacts
from teamster.model import (
    AgentChoice,
    ExecutionPolicy,
    ExpectedArtifact,
    JsonObject,
    Reference,
    ResumeFrom,
    RunnerAffinity,
    Step,
    StepId,
    dependencies_of,
)

_THREAD_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What reading a step needs besides the step: the places, the prompts, the schemas, the limits."""

    limits: Limits
    folders: Folders
    prompts: Prompts
    schemas: Schemas
    directory: Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a job says for its steps."""

    job_id: str
    folder: Path | None
    manner: Manner
    pack: PackChoice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """A step that was read and may still be wrong."""

    name: Name
    fields: Fields
    manner: Manner
    policy: ExecutionPolicy
    prompt: Prompt
    schema: JsonObject | None
    resume: ResumeFrom | None
    waits: tuple[Wait, ...]
    artifacts: tuple[ExpectedArtifact, ...]

    @property
    def waiter(self) -> Waiter:
        """What it is to the other steps."""
        return Waiter(step=self.name, problems=self.fields.problems, waits=self.waits)

    def build(self, folder: Path) -> Step:
        """Make the step; only for a table without problems."""
        manner = self.manner
        return Step(
            step_id=StepId(self.name[1]),
            working_directory=str(folder),
            prompt=self.prompt.text,
            agent=AgentChoice(agent=manner.agent, command=manner.command if manner.agent == "command" else ()),
            policy=self.policy,
            timeout_seconds=manner.timeout_seconds,
            retry=manner.retry,
            schema=self.schema,
            depends_on=dependencies_of(self._depends_on(), self.resume),
            resume=self.resume,
            affinity=self._affinity(),
            artifacts_expected=self.artifacts,
            references=tuple(self._own(reference) for reference in self.prompt.references),
        )

    def _own(self, reference: Reference) -> Reference:
        """Name the step as the dependencies do: of its own job by its id alone."""
        return replace(reference, job_id=None) if reference.job_id == self.name[0] else reference

    def _affinity(self) -> RunnerAffinity | None:
        """Return where it should run; the step that all of its job follow follows nobody."""
        said = self.manner.affinity
        return None if said is None or said.affinity.step_id == self.name[1] else said.affinity

    def _depends_on(self) -> Iterator[str]:
        """Write what it waits for; steps of its own job by their own ids alone."""
        job_id = self.name[0]
        return (wait.step[1] if wait.step[0] == job_id else ".".join(wait.step) for wait in self.waits)


def read_steps(items: Sequence[Fields], step_ids: Sequence[str], around: Surroundings, desk: Desk) -> list[StepDraft]:
    """Read the steps of a job."""
    drafts = [_draft(fields, step_id, around, desk) for fields, step_id in zip(items, step_ids, strict=True)]
    _check_sources(drafts)
    _check_affinities(drafts)
    return drafts


def _draft(fields: Fields, step_id: str, around: Surroundings, desk: Desk) -> StepDraft:
    check_keys(fields, "step")
    manner = within(around.manner, fields, desk.limits)
    if manner.agent == "command" and not manner.command:
        missing(fields, "command", "write the program and its arguments: `[make, test]`")
    pack = desk.prompts.choice(fields, "pack_id", around.pack) if fields.has("pack_id") else around.pack
    name = (around.job_id, step_id)
    waits = _waits(fields, name, desk)
    resume, source = _resume(fields, name, desk)
    policy = _with_folders(manner, around.folder, desk)
    if manner.agent == "codex" and around.folder is not None and not policy.skip_git_repo_check:
        _check_repository(fields, around.folder)
    schema, schema_bytes = desk.schemas.of_step(manner.schema, manner.agent, job_folder=around.folder)
    desk.prompts.scale.takes(fields, schema_bytes + sum(map(len, (*manner.command, *policy.add_dirs))))
    return StepDraft(
        name=name,
        fields=fields,
        manner=manner,
        policy=policy,
        prompt=desk.prompts.of_step(fields, pack, job_folder=around.folder, needed=manner.agent != "command"),
        schema=schema,
        resume=resume,
        waits=(*waits, source) if source is not None else waits,
        artifacts=read_artifacts(fields, desk.limits),
    )


def _check_repository(fields: Fields, folder: Path) -> None:
    """Note a folder in which Codex would refuse to start: nothing could bring back what it changes there."""
    if not any(os.path.lexists(top / ".git") for top in (folder, *folder.parents)):
        hint = "git init it, or set execution_policy.skip_git_repo_check to true"
        fields.add("agent", f"codex works in git repositories only, and {folder} is in none", hint)


def _with_folders(manner: Manner, job_folder: Path | None, desk: Desk) -> ExecutionPolicy:
    names = manner.policy.add_dirs
    if not names or job_folder is None:
        return manner.policy
    found = (
        desk.folders.folder(name, (*manner.folders_path, index), base=job_folder) for index, name in enumerate(names)
    )
    return replace(manner.policy, add_dirs=tuple(str(path) for path in found if path is not None))


def _waits(fields: Fields, name: Name, desk: Desk) -> tuple[Wait, ...]:
    """Read `depends_on`: a list of references, or one alone."""
    path, characters_max = fields.at("depends_on"), desk.limits.text_characters_max
    plain = replace(fields, row=None)
    if isinstance(fields.value.get("depends_on"), str):
        text = plain.text("depends_on", characters_max=characters_max)
        written = [] if text is None else [(text, path)]
    else:
        names = plain.texts("depends_on", items_max=desk.limits.depends_on_max, characters_max=characters_max)
        written = [(text, (*path, index)) for index, text in enumerate(names or ())]
    written = [(fields.filled(text, place, fit=fit_for(text)), place) for text, place in written]
    return tuple(
        Wait(step=step, path=place)
        for text, place in written
        if text or fields.row is None  # a row may have nothing to wait for
        for step in desk.directory.find(text, place, fields.problems, own=name)
    )


def _resume(fields: Fields, name: Name, desk: Desk) -> tuple[ResumeFrom | None, Wait | None]:
    """Read `resume_from`: a mapping, or the id of the step alone."""
    limits = desk.limits
    if isinstance(fields.value.get("resume_from"), str):
        text = fields.word("resume_from", characters_max=limits.text_characters_max)
        source = None if text is None else _source(text, fields.at("resume_from"), fields.problems, name, desk)
        return (None, None) if source is None else (ResumeFrom(step_id=StepId(source.step[1])), source)
    inner = fields.inner("resume_from")
    if inner is None:
        return None, None
    check_keys(inner, "resume_from")
    chosen = choose(inner, "selector", ("latest_successful", "latest"), later="resume_from.selector")
    if inner.has("run_id") and chosen is not None:
        inner.add("run_id", f"it means nothing with the selector {chosen}", "leave it out")
    elif inner.has("run_id") and not inner.has("selector"):
        inner.add("run_id", later_fact(LATER_VALUES["resume_from.selector"]["run_id"]), "leave it out for now")
    thread_id = inner.text("codex_thread_id", characters_max=limits.text_characters_max)
    if thread_id is not None and not _THREAD_ID.fullmatch(thread_id):
        # Codex takes anything else for a name, and begins a new conversation in silence.
        inner.add("codex_thread_id", f"{thread_id!r:.60} is no UUID", "leave it out: it is captured by itself")
        thread_id = None
    if not inner.has("step_id"):
        missing(inner, "step_id", "name the step whose conversation goes on")
    step_id = inner.text("step_id", characters_max=limits.text_characters_max)
    source = None if step_id is None else _source(step_id, inner.at("step_id"), inner.problems, name, desk)
    if source is None:
        return None, None
    resume = ResumeFrom(
        step_id=StepId(source.step[1]),
        selector="latest" if chosen == "latest" else "latest_successful",
        codex_thread_id=thread_id.lower() if thread_id else None,
    )
    return resume, source


def _source(text: str, path: FieldPath, problems: Problems, name: Name, desk: Desk) -> Wait | None:
    """Find the one step of the same job whose conversation goes on."""
    if text.partition(".")[1] and text.partition(".")[0] != name[0]:
        fact = f"{text!r} is a step of another job: a conversation goes on within its own"
        problems.add(path, fact, "put both steps into one job, or use `depends_on` and refer to what it left")
        return None
    found = desk.directory.find(text, path, problems, own=name)
    return Wait(step=found[0], path=path) if found else None


def _check_sources(drafts: Sequence[StepDraft]) -> None:
    """Note every step that would go on with a conversation that nobody had."""
    agents = {draft.name[1]: draft.manner.agent for draft in drafts}
    for draft in drafts:
        if draft.resume is None:
            continue
        if draft.manner.agent == "command":
            fact = "a `command` agent has no conversation that it could go on with"
            draft.fields.add("resume_from", fact, "use `depends_on`")
        elif agents.get(draft.resume.step_id) == "command":
            fact = f"{draft.resume.step_id} is done by a `command` agent, which leaves no conversation"
            draft.fields.add("resume_from", fact, "use `depends_on`, or resume a step of an agent")


def _check_affinities(drafts: Sequence[StepDraft]) -> None:
    """Note every step that should run where another one ran which may not have run by then."""
    waiters = [draft.waiter for draft in drafts]
    for draft in drafts:
        said = draft.manner.affinity
        if said is None or said.affinity.step_id in {None, draft.name[1]}:
            continue
        if (draft.name[0], said.affinity.step_id) not in ancestors(waiters, draft.name):
            fact = f"{draft.name[1]} does not wait for a step {said.affinity.step_id!r} of its job"
            draft.fields.problems.add(
                said.path, fact, "name a step that it depends on: where that ran is known by then"
            )
