"""What an attempt left behind, and what is kept where some of it can't be had."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from runner.codex_words import OTHER_THREAD, codex_did, rollout
from runner.parts import Script, step
from runner.scene import SETTINGS, Scene
from teamster.artifacts import AttemptFile, codex_home
from teamster.model import AgentChoice, AttemptStatus, Exited, ItemStatus
from teamster.runner.evidence import STDERR_BYTES_MAX

KEY = "key-0123456789abcdef"


def run(scene: Scene, *, stderr: bytes = b"") -> None:
    """Run the only step to its end, complaining."""
    harness = scene.harness()
    harness.tick()
    scene.machine.orders[0].places.stderr.write_bytes(stderr)
    scene.machine.finish(scene.run_id(), Exited(1))
    harness.tick()


def test_the_end_of_what_it_complained_about_is_kept_without_secrets(tmp_path: Path) -> None:
    """Its last lines say why it died; a log that fills the disk says no more."""
    scene = Scene(tmp_path, settings=replace(SETTINGS, key=KEY, key_variable="CODEX_API_KEY"))
    scene.submit(step())
    run(scene, stderr=b"x" * STDERR_BYTES_MAX + f"\nbad key {KEY}\n".encode())

    kept = scene.path(scene.attempts()[0], AttemptFile.STDERR).read_bytes()
    assert len(kept) <= STDERR_BYTES_MAX
    assert kept.endswith(b"\n")
    assert b"bad key" in kept
    assert KEY.encode() not in kept
    assert scene.faults() == []
    scene.close()


def test_a_baseline_that_was_harmed_is_a_trouble_and_no_failure(scene: Scene) -> None:
    """The agent did its work; what it changed is not known, and the state says so."""
    scene.scripts["main"] = Script()
    scene.submit(step())
    harness = scene.harness()
    harness.tick()
    (scene.machine.orders[0].places.spool / "baseline.json").write_text("{")
    scene.machine.finish(scene.run_id(), Exited(0))
    harness.tick()

    [attempt] = scene.attempts()
    assert attempt.status is AttemptStatus.SUCCEEDED
    [error] = scene.json(attempt, AttemptFile.STATE)["errors"]
    assert "its baseline can't be read" in error
    assert scene.json(attempt, AttemptFile.VERDICT)["troubles"] == [error]
    assert scene.faults() == []


@pytest.mark.req("PH-8.2.1c")
def test_a_session_is_sealed_and_closed_and_nothing_else_of_the_home_is_kept(scene: Scene) -> None:
    """What later steps resume from is exactly what the agent wrote."""
    did = codex_did(session=b"{}\n")
    scene.scripts["main"] = replace(did, files={**did.files, "models_cache.json": b"{}", "log/a.log": b"x"})
    scene.submit(step(agent=AgentChoice(agent="codex")))
    harness = scene.harness()
    harness.tick()
    harness.tick()

    [attempt] = scene.attempts()
    home = scene.root.at(codex_home(attempt.directory))
    assert [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()] == [rollout()]
    assert stat.S_IMODE((home / rollout()).stat().st_mode) == 0o400
    sealed = scene.json(attempt, AttemptFile.SESSION)
    assert sealed["session_sha256"] == attempt.facts["session_sha256"]
    assert sealed["session_sha256"] == scene.json(attempt, AttemptFile.STATE)["session_sha256"]
    listed = scene.json(attempt, AttemptFile.MANIFEST)["files"]
    assert listed[f"codex_home/{rollout()}"] == sealed["files"][rollout()]
    assert AttemptFile.SESSION.value in listed
    assert scene.faults() == []


@pytest.mark.req("PH-8.2.1c")
def test_each_attempt_has_a_home_of_its_own_that_is_not_there_before(scene: Scene) -> None:
    """Two attempts in one home see each other's sessions; a home that is used again holds another one's."""
    scene.scripts["main"] = replace(codex_did(), outcome=Exited(1))
    scene.submit(step(agent=AgentChoice(agent="codex"), attempts_max=2), jobs=2)
    harness = scene.harness()
    for _ in range(3):
        harness.tick()
        scene.clock.advance(20)
        scene.schedule()

    homes = [order.env["CODEX_HOME"] for order in scene.machine.orders]
    databases = [order.env["CODEX_SQLITE_HOME"] for order in scene.machine.orders]
    runs = [order.run_id for order in scene.machine.orders]
    assert len(set(homes)) == len(set(databases)) == len(set(runs)) == len(homes) == 4
    assert all(f"_{run}/codex_home" in home for run, home in zip(runs, homes, strict=True))
    assert not any("/runs/" in place for place in databases)


FORK = json.dumps({"type": "session_meta", "payload": {"forked_from_id": OTHER_THREAD}}).encode() + b"\n"


@pytest.mark.req("PH-10.1")
def test_what_a_fork_goes_back_to_is_part_of_its_base(scene: Scene) -> None:
    """Without it nobody could go on; threads that it does not go back to stay out."""
    unrelated = "0198b5b2-0000-7000-8000-00000000000f"
    did = codex_did(session=FORK)
    scene.scripts["main"] = replace(
        did, files={**did.files, rollout(OTHER_THREAD): b"{}\n", rollout(unrelated): b"{}\n"}
    )
    scene.submit(step(agent=AgentChoice(agent="codex")))
    harness = scene.harness()
    harness.tick()
    harness.tick()

    [attempt] = scene.attempts()
    assert sorted(scene.json(attempt, AttemptFile.SESSION)["files"]) == [rollout(), rollout(OTHER_THREAD)]
    assert scene.faults() == []


@pytest.mark.parametrize("session", [FORK, b""], ids=["its beginning is missing", "a packed one is torn"])
def test_a_session_that_nobody_could_go_on_with_is_no_base_and_no_failure(scene: Scene, session: bytes) -> None:
    """The agent did its work; who wants to go on from it is told why not."""
    did = codex_did(session=session)
    files = did.files if session else {f"{rollout()}.zst": b"torn"}
    scene.scripts["main"] = replace(did, files=files)
    scene.submit(step(agent=AgentChoice(agent="codex")), step("next", agent=AgentChoice(agent="codex"), resume="main"))
    harness = scene.harness()
    for _ in range(3):
        harness.tick()

    [attempt], [refused] = scene.attempts(), scene.attempts("next")
    state = scene.json(attempt, AttemptFile.STATE)
    assert (attempt.status, state["session_sha256"]) == (AttemptStatus.SUCCEEDED, None)
    assert any("the session can't be gone on with" in error for error in state["errors"])
    assert refused.facts["failure_class"] == "evidence_lost"
    assert scene.faults() == []


def test_an_agent_that_put_a_link_where_its_output_was_leaves_doubt(scene: Scene) -> None:
    """It could show us another file; nobody can say what it did, and the harness goes on."""
    scene.submit(step())
    harness = scene.harness()
    harness.tick()
    stdout = scene.machine.orders[0].places.stdout
    stdout.unlink()
    stdout.symlink_to("/etc/hostname")
    scene.machine.finish(scene.run_id(), Exited(0))
    harness.tick()

    [attempt] = scene.attempts()
    assert scene.item().status is ItemStatus.FAILED
    assert scene.json(attempt, AttemptFile.STATE)["failure_class"] == "evidence_lost"
    assert not scene.path(attempt, AttemptFile.EVENTS).exists()
    assert scene.faults() == []
