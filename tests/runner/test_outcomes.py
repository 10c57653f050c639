"""What follows where a step fails, is in doubt, is canceled, or never leaves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from runner.codex_words import THREAD, codex_says
from runner.parts import DONE, Script, report, step
from runner.scene import SETTINGS, Scene, status_of
from teamster.artifacts import AttemptFile
from teamster.model import AgentChoice, Attempt, AttemptStatus, Exited, FileDraft, Item, ItemStatus
from teamster.process import Parked, ScriptedHost

S = ItemStatus


def never_drafted(_item: Item) -> tuple[Attempt, tuple[FileDraft, ...]]:
    """Fail: an owned item is canceled by its owner."""
    raise AssertionError


class TestNotSoWell:
    """Steps that fail, are in doubt, are canceled, or never leave."""

    @pytest.mark.req("PH-5.3a", "PH-5.3b")
    def test_a_failure_with_attempts_left_is_tried_again_as_a_new_run(self, scene: Scene) -> None:
        """The first try stays as it was; the second has a name and a directory of its own."""
        scene.scripts["main"] = Script(Exited(3))
        scene.submit(step(attempts_max=2))
        harness = scene.harness()
        harness.tick()

        harness.tick()

        item, [first] = scene.item(), scene.attempts()
        assert [event.to_status for event in scene.store.events(item.item_id)][-2:] == [S.STALLED, S.QUEUED]
        assert item.not_before == scene.now.wall + timedelta(seconds=2.5)
        assert (item.attempts_consumed, item.recoveries) == (1, 0)
        before = {name: content for name, content in scene.snapshot().items() if first.run_id in name}
        assert harness.tick().started == ()

        scene.scripts["main"] = DONE
        scene.clock.advance(3.0)
        [second] = harness.tick().started
        harness.tick()

        assert second.run_id != first.run_id
        assert second.directory != first.directory
        assert (first.number, second.number) == (1, 2)
        assert [attempt.status for attempt in scene.attempts()] == [AttemptStatus.FAILED, AttemptStatus.SUCCEEDED]
        assert {name: content for name, content in scene.snapshot().items() if first.run_id in name} == before
        assert scene.current()["steps"]["main"]["by_run_id"].keys() == {first.run_id, second.run_id}
        assert scene.faults() == []

    @pytest.mark.req("PH-8.2.1s")
    def test_a_wall_clock_that_stepped_back_ends_nothing_before_its_start(self, scene: Scene) -> None:
        """A reader may count on the order of moments."""
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        scene.clock.advance(-5.0)
        scene.machine.finish(scene.run_id(), Exited(0))
        scene.clock.advance(5.0)
        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.ended_at == attempt.started_at
        assert scene.faults() == []

    def test_the_last_attempt_fails_for_good(self, scene: Scene) -> None:
        """Somebody has to be told."""
        scene.scripts["main"] = Script(Exited(3))
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        harness.tick()

        assert status_of(scene.item()) == (S.FAILED, "agent_failed")

    @pytest.mark.req("PH-8.1.1")
    def test_an_invalid_report_needs_attention_and_its_words_are_kept(self, scene: Scene) -> None:
        """Nobody knows what it did; another try could do it twice."""
        scene.scripts["main"] = Script(Exited(0), b"bye\n", '{"status": "ok"}')
        scene.submit(step(attempts_max=3))
        harness = scene.harness()
        harness.tick()
        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.status is AttemptStatus.NEEDS_ATTENTION
        assert status_of(scene.item()) == (S.FAILED, "needs_attention")
        assert not scene.path(attempt, AttemptFile.FINAL).exists()
        assert scene.path(attempt, AttemptFile.FINAL_TEXT).read_text() == "bye"
        assert (scene.root.at(attempt.directory) / ".teamster/staging/report.json").read_text() == '{"status": "ok"}'
        assert scene.json(attempt, AttemptFile.VERDICT)["report_problems"]
        assert scene.faults() == []

    @pytest.mark.parametrize(
        ("said", "status"),
        [("failed", AttemptStatus.FAILED), ("needs_attention", AttemptStatus.NEEDS_ATTENTION)],
    )
    def test_a_report_that_says_otherwise_is_no_success(self, scene: Scene, said: str, status: AttemptStatus) -> None:
        """The exit code says only that the program ended."""
        scene.scripts["main"] = Script(Exited(0), b"", report(status=said))
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.status is status
        assert scene.json(attempt, AttemptFile.FINAL)["status"] == said
        assert scene.item().status is S.FAILED
        assert scene.faults() == []

    def test_a_running_step_is_canceled_by_its_owner(self, scene: Scene) -> None:
        """The request lies beside the item; the owner ends the agent and says so."""
        scene.submit(step(attempts_max=3))
        harness = scene.harness()
        harness.tick()
        scene.store.request_cancel(scene.item().item_id, at=scene.now, actor="alice", draft=never_drafted)

        harness.tick()
        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.status is AttemptStatus.CANCELED
        assert status_of(scene.item()) == (S.FAILED, "canceled")
        assert scene.json(attempt, AttemptFile.STATE)["status"] == "canceled"
        assert not scene.machine.is_running(attempt.run_id)
        assert scene.faults() == []

    def test_an_agent_that_said_its_last_word_and_stays_is_stopped_and_judged_by_its_report(self, scene: Scene) -> None:
        """A hung child of a finished agent must not turn its work into a timeout."""
        scene.scripts["main"] = Script(None, codex_says(final=report()))
        scene.submit(step(agent=AgentChoice(agent="codex")))
        harness = scene.harness()
        harness.tick()
        run_id = scene.run_id()
        harness.tick()
        scene.clock.advance(SETTINGS.terminal_grace_seconds)
        harness.tick()
        assert scene.machine.is_running(run_id)

        scene.clock.advance(0.1)
        harness.tick()

        [attempt] = scene.attempts()
        assert attempt.status is AttemptStatus.SUCCEEDED
        assert attempt.facts["codex_thread_id"] == THREAD
        assert scene.json(attempt, AttemptFile.VERDICT)["outcome"] == {"kind": "stopped"}
        assert scene.faults() == []

    def test_an_agent_that_begins_another_turn_is_left_alone(self, scene: Scene) -> None:
        """The end of a turn is the last word only where no other turn follows."""
        scene.scripts["main"] = Script(None, codex_says(final=report()))
        scene.submit(step(agent=AgentChoice(agent="codex")))
        harness = scene.harness()
        harness.tick()
        harness.tick()
        with scene.machine.orders[0].places.stdout.open("ab") as stdout:
            stdout.write(b'{"type": "turn.started"}\n')

        scene.clock.advance(SETTINGS.terminal_grace_seconds + 1.0)
        happened = harness.tick()

        assert (happened.ended, len(scene.attempts())) == ((), 1)
        assert scene.machine.is_running(scene.run_id())

    def test_agents_that_are_stopped_may_run_again_at_no_expense(self, scene: Scene) -> None:
        """A person who stops the harness doesn't mean that the step failed."""
        scene.submit(step(), jobs=2)
        harness = scene.harness()
        harness.tick()

        harness.runner.stop_all()
        ended = harness.tick(taking=False).ended

        assert len(ended) == 2
        items = [scene.item(job=f"job-{number}") for number in range(2)]
        assert [(item.status, item.attempts_consumed, item.recoveries) for item in items] == [(S.QUEUED, 0, 1)] * 2
        assert harness.runner.carried == []

    def test_a_shim_that_died_alone_is_a_loss_and_no_attempt(self, scene: Scene) -> None:
        """A shim killed by the system says nothing about the agent's work."""
        scene.submit(step())
        harness = scene.harness()
        harness.tick()
        [first] = scene.attempts()
        scene.machine.kill(next(shim for shim in scene.machine._shims if shim.to_json() == first.facts["shim"]))

        happened = harness.tick()

        assert [attempt.run_id for attempt in happened.ended] == [first.run_id]
        assert len(happened.started) == 1
        item = scene.item()
        assert (item.status, item.attempts_consumed, item.recoveries) == (S.RUNNING, 0, 1)
        assert scene.json(first, AttemptFile.STATE)["failure_class"] == "lost"

    def test_a_shim_that_died_before_its_order_costs_nothing(self, scene: Scene) -> None:
        """The gate never opened: the attempt ends where it began, and another one follows."""
        scene.submit(step())
        harness = scene.harness(host=DeafHost(scene.machine))
        harness.tick()
        scene.clock.advance(1.0)

        harness.tick(taking=False)

        [attempt] = scene.attempts()
        assert (attempt.status, attempt.ended_at) == (AttemptStatus.FAILED, attempt.started_at)
        item = scene.item()
        assert (item.status, item.attempts_consumed, item.recoveries) == (S.QUEUED, 0, 1)
        assert scene.machine.orders == []
        assert scene.faults() == []


class DeafHost(ScriptedHost):
    """A host whose shims die as soon as somebody counts on them."""

    def parked(self) -> Sequence[Parked]:
        """Return shims that are dead by now."""
        found = list(super().parked())
        for shim in found:
            self.machine.kill(shim.identity)
        return found
