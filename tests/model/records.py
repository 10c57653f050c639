"""Records of contract v1 as Hypothesis makes them: whole ones, and ones with anything in them."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from hypothesis import HealthCheck
from hypothesis import strategies as st

from teamster.kit import INTEGER_MAX, iso
from teamster.model import COMMANDS, MOVES, STATUS_FIELDS, EventType, ItemStatus

# Generating is slow where many tests share two processors; that says nothing about the code.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
_VISIBLE = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
ids = st.text("aZ09_-", max_size=5).map("a{}".format)
names = st.sampled_from(["a", "worker-1", "x y", "é", "\U0001f600"]) | st.text(_VISIBLE, min_size=1, max_size=5)
counts = st.integers(0, 9) | st.just(INTEGER_MAX)
moments = st.datetimes(timezones=st.just(UTC)).map(iso)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=5,
)
objects = st.dictionaries(names, anything, max_size=3)


def extended(strategy: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Add members that are nobody's yet."""
    unknown = st.dictionaries(st.sampled_from(["x-a", "later on", "é"]), anything, max_size=1)
    return st.builds(lambda known, more: {**known, **more}, strategy, unknown)


def made(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Make an object with required and optional members, and unknown ones."""
    return extended(st.fixed_dictionaries(required, optional=optional))


_plans = st.sampled_from(list(COMMANDS)).flatmap(
    lambda command: made(
        {"workflow_command": st.just(command), "plan_id": ids, "plan_iteration": counts},
        repo_id=names,
        epic_id=ids,
        role=names,
        runtime=names,
    )
)
_steps = made({"batch_id": ids, "job_id": ids, "step_id": ids})
_prompts = made({"inbox_path": names})
targets = _plans | _steps | _prompts
owners = made({"worker_id": names, "runtime": names}, host=names, pid=counts.filter(bool))
leases = made({"expires_at": moments}, renewed_at=moments)
errors = made({"message": st.text(st.characters(codec="utf-8"), max_size=8)}, code=names, stack=names, details=objects)
_steps_of_events = [(move.event, source, to) for move in MOVES.values() for source, to in move.steps()]
events = st.sampled_from(_steps_of_events).flatmap(
    lambda step: made(
        {
            "event_id": names,
            "type": st.just(step[0].value),
            "from_status": st.just(None if step[1] is None else step[1].value),
            "to_status": st.just(step[2].value),
            "at": moments,
            "actor": names,
        },
        request_id=names,
        data=objects.filter(bool),
    )
)
_PARTS: dict[str, st.SearchStrategy[Any]] = {"owner": owners, "lease": leases, "result": objects, "error": errors}
records = st.sampled_from(list(ItemStatus)).flatmap(
    lambda status: made(
        {
            "contract_version": st.just(1),
            "job_id": ids,
            "dedupe_key": names,
            "target": targets,
            "status": st.just(status.value),
            "attempt": counts,
            "rev": counts,
            "events": st.lists(events, max_size=3),
            **{name: _PARTS[name] for name in STATUS_FIELDS[status]},
        }
    )
)
_WORDS = [*ItemStatus, *EventType, *COMMANDS, "", "a", "A.b", "x" * 65, "a\n", "2026-01-14T17:30:00Z\n", "\x7f", "é"]
_MOMENTS = [
    *("2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-14T24:00:00Z", "2026-01-14"),
    *("2026-01-14T17:30:00+00:00", "2026-01-14T17:30:00+01:00", "2026-01-14T17:30:00.1234567Z"),
]
_junk = anything | st.sampled_from([*_WORDS, *_MOMENTS]) | st.sampled_from([1, 0, -1, 1.0, 2**53 - 1, True, {}, []])


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Return a record in which up to three members, at any depth, are something else, or gone."""
    record = draw(records)
    for _ in range(draw(st.integers(0, 3))):
        place: Any = record
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys)) if keys else None
            if key is None:
                break
            inner = place[key]
            if isinstance(inner, (dict, list)) and inner and draw(st.booleans()):
                place = inner
            elif isinstance(place, dict) and draw(st.booleans()):
                del place[key]
                break
            else:
                place[key] = draw(_junk)
                break
    return record
