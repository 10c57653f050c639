"""Report schemas: taken only if they are JSON Schema, ask for a Run Report's fields, and are what a model accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from teamster.intake.folders import Folders
from teamster.intake.json import parse_json
from teamster.intake.limits import Limits
from teamster.intake.manner import SchemaSource
from teamster.intake.parsed import WHOLE, FieldPath, written
from teamster.kit import canonical, sha256
from teamster.model import AgentName, JsonObject, TableProblems
from teamster.policy import schema_problems

_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
STRICT_HINT = "the structured output of models takes only objects that require all that they have, and allow no more"


@dataclass(slots=True, kw_only=True)
class Schemas:
    """Checks schemas, each content once for each agent."""

    folders: Folders
    limits: Limits
    _taken: dict[tuple[FieldPath, Path | None, AgentName], tuple[JsonObject | None, int]] = field(default_factory=dict)
    _checked: dict[tuple[str, AgentName], tuple[str, ...]] = field(default_factory=dict)
    _parsed: dict[str, JsonObject | None] = field(default_factory=dict)

    def of_step(
        self, source: SchemaSource | None, agent: AgentName, *, job_folder: Path | None
    ) -> tuple[JsonObject | None, int]:
        """Return the schema of a step and its bytes; None where none is said, or where it was noted as wrong."""
        if source is None:
            return None, 0
        key = (source.path, job_folder if isinstance(source.value, str) else None, agent)
        if key not in self._taken:
            self._taken[key] = self._take(source, agent, job_folder)
        return self._taken[key]

    def _take(self, source: SchemaSource, agent: AgentName, job_folder: Path | None) -> tuple[JsonObject | None, int]:
        schema = self._from_file(source, job_folder) if isinstance(source.value, str) else source.value
        if schema is None:
            return None, 0
        content = canonical(schema)
        if len(content) > self.limits.schema_bytes_max:
            fact = f"it has {len(content)} bytes, the limit is {self.limits.schema_bytes_max}"
            self.folders.problems.add(source.path, fact, "say less in it")
            return None, 0
        if b"\xed" in content and not _is_utf8(content):
            self.folders.problems.add(source.path, "it holds half of a surrogate pair, which no file can keep")
            return None, 0
        for fact in self._facts(schema, sha256(content), agent):
            self.folders.problems.add(source.path, fact, STRICT_HINT if fact.startswith("at ") else "")
        return dict(schema), len(content)

    def _from_file(self, source: SchemaSource, job_folder: Path | None) -> JsonObject | None:
        text = self.folders.text(
            source.value, source.path, job_folder=job_folder, bytes_max=self.limits.schema_bytes_max
        )
        if text is None:
            return None
        key = sha256(text.encode())
        if key in self._parsed:
            return self._parsed[key]
        self._parsed[key] = None
        try:
            parsed = parse_json(text, source=source.value, limits=self.limits)
            noted, value = parsed.noted, parsed.value
        except TableProblems as error:
            noted, value = error.problems, None
        for problem in noted:
            place = problem.place if problem.field == WHOLE else f"{problem.place}: {problem.field}"
            self.folders.problems.add(source.path, f"{place}: {problem.fact}", problem.hint)
        if noted:
            return None
        if not isinstance(value, dict):
            self.folders.problems.add(source.path, f"{source.value} holds no schema", "a schema is a JSON object")
            return None
        self._parsed[key] = value
        return value

    def _facts(self, schema: JsonObject, key: str, agent: AgentName) -> tuple[str, ...]:
        if (key, agent) not in self._checked:
            facts = schema_problems(schema)
            if not facts:
                facts = (*_dangling(schema), *(_too_loose(schema) if agent == "codex" else ()))
            self._checked[key, agent] = facts
        return self._checked[key, agent]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _dangling(schema: JsonObject) -> Iterator[str]:
    """Yield the references that nothing within the schema answers; nobody goes elsewhere for them."""
    for path, part in _parts(schema):
        ref = part.get("$ref")
        if isinstance(ref, str) and not _resolves(schema, ref):
            yield f"{written(path)}: `$ref` {ref!r:.60} points at nothing within the schema"


def _too_loose(schema: JsonObject) -> Iterator[str]:
    """Yield the objects that a model's strict output would refuse."""
    if schema.get("type") != "object":
        yield "at the top: its `type` must be `object`"
    for path, part in _parts(schema):
        if part.get("type") != "object" and "properties" not in part:
            continue
        place = "at the top" if not path else f"at {written(path)}"
        if part.get("additionalProperties") is not False:
            yield f"{place}: `additionalProperties` must be false"
        optional = [name for name in part.get("properties", ()) if name not in part.get("required", ())]
        if optional:
            yield f"{place}: `required` lacks {', '.join(optional)}"


def _parts(schema: JsonObject) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Walk a schema and the schemas within it, the outermost first. Its depth was bounded when it was parsed."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        yield path, part
        inner: list[tuple[tuple[str | int, ...], Any]] = [((*path, name), part.get(name)) for name in _ONE]
        for name in _NAMED:
            named = part.get(name)
            if isinstance(named, dict):
                inner.extend(((*path, name, key), value) for key, value in named.items())
        for name in _LISTED:
            listed = part.get(name)
            if isinstance(listed, list):
                inner.extend(((*path, name, index), value) for index, value in enumerate(listed))
        waiting.extend(reversed(inner))


def _resolves(schema: JsonObject, ref: str) -> bool:
    if not ref.startswith("#"):
        return False
    value: Any = schema
    for step in ref.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True
