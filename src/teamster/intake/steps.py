"""Reads the steps of one job."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from teamster.intake.fields import Fields, text_fact
from teamster.intake.folders import Folders
from teamster.intake.graph import Wait, Waiter, check_graph
from teamster.intake.keys import check_keys, choose, missing
from teamster.intake.limits import Limits
from teamster.intake.manner import Manner, within
from teamster.intake.prompts import PackChoice, Prompts
from teamster.intake.schemas import Schemas
from teamster.model import (
    AgentChoice,
    ExecutionPolicy,
    JsonObject,
    ResumeFrom,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a job says for its steps."""

    folder: Path | None
    manner: Manner
    pack: PackChoice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """A step that was read and may still be wrong."""

    step_id: str
    fields: Fields
    manner: Manner
    policy: ExecutionPolicy
    prompt: str
    schema: JsonObject | None
    depends_on: tuple[str, ...]
    resume: ResumeFrom | None
    waits: tuple[Wait, ...]

    def build(self, folder: Path) -> Step:
        """Make the step; only for a table without problems."""
        manner = self.manner
        return Step(
            step_id=StepId(self.step_id),
            working_directory=str(folder),
            prompt=self.prompt,
            agent=AgentChoice(agent=manner.agent, command=manner.command if manner.agent == "command" else ()),
            policy=self.policy,
            timeout_seconds=manner.timeout_seconds,
            retry=manner.retry,
            schema=self.schema,
            depends_on=dependencies_of(tuple(StepId(name) for name in self.depends_on), self.resume),
            resume=self.resume,
        )


def read_steps(
    items: Sequence[Fields],
    step_ids: Sequence[str],
    around: Surroundings,
    desk: Desk,
    *,
    other_jobs: Mapping[str, frozenset[str]],
) -> list[StepDraft]:
    """Read the steps of a job, and check what they are to each other."""
    drafts = [_draft(fields, step_id, around, desk) for fields, step_id in zip(items, step_ids, strict=True)]
    waiters = [Waiter(step_id=draft.step_id, fields=draft.fields, waits=draft.waits) for draft in drafts]
    if any(waiter.waits for waiter in waiters):
        check_graph(waiters, other_jobs=other_jobs)
        _check_sources(drafts)
    return drafts


def _draft(fields: Fields, step_id: str, around: Surroundings, desk: Desk) -> StepDraft:
    check_keys(fields, "step")
    manner = within(around.manner, fields, desk.limits)
    if manner.agent == "command" and not manner.command:
        missing(fields, "command", "write the program and its arguments: `[make, test]`")
    pack = desk.prompts.choice(fields, "pack_id", around.pack) if fields.has("pack_id") else around.pack
    waits = _waits(fields, desk.limits)
    resume, source = _resume(fields, desk.limits)
    policy = _with_folders(manner, around.folder, desk)
    if manner.agent == "codex" and around.folder is not None and not policy.skip_git_repo_check:
        _check_repository(fields, around.folder)
    schema, schema_bytes = desk.schemas.of_step(manner.schema, manner.agent, job_folder=around.folder)
    desk.prompts.scale.takes(fields, schema_bytes + sum(map(len, (*manner.command, *policy.add_dirs))))
    return StepDraft(
        step_id=step_id,
        fields=fields,
        manner=manner,
        policy=policy,
        prompt=desk.prompts.of_step(fields, pack, job_folder=around.folder, needed=manner.agent != "command"),
        schema=schema,
        depends_on=tuple(dict.fromkeys(wait.step_id for wait in waits)),
        resume=resume,
        waits=(*waits, source) if source is not None else waits,
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


def _waits(fields: Fields, limits: Limits) -> tuple[Wait, ...]:
    """Read `depends_on`: a list of step ids, or one alone."""
    value = fields.value.get("depends_on")
    path = fields.at("depends_on")
    if isinstance(value, str):
        fact = text_fact(value, characters_max=limits.text_characters_max)
        if fact is None:
            return (Wait(step_id=value, path=path),)
    names = fields.texts("depends_on", items_max=limits.steps_per_job_max, characters_max=limits.text_characters_max)
    return tuple(Wait(step_id=name, path=(*path, index)) for index, name in enumerate(names or ()))


def _resume(fields: Fields, limits: Limits) -> tuple[ResumeFrom | None, Wait | None]:
    """Read `resume_from`: a mapping, or the id of the step alone."""
    value = fields.value.get("resume_from")
    if isinstance(value, str):
        text = fields.word("resume_from", characters_max=limits.text_characters_max)
        return _source(fields, text) if text is not None else (None, None)
    inner = fields.inner("resume_from")
    if inner is None:
        return None, None
    check_keys(inner, "resume_from")
    selector = "run_id" if inner.has("run_id") and not inner.has("selector") else None
    said = Fields(value={"selector": selector}, path=inner.path, problems=inner.problems) if selector else inner
    chosen = choose(said, "selector", ("latest_successful", "latest"), later="resume_from.selector")
    if inner.has("run_id") and chosen is not None:
        inner.add("run_id", f"it means nothing with the selector {chosen}", "leave it out")
    thread_id = inner.text("codex_thread_id", characters_max=limits.text_characters_max)
    if thread_id is not None and not _THREAD_ID.fullmatch(thread_id):
        # Codex takes anything else for a name, and begins a new conversation in silence.
        inner.add("codex_thread_id", f"{thread_id!r:.60} is no UUID", "leave it out: it is captured by itself")
        thread_id = None
    if not inner.has("step_id"):
        missing(inner, "step_id", "name the step whose conversation goes on")
    step_id = inner.text("step_id", characters_max=limits.text_characters_max)
    if step_id is None:
        return None, None
    resume = ResumeFrom(
        step_id=StepId(step_id),
        selector="latest" if chosen == "latest" else "latest_successful",
        codex_thread_id=thread_id.lower() if thread_id else None,
    )
    return resume, Wait(step_id=step_id, path=inner.at("step_id"))


def _source(fields: Fields, step_id: str) -> tuple[ResumeFrom, Wait]:
    return ResumeFrom(step_id=StepId(step_id)), Wait(step_id=step_id, path=fields.at("resume_from"))


def _check_sources(drafts: Sequence[StepDraft]) -> None:
    """Note every step that would go on with a conversation that nobody had."""
    agents = {draft.step_id: draft.manner.agent for draft in drafts}
    for draft in drafts:
        if draft.resume is None:
            continue
        if draft.manner.agent == "command":
            fact = "a `command` agent has no conversation that it could go on with"
            draft.fields.add("resume_from", fact, "use `depends_on`")
        elif agents.get(draft.resume.step_id) == "command":
            fact = f"{draft.resume.step_id} is done by a `command` agent, which leaves no conversation"
            draft.fields.add("resume_from", fact, "use `depends_on`, or resume a step of an agent")
