"""Reads a launch table: from a file to a value with nothing left to look up, or to all that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from teamster.intake.directory import Directory
from teamster.intake.fields import Fields, shown, text_fact
from teamster.intake.folders import Folders
from teamster.intake.graph import check_graph
from teamster.intake.keys import check_keys, missing
from teamster.intake.limits import LIMITS, Limits
from teamster.intake.manner import Manner, outermost, within
from teamster.intake.names import assign_ids, batch_id_of, batch_stem, check_suffix, read_id
from teamster.intake.parsed import Parsed, Problems
from teamster.intake.prompts import PackChoice, Prompts
from teamster.intake.references import with_references
from teamster.intake.rows import Row, rows_of_csv, rows_of_list
from teamster.intake.schemas import Schemas
from teamster.intake.steps import Desk, StepDraft, Surroundings, read_steps
from teamster.intake.wanted import read_retention
from teamster.intake.weight import Scale
from teamster.model import (
    GOAL_WORDS_MIN,
    SPEC_VERSION,
    BatchId,
    Job,
    JobId,
    RetentionPolicy,
    Table,
    TableDefaults,
    TableProblems,
)

_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
_MAJOR = SPEC_VERSION.split(".", maxsplit=1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDraft:
    """A job that was read and may still be wrong."""

    job_id: str
    folder: Path | None
    labels: Mapping[str, str]
    tags: tuple[str, ...]
    retention: RetentionPolicy
    concurrency: int | None
    steps: list[StepDraft]

    def build(self) -> Job:
        """Make the job; only for a table without problems."""
        folder = self.folder
        assert folder is not None, "a job without a folder is a problem that was noted"
        return Job(
            job_id=JobId(self.job_id),
            working_directory=str(folder),
            steps=tuple(step.build(folder) for step in self.steps),
            labels=self.labels,
            tags=self.tags,
            retention=self.retention,
            concurrency=self.concurrency,
        )


def understood(
    parsed: Parsed,
    *,
    path: Path,
    defaults: TableDefaults,
    new: str | None = None,
    root: Path | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """Make a table of parsed values; `path` is the file, absolute.

    Raises:
        TableProblems: all that is wrong with it.
        UsageError: `new` can't end an id.
    """
    check_suffix(new)
    problems = Problems(parsed.source, parsed.place, parsed.noted)
    fields = Fields(value={}, path=(), problems=problems).mapping(parsed.value, ())
    if fields is None:
        raise TableProblems(parsed.source, problems.found())
    folders = Folders(table_folder=path.parent, root=root, limits=limits, problems=problems)
    check_keys(fields, "table")
    fields.text("$schema", characters_max=limits.text_characters_max)  # for editors
    given = read_id(fields, "batch_id", limits)
    version, goal = _version(fields), _goal(fields, limits)
    labels, tags = read_labels(fields, limits), read_tags(fields, limits)
    retention = read_retention(fields, limits)
    concurrency, per_directory, per_repository = (
        fields.whole(name, at_least=1, at_most=limits.concurrency_max)
        for name in ("concurrency", "concurrency_per_directory", "concurrency_per_repository")
    )
    jobs = _jobs(fields, folders, within(outermost(defaults), fields, limits))
    problems.raise_if_any()
    table = Table(
        batch_id=BatchId("unnamed"),
        goal_summary=goal,
        jobs=tuple(job.build() for job in jobs),
        concurrency=defaults.concurrency if concurrency is None else concurrency,
        source=str(path),
        spec_version=version,
        labels=labels,
        tags=tags,
        retention=retention,
        concurrency_per_directory=per_directory,
        concurrency_per_repository=per_repository,
    )
    return replace(table, batch_id=batch_id_of(given, stem=batch_stem(path), table=table, new=new))


def read_labels(fields: Fields, limits: Limits) -> Mapping[str, str]:
    """Read `labels`: names with texts."""
    if isinstance(fields.value.get("labels"), list):
        fields.add("labels", "a list is no mapping of names to texts", "a list belongs to `tags`")
        return {}
    inner = fields.inner("labels")
    if inner is None:
        return {}
    if len(inner.value) > limits.labels_max:
        fields.add("labels", f"{len(inner.value)} labels, the limit is {limits.labels_max}")
    for name in inner.value:
        fact = text_fact(name, characters_max=limits.text_characters_max)
        if fact is not None:
            inner.add(name, f"its name can't be kept: {fact}")
    read = {name: inner.text(name, characters_max=limits.text_characters_max) for name in inner.value}
    return {name: "" if text is None else text for name, text in read.items()}


def read_tags(fields: Fields, limits: Limits) -> tuple[str, ...]:
    """Read `tags`: a list of texts."""
    return fields.texts("tags", items_max=limits.labels_max, characters_max=limits.text_characters_max) or ()


def _version(fields: Fields) -> str:
    value = fields.value.get("spec_version")
    if value is None:
        return SPEC_VERSION
    match = _VERSION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        fields.add("spec_version", f"{shown(value)} is no version", f'write "{SPEC_VERSION}"')
    elif match[1] != _MAJOR:
        fields.add("spec_version", f"{value} is not known; this Teamster reads {_MAJOR}.x.y", f'write "{SPEC_VERSION}"')
    return str(value)


def _goal(fields: Fields, limits: Limits) -> str:
    why = f"say what this batch is for, in more than {GOAL_WORDS_MIN - 1} words"
    if not fields.has("batch_goal_summary"):
        missing(fields, "batch_goal_summary", why)
        return ""
    goal = fields.text("batch_goal_summary", characters_max=limits.goal_characters_max)
    if goal is None:
        return ""
    words = len(goal.split())
    if words < GOAL_WORDS_MIN:
        count = f"it has {words} word{'s' if words != 1 else ''}, {GOAL_WORDS_MIN - words} too few"
        fields.add("batch_goal_summary", count, f"{why}: people decide by it which batch to look at")
    return goal


def _jobs(fields: Fields, folders: Folders, manner: Manner) -> list[JobDraft]:
    limits = folders.limits
    prompts = Prompts(folders=folders, limits=limits, scale=Scale(bytes_max=limits.steps_bytes_max))
    folders.set_working_root(fields)
    prompts.read_packs(fields)
    pack = prompts.choice(fields, "default_pack_id", None)
    items = _expanded(_some(fields, "jobs", items_max=limits.jobs_max, prefix="job"), folders)
    if len(items) > limits.jobs_max:
        fact = f"{len(items)} jobs in all, one for each row, the limit is {limits.jobs_max}"
        fields.add("jobs", fact, "split the batch into several tables")
        return []
    job_ids = assign_ids(items, "job_id", "job", limits)
    steps = [_some(job, "steps", items_max=limits.steps_per_job_max, prefix="step") for job in items]
    total = sum(len(of_job) for of_job in steps)
    if total > limits.steps_max:
        fact = f"{total} steps in all, the limit is {limits.steps_max}"
        fields.add("jobs", fact, "split the batch into several tables")
        return []
    step_ids = [assign_ids(of_job, "step_id", "step", limits) for of_job in steps]
    names: dict[str, frozenset[str]] = {}
    for job_id, ids in zip(job_ids, step_ids, strict=True):  # twins were noted; nobody shall hear of a missing step too
        names[job_id] = names.get(job_id, frozenset()) | frozenset(ids)
    desk = Desk(
        limits=limits,
        folders=folders,
        prompts=prompts,
        schemas=Schemas(folders=folders, limits=limits),
        directory=Directory(steps=names, limits=limits),
    )
    jobs = [
        _job(job, job_id, of_job, ids, desk=desk, manner=manner, pack=pack)
        for job, job_id, of_job, ids in zip(items, job_ids, steps, step_ids, strict=True)
    ]
    check_graph([[step.waiter for step in job.steps] for job in jobs])
    if not any(step.prompt.references for job in jobs for step in job.steps):
        return jobs
    waiting = with_references([job.steps for job in jobs], desk.directory)
    return [replace(job, steps=steps) for job, steps in zip(jobs, waiting, strict=True)]


def _expanded(items: Sequence[Fields], folders: Folders) -> list[Fields]:
    """Make a job of each row of a template. A template whose rows are wrong is left out: that was noted."""
    expanded: list[Fields] = []
    for job in items:
        if not job.has("for_each"):
            expanded.append(job)
            continue
        before = len(job.problems)
        rows = _rows(job, folders)
        if len(job.problems) > before:
            continue
        problems = [job.problems.of_row(row.number, len(rows)) for row in rows]
        expanded += [replace(job, row=row, problems=of_row) for row, of_row in zip(rows, problems, strict=True)]
    return expanded


def _rows(job: Fields, folders: Folders) -> list[Row]:
    limits, path, problems = folders.limits, job.at("for_each"), job.problems
    if not isinstance(job.value["for_each"], str):
        items = job.items("for_each", items_max=limits.jobs_max)
        return [] if items is None else rows_of_list(items, path, problems, limits)
    name = job.word("for_each", characters_max=limits.text_characters_max)
    text = folders.text(name, path, job_folder=None, bytes_max=limits.csv_bytes_max) if name else None
    return [] if text is None or name is None else rows_of_csv(text, name, path, problems, limits)


def _job(
    fields: Fields,
    job_id: str,
    steps: Sequence[Fields],
    step_ids: Sequence[str],
    *,
    desk: Desk,
    manner: Manner,
    pack: PackChoice | None,
) -> JobDraft:
    check_keys(fields, "job")
    around = Surroundings(
        job_id=job_id,
        folder=desk.folders.of_job(fields),
        manner=within(manner, fields, desk.limits),
        pack=desk.prompts.choice(fields, "pack_id", pack),
    )
    return JobDraft(
        job_id=job_id,
        folder=around.folder,
        labels=read_labels(fields, desk.limits),
        tags=read_tags(fields, desk.limits),
        retention=read_retention(fields, desk.limits),
        concurrency=fields.whole("concurrency", at_least=1, at_most=desk.limits.concurrency_max),
        steps=read_steps(steps, step_ids, around, desk),
    )


def _some(fields: Fields, name: str, *, items_max: int, prefix: str) -> list[Fields]:
    """Read a list of mappings that must not be empty."""
    if not fields.has(name):
        missing(fields, name, f"write a list with one {prefix} at least")
    elif fields.value[name] == []:
        fields.add(name, "it is empty", f"write one {prefix} at least")
    return list(fields.objects(name, items_max=items_max))
