"""The Run Report: what every agent answers with at the end of a step, as a schema that ships."""

from __future__ import annotations

from typing import Any, Final

REPORT_STATUSES: Final = ("ok", "failed", "needs_attention")
REPORT_FIELDS_MIN: Final = ("status", "summary", "files_read", "files_written", "artifacts")
ARTIFACT_KINDS: Final = ("file", "directory", "report", "patch", "log", "other")

_PATHS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}
_ARTIFACT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where it lies, relative to the repository."},
        "kind": {"type": "string", "enum": list(ARTIFACT_KINDS)},
        "description": {"type": "string"},
    },
    "required": ["path", "kind", "description"],
    "additionalProperties": False,
}
# All required and nothing additional: the structured output of models accepts no other shape.
RUN_REPORT_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Run Report",
    "type": "object",
    "properties": {
        "schema_version": {
            "type": "string",
            "pattern": r"^1\.[0-9]+\.[0-9]+$",
            "description": "The version of this form: 1.0.0.",
        },
        "status": {
            "type": "string",
            "enum": list(REPORT_STATUSES),
            "description": "ok: done as asked. failed: it can't be done. needs_attention: a person must look.",
        },
        "summary": {"type": "string", "description": "What was done and found, in a few sentences."},
        "files_read": {**_PATHS, "description": "Files inspected on purpose, relative to the repository."},
        "files_written": {**_PATHS, "description": "Files changed or made, relative to the repository."},
        "artifacts": {"type": "array", "items": _ARTIFACT, "description": "What else the step leaves behind."},
    },
    "required": ["schema_version", "status", "summary", "files_read", "files_written", "artifacts"],
    "additionalProperties": False,
}
