"""What a single document must say, judged from its value and from the place where it lies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final, NoReturn

from teamster.artifacts.faults import meta_faults, state_faults
from teamster.artifacts.findings import Rule
from teamster.artifacts.layout import AttemptFile
from teamster.artifacts.standing import WHOLE_BYTES_MAX
from teamster.model import (
    REPORT_FIELDS_MIN,
    REPORT_STATUSES,
    JsonObject,
    StepKey,
    exit_record_from_json,
)

Fault = tuple[Rule, str]
Judge = Callable[[JsonObject, StepKey, str], Iterable[Fault]]


def parse(content: bytes | None) -> JsonObject:
    """Read a JSON object.

    Raises:
        ValueError: it is none, or too large to be one of ours (None).
    """
    if content is None:
        raise ValueError(f"it has more than {WHOLE_BYTES_MAX} bytes")
    try:
        value = json.loads(content, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - the text is wrong, not our call
    return value


def line_fault(lines: Iterable[bytes]) -> str | None:
    """Say what keeps lines from being JSON Lines; each ends with a newline."""
    for number, line in enumerate(lines, 1):
        try:
            parse(line)
        except ValueError as error:
            return f"line {number} is no JSON object: {error}"
        if not line.endswith(b"\n"):
            return f"line {number} has no end"
    return None


def is_relative(path: Any) -> bool:
    """Tell whether a kept path is relative to the root and stays beneath it."""
    return isinstance(path, str) and path != "" and not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _meta(value: JsonObject, step: StepKey, run_id: str) -> Iterator[Fault]:
    yield from ((Rule.DOCUMENT, fault) for fault in meta_faults(value))
    for name, expected in (
        ("batch_id", step.batch_id),
        ("job_id", step.job_id),
        ("step_id", step.step_id),
        ("run_id", run_id),
    ):
        if name in value and value[name] != expected:
            yield Rule.IDENTITY, f"{name} is {value[name]}, and it lies under {expected}"
    source = value.get("resume_from")
    if isinstance(source, Mapping) and "resume_base_dir" in source and not is_relative(source["resume_base_dir"]):
        yield Rule.PATH, f"resume_base_dir {source['resume_base_dir']!r} is not relative to the root"


def _state(value: JsonObject, _step: StepKey, _run_id: str) -> Iterator[Fault]:
    yield from ((Rule.DOCUMENT, fault) for fault in state_faults(value))


def _final(value: JsonObject, _step: StepKey, _run_id: str) -> Iterator[Fault]:
    yield from ((Rule.DOCUMENT, f"lacks {name}") for name in REPORT_FIELDS_MIN if name not in value)
    if "status" in value and value["status"] not in REPORT_STATUSES:
        yield Rule.DOCUMENT, f"status {value['status']!r} is none of {', '.join(REPORT_STATUSES)}"


def _exit(value: JsonObject, step: StepKey, run_id: str) -> Iterator[Fault]:
    try:
        exit_record_from_json(value)
    except ValueError as error:
        yield Rule.DOCUMENT, str(error)
    yield from _own_run(value, step, run_id)


def _own_run(value: JsonObject, _step: StepKey, run_id: str) -> Iterator[Fault]:
    if value.get("run_id") != run_id:
        yield Rule.IDENTITY, f"run_id is {value.get('run_id')}, and it lies under {run_id}"


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


JUDGES: Final[Mapping[AttemptFile, Judge]] = MappingProxyType(
    {
        AttemptFile.META: _meta,
        AttemptFile.STATE: _state,
        AttemptFile.FINAL: _final,
        AttemptFile.FILES_TOUCHED: _own_run,
        AttemptFile.EXIT: _exit,
        AttemptFile.MANIFEST: _own_run,
    }
)
