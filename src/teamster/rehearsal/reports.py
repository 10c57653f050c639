"""The report at the end of a turn: filled to the form that the request carries, and checked against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from teamster.model import RUN_REPORT_SCHEMA
from teamster.rehearsal.conversation import Conversation
from teamster.rehearsal.filling import Unfillable, fill
from teamster.rehearsal.talk import Talk

SCHEMAS_KEPT_MAX: Final = 64


class Unplayable(Exception):
    """The script can't be played in this conversation: no shell is offered, or its report fits no schema."""


def report_of(fields: Mapping[str, Any], talk: Talk, conversation: Conversation) -> Any:
    """Return a report that holds the given fields.

    Raises:
        Unplayable: none fits the schema.
    """
    schema = RUN_REPORT_SCHEMA if talk.schema is None else talk.schema
    try:
        report = fill(schema, fields, summary=f"Rehearsal of {conversation}.")
    except Unfillable as error:
        raise Unplayable(f"no report can be made for {conversation}: {error}") from error
    _check(report, schema, conversation)
    return report


def _check(report: Any, schema: Any, conversation: Conversation) -> None:
    from jsonschema import SchemaError  # noqa: PLC0415 - 0.1 s that only a program that answers should pay

    try:
        validator = _validator(json.dumps(schema))
    except SchemaError as error:
        raise Unplayable(f"the output schema of {conversation} is no JSON schema: {error.message}") from error
    misfit = next(validator.iter_errors(report), None)
    if misfit is not None:
        place = ".".join(str(part) for part in misfit.absolute_path) or "the report"
        raise Unplayable(
            f"the report of {conversation} does not fit the output schema: {place}: {misfit.message}; "
            "`invalid_report` sends it on purpose"
        )


@lru_cache(maxsize=SCHEMAS_KEPT_MAX)
def _validator(schema: str) -> Any:
    """Check a schema and return what checks reports against it: kept, since the steps of a table share a few."""
    from jsonschema.validators import validator_for  # noqa: PLC0415 - as above

    known = json.loads(schema)
    kind = validator_for(known)
    kind.check_schema(known)
    return kind(known)
