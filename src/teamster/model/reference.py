"""What a prompt may say of an earlier step: `{steps.find.final.summary}` is filled in when its own step starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from teamster.model.dependency import Dependency
from teamster.model.ids import JobId, StepId, is_id
from teamster.model.record import JsonObject

Left = Literal["final", "final_path", "handoff_path", "run_id"]

REFERENCE_RULE: Final = (
    "write {steps.STEP.final.KEY}, {steps.STEP.final_path}, {steps.STEP.handoff_path} or {steps.STEP.run_id}; "
    "{jobs.JOB.steps.STEP. ...} for a step of another job"
)
# Behind a dollar sign it is a template of some program. In double braces it is a text about references.
# Within a template a part of it may be a placeholder of its own.
_NAMED: Final = r"((?:steps|jobs)\.(?:[\w.-]|\{[^{}\n]+\})+)"
_REFERENCE: Final = re.compile(rf"\{{\{{{_NAMED}\}}\}}|(?<!\$)\{{{_NAMED}\}}")
_PARTS: Final = re.compile(r"(?:jobs\.(?P<job>[^.]+)\.)?steps\.(?P<step>[^.]+)\.(?P<left>[^.]+)(?:\.(?P<keys>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What of which step: a value of its report by its keys, the path of a file, or its run id. `at` is its place."""

    at: int
    text: str
    step_id: StepId
    job_id: JobId | None
    left: Left
    keys: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str, *, at: int) -> Reference:
        """Read what stands between the braces.

        Raises:
            ValueError: it is no reference.
        """
        match = _PARTS.fullmatch(text)
        if match is None or not is_id(match["step"]) or not is_id(match["job"] or match["step"]):
            raise ValueError(f"{{{text}}} is no reference")
        keys = tuple(match["keys"].split(".")) if match["keys"] else ()
        job_id = JobId(match["job"]) if match["job"] else None
        match match["left"]:
            case "final" if keys and all(keys):
                left: Left = "final"
            case "final_path" | "handoff_path" | "run_id" as left if not keys:
                pass
            case _:
                raise ValueError(f"{{{text}}} is no reference")
        return cls(at=at, text=text, step_id=StepId(match["step"]), job_id=job_id, left=left, keys=keys)

    @property
    def written(self) -> str:
        """How it stands in the prompt."""
        return f"{{{self.text}}}"

    @property
    def dependency(self) -> Dependency:
        """The step that must have ended."""
        return Dependency(step_id=self.step_id, job_id=self.job_id)

    def to_json(self) -> JsonObject:
        """Write it with its place: text of others that looks like one is none."""
        return {"at": self.at, "reference": self.text, "step": str(self.dependency)}

    @classmethod
    def from_json(cls, value: JsonObject) -> Reference:
        """Read what `to_json` wrote."""
        job_id, dot, _ = value["step"].rpartition(".")
        return replace(cls.read(value["reference"], at=value["at"]), job_id=JobId(job_id) if dot else None)


def references_in(template: str) -> tuple[list[str], list[str]]:
    """Split a text at its references: the texts around them, one more than there are references, and those.

    What stands in double braces is written in single ones.
    """
    texts, found, position = [""], [], 0
    for match in _REFERENCE.finditer(template):
        texts[-1] += template[position : match.start()]
        if match[1] is not None:
            texts[-1] += f"{{{match[1]}}}"
        else:
            found.append(match[2])
            texts.append("")
        position = match.end()
    texts[-1] += template[position:]
    return texts, found
