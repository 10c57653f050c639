"""What an attempt left behind, and what is kept where some of it can't be had."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from runner.codex_words import codex_did, rollout
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
