"""Reads what a table asks for beyond the work: expected artifacts, how long to keep what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from teamster.intake.fields import Fields
from teamster.intake.keys import check_keys, missing, only_one
from teamster.intake.limits import Limits
from teamster.intake.parsed import FieldPath
from teamster.model import ARTIFACT_KINDS, RETENTION_DAYS, ExpectedArtifact, RetentionPolicy


def read_artifacts(fields: Fields, limits: Limits) -> tuple[ExpectedArtifact, ...]:
    """Read `artifacts_expected`: paths, or mappings with `path` and `kind`."""
    found = []
    for index, item in enumerate(fields.items("artifacts_expected", items_max=limits.artifacts_expected_max) or ()):
        path = (*fields.at("artifacts_expected"), index)
        if isinstance(item, str):
            alone = replace(fields, value={"path": item}, path=path)
            found.append(_artifact(alone, limits, at=path))
        elif (inner := fields.mapping(item, path)) is not None:
            check_keys(inner, "artifact")
            found.append(_artifact(inner, limits, at=None))
    return tuple(dict.fromkeys(artifact for artifact in found if artifact is not None))


def read_retention(fields: Fields, limits: Limits) -> RetentionPolicy:
    """Read `retention_policy`."""
    inner = fields.inner("retention_policy")
    if inner is None:
        return RetentionPolicy()
    check_keys(inner, "retention_policy")
    days = {name: inner.whole(name, at_least=0, at_most=limits.days_max) for name in RETENTION_DAYS}
    longest = days.pop("outputs_days")
    for name, value in days.items():
        if longest is not None and value is not None and value > longest:
            fact = f"{longest} days are less than {name} has, {value}"
            inner.add("outputs_days", fact, "reports and states are kept at least as long as logs and diffs")
            longest = None
    kept = RetentionPolicy(**days, compress_raw_logs=inner.flag("compress_raw_logs"))
    return kept if longest is None else replace(kept, outputs_days=longest)


def _artifact(fields: Fields, limits: Limits, *, at: FieldPath | None) -> ExpectedArtifact | None:
    """Read one; `at` is where its path stands if not in a field of its own."""
    if only_one(fields, ("path", "name")) or only_one(fields, ("kind", "type")):
        return None
    name = "name" if fields.has("name") else "path"
    if not fields.has(name):
        missing(fields, "path", "name a file below the job's directory")
        return None
    text = fields.word(name, characters_max=limits.text_characters_max)
    said = fields.choice("type" if fields.has("type") else "kind", ARTIFACT_KINDS)
    if text is None:
        return None
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        fact = f"{text!r:.80} is no path below the job's directory"
        fields.problems.add(at or fields.at(name), fact, "write it relative to `working_directory`, without `..`")
        return None
    return ExpectedArtifact(path=str(path), kind=said or ("directory" if text.endswith("/") else "file"))
