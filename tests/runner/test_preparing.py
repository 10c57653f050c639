"""What must be true before an agent starts: its session, its input, its configuration."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from runner.codex_words import OTHER_THREAD, THREAD, codex_did, rollout
from runner.parts import DONE, Script, step
from runner.scene import SETTINGS, Harness, Scene, status_of
from teamster.artifacts import SPOOL, AttemptFile, codex_home
from teamster.kit import CountedNames
from teamster.model import (
    AgentChoice,
    AttemptStatus,
    ExecutionPolicy,
    Exited,
    ItemStatus,
    Outcome,
    ResumeFrom,
    Step,
    StepId,
)
from teamster.process import Order
from teamster.runner.spools import Spools

S = ItemStatus
CODEX = AgentChoice(agent="codex")
TURN = b'{"turn": 1}\n'


def resumed(scene: Scene, *, first: AgentChoice = CODEX) -> tuple[Harness, Callable[[], None]]:
    """Submit two steps, the second going on from the first; return what runs each of them."""
    scene.scripts["first"] = codex_did(session=TURN) if first is CODEX else DONE
    scene.scripts["second"] = codex_did(session=TURN + b'{"turn": 2}\n')
    scene.submit(step("first", agent=first), step("second", agent=CODEX, resume="first", attempts_max=3))
    harness = scene.harness()
    harness.tick()

    def run() -> None:
        harness.tick()
        harness.tick()

    return harness, run


def session_of(scene: Scene, name: str) -> Path:
    """Say where the session of a step's newest attempt lies."""
    return scene.root.at(codex_home(scene.attempts(name)[-1].directory)) / rollout()


class TestResume:
    """A step that goes on with a conversation."""

    @pytest.mark.req("PH-7.4", "PH-10.1", "PH-10.2", "PH-8.2.1m", "PH-5.3b")
    def test_it_works_on_a_copy_and_says_whose(self, scene: Scene) -> None:
        """The source stays as it was sealed; the chain can be read from `meta.json` alone."""
        _, run = resumed(scene)
        run()

        [first], [second] = scene.attempts("first"), scene.attempts("second")
        assert [first.status, second.status] == [AttemptStatus.SUCCEEDED] * 2
        meta = scene.json(second, AttemptFile.META)
        assert (meta["invocation"], meta["parent_run_id"], meta["codex_thread_id"]) == ("resume", first.run_id, THREAD)
        assert meta["resume_from"] == {
            "step_id": "first",
            "run_id": first.run_id,
            "resume_base_dir": f"{first.directory}/codex_home/",
            "source_session_sha256": first.facts["session_sha256"],
        }
        order = scene.machine.orders[1]
        assert THREAD in order.argv
        assert order.env["CODEX_HOME"] == str(scene.root.at(codex_home(second.directory)))
        assert session_of(scene, "first").read_bytes() == TURN
        assert second.facts["session_sha256"] != first.facts["session_sha256"]
        assert scene.current()["steps"]["second"]["latest"]["codex_thread_id"] == THREAD
        assert scene.faults() == []

    def test_the_copy_is_there_before_the_agent_starts(self, scene: Scene) -> None:
        """An agent that finds no session begins a new one, and nobody notices."""
        found: list[bytes] = []
        harness, _ = resumed(scene)
        did = codex_did()

        class Looks(Script):
            """An agent that looks at what it was given."""

            def __call__(self, order: Order) -> Outcome | None:
                found.append((Path(order.env["CODEX_HOME"]) / rollout()).read_bytes())
                return did(order)

        scene.scripts["second"] = Looks()
        harness.tick()

        assert found == [TURN]

    @pytest.mark.req("PH-10.2", "PH-5.3b")
    def test_a_chain_can_be_followed_from_the_records_of_its_starts_alone(self, scene: Scene) -> None:
        """Who finds a runs store without a database can tell who went on from whom, and with which bytes."""
        names = ("first", "second", "third")
        for number, name in enumerate(names):
            scene.scripts[name] = codex_did(session=TURN * (number + 1))
        scene.submit(
            *(step(name, agent=CODEX, resume=before) for name, before in zip(names, (None, *names), strict=False))
        )
        harness = scene.harness()
        for _ in names:
            harness.tick()
            harness.tick()

        starts = [json.loads(path.read_bytes()) for path in scene.root.path.glob("runs/**/meta.json")]
        by_parent = {meta["parent_run_id"]: meta for meta in starts}
        chain = [by_parent[None]]
        while chain[-1]["run_id"] in by_parent:
            chain.append(by_parent[chain[-1]["run_id"]])
        assert [meta["step_id"] for meta in chain] == list(names)
        assert [meta["codex_thread_id"] for meta in chain] == [None, THREAD, THREAD]
        for source, meta in pairwise(chain):
            state = json.loads(
                (scene.root.at(meta["resume_from"]["resume_base_dir"]).parent / "state.json").read_bytes()
            )
            assert meta["resume_from"]["run_id"] == source["run_id"]
            assert meta["resume_from"]["source_session_sha256"] == state["session_sha256"]
            assert state["codex_thread_id"] == meta["codex_thread_id"]
        assert scene.faults() == []

    def test_an_agent_that_goes_on_in_another_thread_needs_attention(self, scene: Scene) -> None:
        """It did not remember: its report may be right about nothing."""
        _, run = resumed(scene)
        scene.scripts["second"] = codex_did(thread=OTHER_THREAD)
        run()

        assert status_of(scene.item("second")) == (S.FAILED, "needs_attention")
        assert scene.json(scene.attempts("second")[0], AttemptFile.STATE)["failure_class"] == "wrong_thread"
        assert scene.faults() == []

    @pytest.mark.req("PH-10.1")
    def test_a_source_that_changes_while_it_is_used_leaves_doubt(self, scene: Scene) -> None:
        """Other branches from it are worth nothing from now on; somebody has to look."""
        harness, _ = resumed(scene)
        scene.scripts["second"] = replace(codex_did(), outcome=None)
        harness.tick()
        base = session_of(scene, "first")
        base.chmod(0o600)
        base.write_bytes(TURN + TURN)
        scene.machine.finish(scene.run_id("second"), Exited(0))
        harness.tick()

        assert status_of(scene.item("second")) == (S.FAILED, "needs_attention")
        assert scene.json(scene.attempts("second")[0], AttemptFile.VERDICT)["source_digest_kept"] is False


def lose_session(scene: Scene) -> None:
    """Remove what was sealed."""
    session_of(scene, "first").unlink()


def lose_manifest(scene: Scene) -> None:
    """Remove what says what was sealed."""
    scene.path(scene.attempts("first")[0], AttemptFile.SESSION).unlink()


def change_session(scene: Scene) -> None:
    """Write into what was sealed."""
    base = session_of(scene, "first")
    base.chmod(0o600)
    base.write_bytes(b'{"turn": 9}\n')


def change_manifest(scene: Scene) -> None:
    """Say that something else was sealed."""
    place = scene.path(scene.attempts("first")[0], AttemptFile.SESSION)
    value = json.loads(place.read_bytes())
    value["session_sha256"] = "0" * 64
    place.chmod(0o600)
    place.write_text(json.dumps(value))


class TestRefused:
    """Steps whose agent can't be started as asked: it never is."""

    @pytest.mark.req("PH-7.4", "PH-10.1")
    @pytest.mark.parametrize("harm", [lose_session, lose_manifest, change_session, change_manifest])
    def test_a_base_that_is_not_what_was_sealed_is_not_resumed(
        self, scene: Scene, harm: Callable[[Scene], None]
    ) -> None:
        """Going on with another conversation than the one that was asked for is worse than not going on."""
        harness, _ = resumed(scene)
        harness.tick(taking=False)
        harm(scene)

        harness.tick()
        harness.tick()

        [attempt] = scene.attempts("second")
        assert status_of(scene.item("second")) == (S.FAILED, "needs_attention")
        state = scene.json(attempt, AttemptFile.STATE)
        assert (state["status"], state["failure_class"]) == ("needs_attention", "base_touched")
        assert (attempt.ended_at, len(scene.machine.orders)) == (attempt.started_at, 1)
        assert len(harness.host.parked()) == SETTINGS.slots

    def test_a_thread_that_its_base_does_not_hold_is_not_asked_for(self, scene: Scene) -> None:
        """Codex would answer that there is no such thread, once for each attempt."""
        scene.scripts["first"] = codex_did(session=TURN)
        resume = ResumeFrom(step_id=StepId("first"), codex_thread_id=OTHER_THREAD)
        scene.submit(step("first", agent=CODEX), step("second", agent=CODEX, resume=resume))
        harness = scene.harness()
        for _ in range(3):
            harness.tick()

        [attempt] = scene.attempts("second")
        assert status_of(scene.item("second")) == (S.FAILED, "refused_input")
        assert "does not hold the thread" in str(attempt.facts["reason"])
        assert len(scene.machine.orders) == 1

    @pytest.mark.req("PH-7.4")
    @pytest.mark.parametrize(
        ("harm", "fact"),
        [
            (lambda place: place.unlink(), "is missing"),
            (lambda place: os.truncate(place, 3), "was cut"),
            (lambda place: place.write_bytes(TURN[::-1]), "was touched"),
        ],
        ids=["missing", "cut", "touched"],
    )
    def test_what_became_of_a_base_is_said(self, scene: Scene, harm: Callable[[Path], object], fact: str) -> None:
        """A person has to find out who did it."""
        harness, _ = resumed(scene)
        harness.tick(taking=False)
        session_of(scene, "first").chmod(0o600)
        harm(session_of(scene, "first"))
        harness.tick()
        harness.tick()

        [first], [attempt] = scene.attempts("first"), scene.attempts("second")
        reason = scene.json(attempt, AttemptFile.STATE)["reason"]
        assert reason.startswith(f"the base of {first.run_id} is not what was sealed: {rollout()} {fact}")

    def test_a_step_that_left_no_session_is_not_resumed(self, scene: Scene) -> None:
        """The agent would begin from nothing and answer all the same."""
        _, run = resumed(scene, first=step().agent)
        run()

        assert status_of(scene.item("second")) == (S.FAILED, "needs_attention")
        [attempt] = scene.attempts("second")
        assert scene.json(attempt, AttemptFile.STATE)["failure_class"] == "evidence_lost"
        assert scene.json(attempt, AttemptFile.META)["resume_from"]["source_session_sha256"] == "none"

    @pytest.mark.parametrize(
        "refused",
        [
            step(agent=CODEX, prompt="  ", attempts_max=3),
            step(prompt="x", agent=AgentChoice(agent="command", command=("a\0b",)), attempts_max=3),
        ],
        ids=["blank prompt", "NUL in an argument"],
    )
    def test_what_no_agent_can_be_asked_is_refused_once(self, scene: Scene, refused: Step) -> None:
        """The same again would be refused again."""
        scene.submit(refused)
        harness = scene.harness()
        harness.tick()
        harness.tick()

        assert status_of(scene.item()) == (S.FAILED, "refused_input")
        assert len(scene.attempts()) == 1
        assert scene.machine.orders == []
        assert scene.faults() == []

    def test_a_place_that_can_not_be_made_fails_the_attempt_and_not_the_harness(self, scene: Scene) -> None:
        """Other agents run: what one attempt lacks must not end them all."""
        scene.submit(step(attempts_max=2))
        harness = scene.harness()
        taken = CountedNames(int(scene.names.fresh("x").partition("_")[2])).fresh("run")
        scene.root.at(f"{SPOOL}/{taken}").touch()

        [attempt] = harness.tick().started
        harness.tick(taking=False)

        item = scene.item()
        assert attempt.run_id == taken
        assert item.status is S.QUEUED
        assert item.not_before is not None
        assert scene.attempts()[0].facts["failure_class"] == "agent_broken"
        assert scene.faults() == []

    def test_a_full_disk_uses_no_attempt(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        """Room comes back; an attempt that was used up for nothing doesn't."""
        scene.submit(step(attempts_max=1))
        harness = scene.harness()

        def fill_up(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as full:
            full.setattr(Spools, "lay_out", fill_up)
            harness.tick()
            harness.tick(taking=False)

        item = scene.item()
        assert item.status is S.QUEUED
        assert (item.attempts_consumed, item.recoveries) == (0, 1)
        assert scene.attempts()[0].facts["failure_class"] == "store_unavailable"
        assert scene.faults() == []


class TestConfiguration:
    """The user's own configuration is linked while the agent runs, and never kept."""

    @pytest.mark.req("PH-8.2.1c")
    @pytest.mark.parametrize("prompt", ["do it", "  "], ids=["runs", "is refused"])
    def test_the_link_is_gone_at_the_end(self, tmp_path: Path, prompt: str) -> None:
        """A frozen home with a link into the user's own would leak whatever lies there later."""
        configuration = tmp_path / "config.toml"
        configuration.write_text('model = "own"\n')
        scene = Scene(tmp_path, settings=replace(SETTINGS, codex_configuration=configuration))
        scene.scripts["main"] = replace(codex_did(), outcome=None)
        scene.submit(step(agent=CODEX, prompt=prompt))
        harness = scene.harness()
        harness.tick()
        home = scene.root.at(codex_home(scene.attempts()[0].directory))
        if scene.machine.orders:
            assert (home / "config.toml").read_text() == 'model = "own"\n'
            scene.machine.finish(scene.run_id(), Exited(0))
        harness.tick()

        assert scene.item().is_final
        assert not any(path.is_symlink() for path in home.rglob("*"))
        assert scene.faults() == []
        scene.close()

    @pytest.mark.req("PH-8.2.1c")
    def test_a_base_that_is_refused_leaves_no_link_either(self, tmp_path: Path) -> None:
        """The link was made before the base was looked at."""
        configuration = tmp_path / "config.toml"
        configuration.write_text("")
        scene = Scene(tmp_path, settings=replace(SETTINGS, codex_configuration=configuration))
        harness, _ = resumed(scene)
        harness.tick(taking=False)
        change_session(scene)
        harness.tick()
        harness.tick()

        home = scene.root.at(codex_home(scene.attempts("second")[0].directory))
        assert scene.item("second").is_final
        assert not any(path.is_symlink() for path in home.rglob("*"))
        scene.close()

    def test_a_key_reaches_the_agent_and_is_kept_nowhere(self, tmp_path: Path) -> None:
        """An agent that prints its environment must not publish the key."""
        key = "key-0123456789abcdef"
        scene = Scene(tmp_path, settings=replace(SETTINGS, key="key-0123456789abcdef", key_variable="CODEX_API_KEY"))
        report = json.dumps({"status": "ok", "summary": key})
        scene.scripts["main"] = Script(Exited(1), f"{key}\n".encode(), report)
        scene.submit(step(policy=ExecutionPolicy()))
        harness = scene.harness()
        harness.tick()
        harness.tick()

        assert scene.machine.orders[0].env["CODEX_API_KEY"] == key
        kept = {name: content for name, content in scene.snapshot().items() if "/staging/" not in name}
        assert [name for name, content in kept.items() if key.encode() in content] == []
        scene.close()
