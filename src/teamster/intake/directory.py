"""Which jobs and steps a table has, and what a reference to them means: `step`, `job.step`, `job-*.step`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice

from teamster.intake.fields import nearest
from teamster.intake.keys import NAMES_SHOWN_MAX
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath, Problems

Name = tuple[str, str]  # of a step: its job's id and its own
ANY = "*"
COMPARED_MAX = 1000  # names that a wrong one is compared with


@dataclass(slots=True, kw_only=True)
class Directory:
    """All steps by the ids of their jobs. It counts the dependencies that it finds, since a `*` may stand for many."""

    steps: Mapping[str, frozenset[str]]
    limits: Limits
    _found: int = 0
    _matches: dict[Name, tuple[Name, ...]] = field(default_factory=dict)

    def find(self, text: str, path: FieldPath, problems: Problems, *, own: Name) -> tuple[Name, ...]:
        """Return the steps that the step `own` means by a text; none where that was noted as wrong."""
        job_id, dot, step_id = text.partition(".")
        if not dot:
            job_id, step_id = own[0], text
        if ANY in job_id:
            found = tuple(name for name in self._matching(job_id, step_id) if name[0] != own[0])
        else:
            found = ((job_id, step_id),) if step_id in self.steps.get(job_id, ()) else ()
        if not found:
            self._note(text, path, problems, job_id=job_id, step_id=step_id, own=own)
        return found if self._has_room(len(found), path, problems) else ()

    def _matching(self, pattern: str, step_id: str) -> tuple[Name, ...]:
        key = (pattern, step_id)
        if key not in self._matches:
            self._matches[key] = tuple(
                (job_id, step_id)
                for job_id, steps in self.steps.items()
                if step_id in steps and fnmatchcase(job_id, pattern.replace("[", "[[]"))
            )
        return self._matches[key]

    def _has_room(self, count: int, path: FieldPath, problems: Problems) -> bool:
        had_room = self._found <= self.limits.dependencies_max
        self._found += count
        if self._found <= self.limits.dependencies_max:
            return True
        if had_room:
            fact = f"from here on the steps have more than {self.limits.dependencies_max} dependencies together"
            problems.add(path, fact, "let a step in between wait for many, and the others for that one")
        return False

    def _note(self, text: str, path: FieldPath, problems: Problems, *, job_id: str, step_id: str, own: Name) -> None:
        if ANY in job_id:
            problems.add(path, f"no other job {job_id!r} has a step {step_id!r}", "`*` stands for a part of a job's id")
        elif job_id not in self.steps:
            problems.add(path, f"there is no job {job_id!r}", partial(self._near_job, job_id))
        else:
            problems.add(path, f"there is no step {text!r}", partial(self._near_step, job_id, step_id, own))

    def _near_job(self, job_id: str) -> str:
        known = list(islice(self.steps, COMPARED_MAX))
        return nearest(job_id, known, otherwise=f"known are {', '.join(sorted(known)[:NAMES_SHOWN_MAX])}")

    def _near_step(self, job_id: str, step_id: str, own: Name) -> str:
        known = sorted(self.steps[job_id] - ({own[1]} if job_id == own[0] else set()))
        prefix = "" if job_id == own[0] else f"{job_id}."
        if not known:
            return "the job has no other step"
        names = [f"{prefix}{name}" for name in known]
        return nearest(f"{prefix}{step_id}", names, otherwise=f"known are {', '.join(names[:NAMES_SHOWN_MAX])}")
