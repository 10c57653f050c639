"""One attempt, from its claim to its files; and what follows where it did not go well."""

from __future__ import annotations

import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runner.parts import DONE, RUNS_ON, Script, report, step
from runner.scene import GIT, SETTINGS, Scene
from teamster.artifacts import AttemptFile
from teamster.kit import iso, sha256
from teamster.model import AttemptStatus, Exited, ItemStatus
from teamster.runner import Runner

S = ItemStatus
WHO = {"GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}


LISTED = {
    "meta.json",
    "state.json",
    "final.json",
    "final.txt",
    "codex.events.jsonl",
    ".teamster/exit.json",
    ".teamster/verdict.json",
}


class TestFollowed:
    """A step that goes well."""

    @pytest.mark.req("PH-7.3", "PH-8.2.1s", "PH-8.2.1m", "PH-8.3", "PH-5.2")
    def test_an_attempt_is_followed_from_its_claim_to_its_files(self, scene: Scene) -> None:
        """The whole path: who reads the files alone knows who ran what, how it ended, and where things lie."""
        scene.submit(step())
        harness = scene.harness()

        happened = harness.tick()

        [attempt] = happened.started
        item = scene.item()
        assert item.status is S.RUNNING
        meta = scene.json(attempt, AttemptFile.META)
        assert {
            name: meta[name] for name in ("batch_id", "job_id", "step_id", "run_id", "runner_id", "invocation")
        } == {
            "batch_id": "batch",
            "job_id": "job",
            "step_id": "main",
            "run_id": attempt.run_id,
            "runner_id": "runner-host-here",
            "invocation": "exec",
        }
        assert meta["prompt_sha256"] == sha256(b"do main")
        assert meta["policy"]["sandbox"] == "workspace-write"
        assert meta["workspace_policy"] == {"mode": "shared"}
        assert meta["environment"]["working_directory"] == "/"
        running = scene.json(attempt, AttemptFile.STATE)
        assert (running["status"], running["started_at"]) == ("running", iso(attempt.started_at))
        assert running["ended_at"] is None
        assert scene.current()["steps"]["main"]["latest"]["run_id"] == attempt.run_id
        assert scene.current()["steps"]["main"]["by_run_id"][attempt.run_id]["status"] == "running"

        scene.clock.advance(5.0)
        Script(report=report(summary="all good"), stdout=b"one\ntwo\n")(scene.machine.orders[0])
        scene.machine.finish(attempt.run_id, Exited(0))
        [ended] = harness.tick().ended

        assert ended.status is AttemptStatus.SUCCEEDED
        item = scene.item()
        assert item.status is S.SUCCEEDED
        assert item.result == {
            "run_id": attempt.run_id,
            "attempt_dir": f"{attempt.directory}/",
            "summary": "all good",
            "usage": None,
        }
        final = scene.json(attempt, AttemptFile.STATE)
        assert (final["status"], final["exit_code"], final["ended_at"]) == ("succeeded", 0, iso(scene.now.wall))
        assert scene.json(attempt, AttemptFile.FINAL)["summary"] == "all good"
        assert scene.path(attempt, AttemptFile.FINAL_TEXT).read_text() == "two"
        assert scene.json(attempt, AttemptFile.VERDICT)["outcome"] == {"kind": "exited", "exit_code": 0}
        assert scene.path(attempt, AttemptFile.EVENTS).read_bytes().count(b"\n") == 2
        listed = scene.json(attempt, AttemptFile.MANIFEST)["files"]
        assert {name.value for name in AttemptFile} & listed.keys() == LISTED
        pointers = scene.current()["steps"]["main"]
        assert pointers["latest"] == pointers["latest_successful"]
        assert pointers["by_run_id"][attempt.run_id]["status"] == "succeeded"
        harness.runner.close()
        assert not scene.machine.orders[0].places.spool.exists()
        assert scene.faults() == []

    @pytest.mark.req("PH-5.3a")
    def test_an_ended_attempt_is_closed_for_writing(self, scene: Scene) -> None:
        """Nobody changes history by accident."""
        scene.scripts["main"] = DONE
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        harness.tick()

        [attempt] = scene.attempts()
        folder = scene.root.at(attempt.directory)
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
        assert modes == {0o444}

    def test_an_end_and_its_files_are_one_commit(self, scene: Scene) -> None:
        """An acknowledged end without its promised files, or files without their end, would be a lie."""
        scene.scripts["main"] = DONE
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        harness.tick()

        promised = [row.path.rpartition("/")[2] for row in scene.store.outbox() if "attempts" in row.path]

        assert promised[-5:] == ["final.json", "final.txt", "verdict.json", "manifest.json", "state.json"]

    def test_rows_go_when_their_files_are_flushed(self, scene: Scene) -> None:
        """An outbox that never shrinks would be played for ever."""
        scene.scripts["main"] = DONE
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        harness.tick()

        harness.delivery.settle()

        assert list(scene.store.outbox()) == []

    @pytest.mark.req("PH-8.2.1s")
    def test_every_state_that_a_reader_can_see_is_legal(self, scene: Scene) -> None:
        """Running, beating, then one terminal state."""
        scene.submit(step())
        harness = scene.harness()
        states = []
        for _ in range(3):
            harness.tick()
            states.append(scene.json(scene.attempts()[0], AttemptFile.STATE))
            scene.clock.advance(61.0)
            harness.duty.renew(harness.store)
        scene.machine.finish(scene.run_id(), Exited(0))
        harness.tick()
        states.append(scene.json(scene.attempts()[0], AttemptFile.STATE))

        assert [state["status"] for state in states] == ["running", "running", "running", "succeeded"]
        beats = [state["last_heartbeat_at"] for state in states]
        assert beats == sorted(set(beats))
        assert {state["started_at"] for state in states} == {states[0]["started_at"]}

    @pytest.mark.req("PH-7.3", "PH-8.2.1g")
    def test_what_was_changed_in_the_repository_is_kept_also_after_a_failure(self, tmp_path: Path) -> None:
        """The diff of a failed attempt is what a person looks at first."""
        repo = tmp_path / "repo"
        repo.mkdir()
        subprocess.run([GIT, "init", "-q"], cwd=repo, env=WHO, check=True, timeout=30)
        scene = Scene(tmp_path, git=GIT)
        scene.submit(step(working_directory=str(repo)))
        harness = scene.harness()
        harness.tick()
        (repo / "new.txt").write_text("new\n")
        scene.machine.finish(scene.run_id(), Exited(1))

        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.status is AttemptStatus.FAILED
        assert b"+new\n" in scene.path(attempt, AttemptFile.GIT_DIFF).read_bytes()
        assert scene.json(attempt, AttemptFile.FILES_TOUCHED)["files"] == [{"path": "new.txt", "change": "added"}]
        assert scene.faults() == []
        scene.close()


class TestSlots:
    """How many at once."""

    def test_no_more_is_claimed_than_there_are_slots(self, tmp_path: Path) -> None:
        """A claim without a shim would be an owned item that nobody runs."""
        scene = Scene(tmp_path, settings=replace(SETTINGS, slots=2))
        scene.submit(step(), jobs=3)
        harness = scene.harness()
        harness.host.park(4)

        started = harness.tick().started
        again = harness.tick().started

        assert (len(started), len(again)) == (2, 0)
        scene.machine.finish(started[0].run_id, Exited(0))
        assert len(harness.tick().started) == 1
        scene.close()

    def test_a_drain_finishes_what_runs_and_takes_nothing(self, scene: Scene) -> None:
        """The first Ctrl-C asks for just that."""
        scene.submit(step(), jobs=2)
        harness = scene.harness()

        assert harness.tick(taking=False).started == ()

        assert [scene.item(job=f"job-{number}").status for number in range(2)] == [S.QUEUED] * 2

    def test_only_the_wanted_batch_is_claimed(self, scene: Scene) -> None:
        """`run` works its own table and leaves the others alone."""
        scene.submit(step())
        harness = scene.harness()

        assert Runner(harness.crew, only=frozenset()).tick().started == ()
        assert len(harness.tick().started) == 1


def test_a_heartbeat_says_what_the_agent_does(scene: Scene) -> None:
    """A person who waits wants to know whether anything moves; a beat at each line would wear out the disk."""
    scene.scripts["main"] = RUNS_ON
    scene.submit(step())
    harness = scene.harness()
    harness.tick()
    scene.clock.advance(1.0)
    harness.tick()
    [attempt] = scene.attempts()
    assert scene.json(attempt, AttemptFile.STATE)["current_item"] is None

    scene.clock.advance(1.0)
    harness.tick()

    state = scene.json(attempt, AttemptFile.STATE)
    assert (state["current_item"], state["last_heartbeat_at"]) == ("working", iso(scene.now.wall))
