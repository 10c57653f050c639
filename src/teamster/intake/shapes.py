"""Every field of a launch table, level by level, with the shape that its value must have: one table.

The reader's lists of keys, the published JSON Schema and the tests of bad input are made from it; the descriptions are
those of `docs/launch-table.md`. What no shape can say (who waits for whom, which files are there) the reader says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from teamster.intake.limits import LIMITS
from teamster.model import (
    AGENT_NAMES,
    APPROVAL_POLICIES,
    ARTIFACT_KINDS,
    GOAL_WORDS_MIN,
    RETRIED_STATUSES,
    SANDBOXES,
    JsonObject,
)

Shapes = Mapping[str, JsonObject]

# The published schema, shipped with the package so that editors find it wherever Teamster is installed.
SCHEMA_FILE: Final = Path(__file__).with_name("launch_table.schema.json")

ID: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
TEMPLATED: Final = r".*\{.+\}.*"  # with a placeholder, which a row of `for_each` fills in


def _text(description: str, *, characters_max: int = LIMITS.text_characters_max) -> JsonObject:
    return {"type": "string", "maxLength": characters_max, "description": description}


def _word(description: str, *, characters_max: int = LIMITS.text_characters_max) -> JsonObject:
    return {**_text(description, characters_max=characters_max), "pattern": r"\S"}


def _id(description: str) -> JsonObject:
    return {"type": "string", "pattern": f"{ID}|{TEMPLATED}", "description": description}


def _choice(description: str, options: Iterable[str], default: str | None = None) -> JsonObject:
    shape: JsonObject = {"enum": list(options), "description": description}
    return shape if default is None else {**shape, "default": default}


def _flag(description: str, *, default: bool) -> JsonObject:
    return {"type": "boolean", "default": default, "description": description}


def _whole(description: str, at_least: int, at_most: int, default: int | None = None) -> JsonObject:
    shape: JsonObject = {"type": "integer", "minimum": at_least, "maximum": at_most, "description": description}
    return shape if default is None else {**shape, "default": default}


def _seconds(description: str, at_least: int, default: int) -> JsonObject:
    return {
        "type": "number",
        "minimum": at_least,
        "maximum": LIMITS.seconds_max,
        "default": default,
        "description": description,
    }


def _texts(description: str, items_max: int, *, characters_max: int = LIMITS.text_characters_max) -> JsonObject:
    items = {"type": "string", "maxLength": characters_max}
    return {"type": "array", "items": items, "maxItems": items_max, "description": description}


def _level(name: str, description: str) -> JsonObject:
    return {"allOf": [{"$ref": f"#/definitions/{name}"}], "description": description}


def _either(description: str, *shapes: JsonObject) -> JsonObject:
    return {"anyOf": list(shapes), "description": description}


def _levels(name: str, description: str, items_max: int) -> JsonObject:
    items = {"$ref": f"#/definitions/{name}"}
    return {"type": "array", "items": items, "minItems": 1, "maxItems": items_max, "description": description}


_TEXT: Final = {"type": "string", "maxLength": LIMITS.text_characters_max}
_DAYS: Final = (0, LIMITS.days_max)
_LABELED: Final[Shapes] = {
    "labels": {
        "type": "object",
        "additionalProperties": _TEXT,
        "maxProperties": LIMITS.labels_max,
        "description": "kept and shown with it",
    },
    "tags": _texts("kept and shown with it", LIMITS.labels_max),
}
# These may stand on the table, a job or a step; the innermost wins.
INHERITED: Final[Shapes] = {
    "agent": {  # editors offer the names that they see; agents that are plugged in have others
        **_either("who does the step; see Agents", {"enum": list(AGENT_NAMES)}, {"type": "string", "pattern": ID}),
        "default": "codex",
    },
    "command": {
        **_texts(
            "a program and its arguments; it implies `agent: command`",
            LIMITS.arguments_max,
            characters_max=LIMITS.argument_characters_max,
        ),
        "minItems": 1,
    },
    "execution_policy": _level("execution_policy", "what an agent may do, and what is kept"),
    "timeouts": _level("timeouts", "the same as `timeout_seconds`"),
    "timeout_seconds": _seconds("when an attempt is ended", 1, 3600),
    "retries": _level("retry_policy", "the same as `retry_policy`"),
    "retry_policy": _level("retry_policy", "how often a step is tried"),
    "workspace_policy": _level("workspace_policy", "whether a job has its directory for itself"),
    "output_schema": {"type": "object", "description": "a JSON Schema for the report, written out"},
    "output_schema_ref": _word("the same in a JSON file"),
    "runner_affinity": _either(
        "where a step should run; see Affinity", _TEXT, {"$ref": "#/definitions/runner_affinity"}
    ),
}
SHAPES: Final[Mapping[str, Shapes]] = {
    "table": {
        "$schema": _text("where an editor finds the schema of this page; it changes nothing"),
        "spec_version": {
            "type": "string",
            "pattern": "^1[.](0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})$",
            "default": "1.0.0",
            "description": "the version of these rules: `1.x.y`",
        },
        "batch_id": {"type": "string", "pattern": ID, "description": "what the batch is called; see Ids"},
        "batch_goal_summary": {
            "type": "string",
            "pattern": rf"^\s*(\S+\s+){{{GOAL_WORDS_MIN - 1}}}\S",
            "maxLength": LIMITS.goal_characters_max,
            "description": "what the batch is for, in more than 150 words; words are what stands between blanks",
        },
        **_LABELED,
        "concurrency": _whole("how many steps of this batch may run at once", 1, LIMITS.concurrency_max, 8),
        "concurrency_per_directory": _whole("how many of them in one working directory", 1, LIMITS.concurrency_max),
        "concurrency_per_repository": _whole("how many of them in one git repository", 1, LIMITS.concurrency_max),
        "retention_policy": _level("retention_policy", "how long what is kept; see Retention"),
        "working_root": _word("absolute, or relative to the table's folder"),
        "packs": {
            "type": "object",
            "maxProperties": LIMITS.packs_max,
            "additionalProperties": {"anyOf": [{"type": "string", "pattern": r"\S"}, {"$ref": "#/definitions/pack"}]},
            "description": "shared instructions; see Prompts",
        },
        "default_pack_id": _text("the pack of every step that names none"),
        "jobs": _levels("job", "one at least", LIMITS.jobs_max),
        **INHERITED,
    },
    "job": {
        "job_id": _id("unique in its batch"),
        "for_each": _either(
            "makes a job of each row: a list, or the name of a CSV file; see Templates",
            {"type": "array", "minItems": 1, "maxItems": LIMITS.jobs_max},
            {"type": "string", "pattern": r"\S"},
        ),
        **_LABELED,
        "concurrency": _whole("how many steps of this job may run at once", 1, LIMITS.concurrency_max),
        "retention_policy": _level("retention_policy", "the same for this job alone"),
        "working_directory": _word(
            "absolute, or relative to `working_root`; it must exist, and not lie where Teamster keeps its records"
        ),
        "pack_id": _text("`none` takes the table's pack away"),
        "steps": _levels("step", "one at least; without dependencies they run side by side", LIMITS.steps_per_job_max),
        **INHERITED,
    },
    "step": {
        "step_id": _id("unique in its job"),
        "prompt": _word(
            "what the agent is told; a `command` agent may have none", characters_max=LIMITS.prompt_bytes_max
        ),
        "prompt_ref": _word("the prompt in a file, in place of `prompt`"),
        "append_prompt": _word(
            "stands after the prompt; alone it is enough for a step with `resume_from`",
            characters_max=LIMITS.prompt_bytes_max,
        ),
        "pack_id": _text("`none` takes the job's pack away"),
        "depends_on": _either(
            "steps that must have succeeded first, of this job or another; see Order",
            _TEXT,
            {"type": "array", "items": _TEXT, "maxItems": LIMITS.depends_on_max},
        ),
        "resume_from": _either(
            "the step whose conversation goes on; see Resuming",
            {**_TEXT, "pattern": r"\S"},
            {"$ref": "#/definitions/resume_from"},
        ),
        "artifacts_expected": {
            "type": "array",
            "items": {"anyOf": [{**_TEXT, "pattern": r"\S"}, {"$ref": "#/definitions/artifact"}]},
            "maxItems": LIMITS.artifacts_expected_max,
            "description": "what must be there when the step has succeeded; see Expected artifacts",
        },
        **INHERITED,
    },
    "pack": {
        "description": _text("for people; no agent sees it"),
        "text": _word("the instructions", characters_max=LIMITS.prompt_bytes_max),
        "text_ref": _word("the instructions in a file, in place of `text`"),
    },
    "resume_from": {
        "step_id": _text("a step of the same job"),
        "selector": _choice(
            "which of its attempts; `latest` may be a failed one", ("latest_successful", "latest"), "latest_successful"
        ),
        "run_id": {"not": {}, "description": "for `teamster resume`; not yet in a table"},
        "codex_thread_id": {
            "type": "string",
            "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
            "description": "which conversation, where a session holds several",
        },
    },
    "artifact": {
        "path": _word("a file or folder below the job's directory"),
        "name": _word("the same as `path`"),
        "kind": _choice(
            "`directory` must be a folder, the others a file, `other` may be either", ARTIFACT_KINDS, "file"
        ),
        "type": _choice("the same as `kind`", ARTIFACT_KINDS),
    },
    "runner_affinity": {
        "step_id": _text("an earlier step of the same job: its runner"),
        "runner_id": _id("a runner by its id"),
    },
    "retention_policy": {
        "raw_logs_days": _whole("event lines and what was complained", *_DAYS),
        "diffs_days": _whole("the state of the repository", *_DAYS),
        "outputs_days": _whole("reports, states and texts: at least as long as the others", *_DAYS),
        "compress_raw_logs": {"type": "boolean", "description": "pack event lines once their batch is closed"},
    },
    "execution_policy": {
        "sandbox": _choice("what the agent's tools may touch", SANDBOXES, "workspace-write"),
        "approval_policy": _choice("nobody is there to be asked", APPROVAL_POLICIES, "never"),
        "web_search_enabled": _flag("whether the agent may search the web", default=False),
        "model": _word("which model"),
        "model_reasoning_effort": _word("how long it thinks"),
        "skip_git_repo_check": _flag("let Codex work outside a git repository", default=False),
        "add_dirs": _texts("more folders that it may write; relative to the job's directory", LIMITS.folders_max),
        "capture_events_jsonl": _flag("keep the agent's event lines with the attempt", default=True),
        "capture_codex_thread_id": _flag("accepted, and without effect: the id is always captured", default=True),
    },
    "timeouts": {"step_timeout_seconds": _seconds("when an attempt is ended", 1, 3600)},
    "retry_policy": {
        "max_attempts": _whole("how many attempts are made at most", 1, LIMITS.attempts_max, 1),
        "backoff_seconds": _seconds("the longest wait before the second attempt; it doubles with each", 0, 5),
        "backoff_seconds_max": _seconds("where the doubling ends", 0, 300),
        "retry_on_statuses": {
            "type": "array",
            "items": {"enum": list(RETRIED_STATUSES)},
            "default": ["failed"],
            "description": "after which ends another attempt follows; doubts about the evidence are never tried again",
        },
        "mode": _choice("each attempt begins a conversation of its own", ("fresh",), "fresh"),
    },
    "workspace_policy": {
        "mode": _choice("the job works in its directory as it is, beside whoever else does", ("shared",), "shared"),
    },
}
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("batch_goal_summary", "jobs"),
    "job": ("steps",),
    "resume_from": ("step_id",),
}


def launch_table_schema() -> dict[str, Any]:
    """Write the table of fields as a JSON Schema, of the draft that editors know best."""
    definitions = {level: _object(level) for level in SHAPES}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Launch table of Teamster",
        **definitions.pop("table"),
        "definitions": definitions,
    }


def _object(level: str) -> JsonObject:
    required = {"required": list(REQUIRED[level])} if level in REQUIRED else {}
    return {
        "type": "object",
        "properties": dict(SHAPES[level]),
        **required,
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
    }
