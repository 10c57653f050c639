"""The vectors themselves: they reach every verb and every refusal, and they find what they are there to find.

Each store plays them as part of its contract (`tests/contracts/store_vectors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from contracts.vectors import FOLDER, REFUSALS, VECTORS, Player, play
from docs.reading import rows
from teamster.kit import Instant, from_iso
from teamster.model import ItemStatus, LeaseLost, Shift, Verb
from teamster.store import MemoryStore, leases, owning, steering
from teamster.store import memory as memory_store

README = FOLDER.parent / "README.md"
EXPECTED = {"record", "records", "refused", "repeat", "changed"}
NEVER_REFUSED = {"get"}
NEEDS = {
    "renew_shift": "shifts",
    "end_shift": "shifts",
    "cancel": "extension moves",
    "abandon": "extension moves",
    "adopt": "adoption",
}


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all steps of all vectors."""
    for name, vector in VECTORS.items():
        yield from ((name, step) for step in vector["steps"])


def operations() -> set[str]:
    """Return what the player can do."""
    kept = {"instant", "guard", "apply"}
    own = {
        name.removeprefix("_") for name, each in vars(Player).items() if callable(each) and not name.startswith("__")
    }
    return own - kept - {"do", "record", "records"}


@pytest.mark.req("DC-spec")
def test_every_operation_is_carried_out_and_refused_by_some_vector() -> None:
    """What no vector asks for, another implementation may do as it likes."""
    done = {step["do"] for _, step in steps() if "refused" not in step["expect"]}
    refused = {step["do"] for _, step in steps() if "refused" in step["expect"]}

    assert done == operations()
    assert refused == operations() - NEVER_REFUSED
    assert set(Verb) <= done


@pytest.mark.req("DC-spec", "DC-life")
def test_every_status_and_every_refusal_is_expected_somewhere() -> None:
    records = [step["expect"]["record"] for _, step in steps() if "record" in step["expect"]]

    assert {record["status"] for record in records} == set(ItemStatus)
    assert {step["expect"].get("refused") for _, step in steps()} == {None, *REFUSALS}
    assert {step["do"] for _, step in steps() if step["expect"].get("repeat")} >= {
        "start", "heartbeat", "complete", "fail", "stall", "adopt",
    }  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_is_written_as_the_readme_says(name: str) -> None:
    """A typing error in an expectation would expect nothing."""
    vector = VECTORS[name]
    moments = [from_iso(step["at"]) for step in vector["steps"]]

    assert (vector["vector"], vector["name"]) == (1, name)
    assert vector["about"].endswith(".")
    assert moments == sorted(moments)
    assert {NEEDS[step["do"]] for step in vector["steps"] if step["do"] in NEEDS} <= set(vector["needs"])
    assert set(vector["needs"]) <= {row[0].strip("`") for row in rows(README, "need")}
    for step in vector["steps"]:
        assert set(step) <= {"at", "do", "with", "save", "expect"}
        assert set(step["expect"]) <= EXPECTED


def test_the_readme_lists_each_need() -> None:
    """Who lacks something must know which vectors to skip."""
    assert {row[0].strip("`") for row in rows(README, "need")} == set(NEEDS.values())


def test_the_readme_lists_each_operation_with_its_arguments() -> None:
    """Another implementation has no other source."""
    listed = {row[0].strip("`"): set(row[1].replace("`", "").split(", ")) for row in rows(README, "operation")}
    used: dict[str, set[str]] = {}
    for _, step in steps():
        used.setdefault(step["do"], set()).update(step["with"])

    assert listed == used


def defects() -> dict[str, tuple[Any, str, Callable[..., Any]]]:
    """Return what can be broken in a store: where, which name, and what stands there instead."""
    no_owner, require_shift, again = leases.no_owner, leases.require_shift, owning._again
    take, move, requeue = owning._take, owning._move, owning.requeue

    def any_writer(entry: Any, guard: Any, **when: Any) -> Any:
        return no_owner(entry, replace(guard, claim_token=entry.item.claim_token) if entry else guard, **when)

    def any_rev(entry: Any, guard: Any, **when: Any) -> Any:
        return no_owner(entry, replace(guard, rev=entry.item.rev) if entry else guard, **when)

    def late(shift: Shift, *, at: Instant, **_: Any) -> bool:
        return shift.ended_at is not None or at.boot_seconds > shift.expires_boot_seconds

    def forgotten(repeat: Any, request: Any) -> Any:
        return replace(again(repeat, request), replayed=False)

    def same_attempt(course: Any, turn: Any, shift: Any) -> None:
        attempt = course.item.attempt
        take(course, turn, shift)
        course.item = replace(course.item, attempt=attempt)

    def silent(course: Any, change: Any, turn: Any, shift: Any) -> None:
        move(course, change, turn, shift)
        course.events.pop()

    def at_once(course: Any, turn: Any, *, actor: str, not_before: Any) -> None:
        del not_before
        requeue(course, turn, actor=actor, not_before=None)

    def any_shift(shift: Any, **more: Any) -> Any:
        return shift or require_shift(shift, **more)

    def anybody_lost(entry: Any, **_: Any) -> LeaseLost | None:
        return None if entry else LeaseLost("no such item")

    return {
        "the token is not asked for": (owning, "no_owner", any_writer),
        "the rev is not asked for": (owning, "no_owner", any_rev),
        "a lease holds one moment too long": (leases, "is_over", late),
        "a repeat is no repeat": (owning, "_again", forgotten),
        "attempt does not grow": (owning, "_take", same_attempt),
        "a move leaves no event": (owning, "_move", silent),
        "a delay is forgotten": (owning, "requeue", at_once),
        "a shift that is over claims": (memory_store, "require_shift", any_shift),
        "an owner may still write, and loses its item": (steering, "not_left", anybody_lost),
        "the same end is another end": (owning, "_ended_alike", lambda *_: None),
    }  # fmt: skip


@pytest.mark.req("DC-spec")
@pytest.mark.parametrize("defect", defects())
def test_a_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch, defect: str) -> None:
    """Vectors that every store passes prove nothing unless a broken one fails them."""
    module, name, broken = defects()[defect]
    monkeypatch.setattr(module, name, broken)

    assert [name for name, vector in VECTORS.items() if not is_kept(vector)]


def is_kept(vector: dict[str, Any]) -> bool:
    """Tell whether the memory store, as it is now, keeps a vector."""
    try:
        play(MemoryStore(), vector)
    except (AssertionError, LeaseLost, ValueError):
        return False
    return True


def test_the_memory_store_as_it_ships_keeps_them_all() -> None:
    """Else the planted defects would be found by something else."""
    assert [name for name, vector in VECTORS.items() if not is_kept(vector)] == []
