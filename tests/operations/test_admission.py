"""Agents are asked before the first batch that needs them is claimed, whenever it came in."""

from __future__ import annotations

import pytest

from operations.place import Place, step
from teamster.model import BatchId, TeamsterError
from teamster.operations import Admission, Control, submit, work
from teamster.operations.admission import CHECK_AGAIN_SECONDS
from teamster.runner import Happened
from teamster.store import Store

CODEX = {"a": [{"step_id": "only", "prompt": "Do it once.", "execution_policy": {"skip_git_repo_check": True}}]}
COMMAND = {"b": [step("only", "true")]}
SAYS_ALL = """#!/bin/sh
echo asked >> "$0.asked"
test -f "$0.broken" && exit 7
case "$*" in *--version*) echo codex-cli 0.163.0;; *) exec cat "$0.help";; esac
"""


@pytest.fixture
def told() -> list[tuple[BatchId, str]]:
    return []


def admission_of(place: Place, told: list[tuple[BatchId, str]]) -> Admission:
    """Make one that notes what it tells."""

    def tell(batch_id: BatchId, error: TeamsterError) -> None:
        assert error.hint
        told.append((batch_id, error.fact))

    return Admission(place.harness, tell=tell)


def test_a_batch_without_its_agent_is_held_back_and_told_once(place: Place, told: list[tuple[BatchId, str]]) -> None:
    """An attempt without a key hangs until its timeout, and spends a try on nothing."""
    held, fine = place.submit(CODEX, "codex.json"), place.submit(COMMAND, "command.json")
    admission, now, store = admission_of(place, told), place.harness.clock.now(), place.harness.open_store()
    try:
        assert admission.admit(store, now) == admission.admit(store, now) == frozenset({fine})
        assert not admission.holds_the_rest(store)
        place.work(fine)
        assert admission.admit(store, now.after(CHECK_AGAIN_SECONDS)) == frozenset({fine})
        assert admission.holds_the_rest(store)
    finally:
        store.close()

    assert told == [(held, "codex has no key and no login")]
    assert admission.held.keys() == {held}
    assert admission.versions == {"command": None}


def test_an_agent_is_asked_again_after_a_while_and_no_more_once_it_answers(
    place: Place, told: list[tuple[BatchId, str]]
) -> None:
    """It may be installed meanwhile; a program that hangs must not be asked with each tick."""
    codex = place.folder / "codex"
    codex.write_text(SAYS_ALL, encoding="utf-8")
    codex.chmod(0o755)
    asked, broken = codex.with_suffix(".asked"), codex.with_suffix(".broken")
    broken.touch()
    keyed = Place(place.folder, env={**place.env, "CODEX_API_KEY": "sk-of-nobody", "TEAMSTER_CODEX": str(codex)})
    batch_id = keyed.submit(CODEX)
    admission, now, store = admission_of(keyed, told), keyed.harness.clock.now(), keyed.harness.open_store()
    flags = " ".join(keyed.harness.agents["codex"].check_help(["", ""]))
    codex.with_suffix(".help").write_text(f"{flags}\n  resume it\n", encoding="utf-8")
    try:
        assert admission.admit(store, now) == frozenset()
        assert len(asked.read_text().splitlines()) == 1
        broken.unlink()
        assert admission.admit(store, now.after(CHECK_AGAIN_SECONDS - 1)) == frozenset()
        assert len(asked.read_text().splitlines()) == 1
        assert admission.admit(store, now.after(CHECK_AGAIN_SECONDS)) == frozenset({batch_id})
    finally:
        store.close()

    assert [name for name, _ in told] == [batch_id]
    assert admission.held == {}
    assert "codex" in admission.versions


def test_work_runs_what_it_may_and_waits_for_nothing_that_is_held_back(
    place: Place, told: list[tuple[BatchId, str]]
) -> None:
    """A batch that comes in while a harness works is checked like the first one."""
    first = place.submit(COMMAND, "first.json")
    admission, submitted = admission_of(place, told), list[BatchId]()

    def watch(happened: Happened, store: Store) -> None:
        del store
        if happened.ended and not submitted:
            for name, jobs in (("codex.json", CODEX), ("second.json", COMMAND)):
                table = place.read(place.write(name, jobs))
                submitted.append(submit(place.harness, table).batch_id)

    worked = work(
        place.harness,
        batch_id=None,
        versions=admission.versions,
        control=Control(),
        watch=watch,
        admission=admission,
    )

    held, second = submitted
    assert not worked.settled
    assert {name: error.fact for name, error in worked.held.items()} == {held: "codex has no key and no login"}
    assert place.statuses(first) == place.statuses(second) == {"b.only": "succeeded"}
    assert place.statuses(held) == {"a.only": "ready"}
    assert [name for name, _ in told] == [held]
