"""What dead shifts left is found, judged without a clock where that can be, and taken over once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from runner.parts import DONE, Script, report, step
from runner.scene import ELSEWHERE, HERE, ORPHAN_SECONDS, TTL_SECONDS, Scene, status_of
from teamster.artifacts import SPOOL, AttemptFile
from teamster.kit import FileLock, Instant, ManualClock
from teamster.model import AttemptStatus, Exited, ItemStatus, Outcome, RunnerId, Shift, ShiftId
from teamster.process import Liveness
from teamster.runner.recovery import Standing, keep_whole_lines, standing

S = ItemStatus
NOW = ManualClock().now()
OTHER_BOOT = replace(NOW, boot_id="boot-2", boot_seconds=3.0)


def a_shift(scene: Scene) -> Shift:
    """Return a shift that began now."""
    return scene.shift(ShiftId("shift"), RunnerId("runner"), HERE)


@pytest.mark.req("DC-lease", "DC-stall")
@pytest.mark.parametrize(
    ("lock_held", "same_host", "at", "ended", "expected"),
    [
        (True, True, NOW, True, Standing.OVER),
        (True, True, NOW, False, Standing.LIVES),
        (False, True, NOW, False, Standing.OVER),
        (None, True, NOW, False, Standing.LIVES),
        (None, False, NOW, False, Standing.LIVES),
        (True, True, NOW.after(TTL_SECONDS), False, Standing.OVERSLEPT),
        (True, True, NOW.after(TTL_SECONDS - 0.001), False, Standing.LIVES),
        (None, True, NOW.after(TTL_SECONDS), False, Standing.OVERSLEPT),
        (False, True, NOW.after(TTL_SECONDS), False, Standing.OVER),
        (None, False, NOW.after(TTL_SECONDS), False, Standing.OVER),
        (True, True, OTHER_BOOT, False, Standing.OVER),
        (None, False, OTHER_BOOT, False, Standing.LIVES),
        (None, False, OTHER_BOOT.after(TTL_SECONDS), False, Standing.OVER),
    ],
    ids=[
        "it gave its lease back",
        "locked and in time",
        "its lock is free",
        "a missing lock proves nothing",
        "elsewhere, in time",
        "locked and too late",
        "locked, in time to the last",
        "no lock and too late",
        "free and too late",
        "elsewhere and too late",
        "before this boot",
        "elsewhere on another boot, in time by the wall",
        "elsewhere on another boot, too late by the wall",
    ],
)
def test_a_shift_is_judged_by_its_lock_and_else_by_its_lease(
    scene: Scene,
    *,
    lock_held: bool | None,
    same_host: bool,
    at: Instant,
    ended: bool,
    expected: Standing,
) -> None:
    """Too soon, and two harnesses carry one agent; too late, and nobody does."""
    shift = a_shift(scene)
    if ended:
        shift = replace(shift, ended_at=NOW.wall)

    assert standing(shift, lock_held=lock_held, same_host=same_host, at=at) is expected


class TestAdopted:
    """Agents that live, or ended with a record."""

    @pytest.mark.req("DC-stall", "DC-own")
    def test_a_living_agent_is_adopted(self, scene: Scene) -> None:
        """The harness was killed; its agent never noticed."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        [attempt] = scene.attempts()
        before = scene.item()
        first.die()

        second = scene.harness()
        happened = second.tick()

        item = scene.item()
        assert [adopted.run_id for adopted in happened.adopted] == [attempt.run_id]
        assert (item.status, item.shift_id) == (S.RUNNING, second.duty.shift.shift_id)
        assert (item.attempts_consumed, item.recoveries) == (0, 0)
        assert (item.fence, item.attempt) == (before.fence + 1, before.attempt + 1)
        places = scene.machine.orders[0].places
        assert places.control.read_bytes() == bytes(second.duty.places.deadline)
        deadline = float(second.duty.places.deadline.read_text())
        assert deadline == scene.now.boot_seconds + ORPHAN_SECONDS

        Path(scene.machine.orders[0].env["TEAMSTER_REPORT_FILE"]).write_text(report())
        scene.machine.finish(attempt.run_id, Exited(0))
        second.tick()
        assert [attempt.status for attempt in scene.attempts()] == [AttemptStatus.SUCCEEDED]
        assert len(scene.machine.orders) == 1
        assert scene.faults() == []

    def test_an_agent_that_ended_meanwhile_is_finished_from_its_record(self, scene: Scene) -> None:
        """Nothing runs again: the result was paid for."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        first.die()
        DONE(scene.machine.orders[0])
        scene.machine.finish(scene.run_id(), Exited(0))

        happened = scene.harness().tick()

        assert len(happened.adopted) == len(happened.ended) == 1
        assert scene.item().status is S.SUCCEEDED
        assert scene.item().attempts_consumed == 1
        assert len(scene.machine.orders) == 1
        assert scene.faults() == []

    @pytest.mark.req("PH-8.2.1e")
    @pytest.mark.parametrize("torn", [b"", b'{"type": "teamster.ou'])
    @pytest.mark.parametrize("lives", [True, False], ids=["adopted", "gone"])
    def test_event_lines_are_kept_once(self, scene: Scene, *, torn: bytes, lives: bool) -> None:
        """Who takes over goes on after the last whole line, whether the agent lives or is gone."""
        scene.scripts["main"] = Script(None, b"one\ntwo\n")
        scene.submit(step())
        first = scene.harness()
        first.tick()
        first.tick()
        first.die()
        [attempt], [order] = scene.attempts(), scene.machine.orders
        log = scene.path(attempt, AttemptFile.EVENTS)
        assert log.read_bytes().count(b"\n") == 2
        with log.open("ab") as file:
            file.write(torn)
        with order.places.stdout.open("ab") as file:
            file.write(b"three\n")
        if not lives:
            scene.machine.kill(next(iter(scene.machine._runs.values())).shim)

        second = scene.harness()
        second.tick()
        if lives:
            scene.machine.finish(attempt.run_id, Exited(0))
        second.tick(taking=False)

        lines = log.read_text().splitlines()
        assert [line.partition('"text": ')[2] for line in lines] == ['"one"}', '"two"}', '"three"}']
        assert scene.faults() == []

    def test_a_request_to_cancel_goes_over_to_the_adopter(self, scene: Scene) -> None:
        """Whoever asked must not have to ask again."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        scene.store.request_cancel(
            scene.item().item_id, at=scene.now, actor="alice", draft=lambda _: pytest.fail("it is owned")
        )
        first.die()

        second = scene.harness()
        second.tick()

        assert status_of(scene.item()) == (S.FAILED, "canceled")

    @pytest.mark.parametrize("outcome", [Exited(0), Exited(1)])
    def test_output_that_somebody_removed_leaves_doubt(self, scene: Scene, outcome: Outcome) -> None:
        """Nobody can judge what it did; the harness stays up and a person is asked."""
        scene.submit(step(attempts_max=3))
        first = scene.harness()
        first.tick()
        first.die()
        shutil.rmtree(scene.machine.orders[0].places.spool)

        second = scene.harness()
        second.tick()
        scene.machine.finish(scene.run_id(), outcome)
        second.tick()

        assert status_of(scene.item()) == (S.FAILED, "needs_attention")
        assert scene.json(scene.attempts()[0], AttemptFile.STATE)["failure_class"] == "evidence_lost"
        assert scene.faults() == []

    def test_who_overslept_on_this_host_is_ended_first(self, scene: Scene) -> None:
        """A stopped harness keeps its lock; its agents must not have two masters when it goes on."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        scene.clock.advance(TTL_SECONDS)

        second = scene.harness()
        happened = second.tick()

        assert len(happened.adopted) == 1
        assert not first.duty.places.lock.exists()

    def test_who_overslept_and_can_not_be_ended_is_left_alone(self, scene: Scene) -> None:
        """As long as its lock is held, it may go on at any moment."""
        scene.submit(step())
        scene.harness().tick()
        scene.clock.advance(TTL_SECONDS)
        second = scene.harness()
        second.crew.recovery._end_harness = lambda *_: False

        assert second.tick().adopted == ()
        assert scene.item().shift_id != second.duty.shift.shift_id

    def test_a_harness_that_lives_is_left_alone(self, scene: Scene) -> None:
        """Two harnesses on one root join."""
        scene.submit(step())
        first = scene.harness()
        first.tick()

        second = scene.harness()

        assert second.tick().adopted == ()
        assert scene.item().shift_id == first.duty.shift.shift_id


class TestGone:
    """Agents that left nothing, or never began."""

    @pytest.mark.req("DC-stall")
    def test_an_agent_that_is_gone_counts_as_a_recovery_and_runs_again(self, scene: Scene) -> None:
        """Its owner is gone and nobody knows how it ended: our fault, not the agent's."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        first.die()
        [lost] = scene.attempts()
        scene.machine.kill(next(iter(scene.machine._runs.values())).shim)

        second = scene.harness()
        second.tick()

        item = scene.item()
        assert (item.status, item.attempts_consumed, item.recoveries) == (S.STALLED, 0, 1)
        state = scene.json(lost, AttemptFile.STATE)
        assert (state["status"], state["failure_class"]) == ("failed", "lost")
        scene.schedule()
        assert scene.item().status is S.QUEUED
        [again] = second.tick().started
        second.runner.close()
        assert not scene.machine.orders[0].places.spool.exists()
        assert again.run_id != lost.run_id
        assert scene.faults() == []

    def test_the_tree_is_ended_before_the_item_may_be_claimed(self, scene: Scene) -> None:
        """What began and has no shim any more may still have children at work."""
        scene.submit(step())
        first = scene.harness()
        first.tick()
        first.die()
        ended_while: list[ItemStatus] = []

        class Orphans:
            """A machine on which the shim is dead and its agent is not."""

            def probe(self, _trace: object) -> Liveness:
                return Liveness.GONE

            def end(self, _trace: object) -> int:
                ended_while.append(scene.item().status)
                return 2

        scene.harness(liveliness=Orphans()).tick()

        assert ended_while == [S.RUNNING]
        assert scene.item().status is S.STALLED

    def test_an_item_that_was_claimed_and_not_begun_runs_again(self, scene: Scene) -> None:
        """Other workers claim first and start then: between the two there is no attempt."""
        scene.submit(step())
        first = scene.harness()
        first.store.claim(first.duty.shift.shift_id, limit=1, at=scene.now)
        first.die()

        second = scene.harness()
        second.tick(taking=False)
        scene.schedule()

        assert len(second.tick().started) == 1
        assert (scene.item().attempts_consumed, len(scene.attempts())) == (0, 1)

    def test_a_runner_that_is_lost_again_and_again_needs_a_person(self, scene: Scene) -> None:
        """A step that takes its harness down with it must not do so for ever."""
        scene.submit(step())
        for _ in range(6):
            harness = scene.harness()
            harness.tick()
            scene.schedule()
            harness.tick()
            harness.die()
            for run in scene.machine._runs.values():
                scene.machine.kill(run.shim)
        scene.harness().tick()
        scene.schedule()

        assert status_of(scene.item()) == (S.FAILED, "needs_attention")
        assert len(scene.attempts()) == 6
        assert scene.attempts()[-1].status is AttemptStatus.NEEDS_ATTENTION
        assert scene.faults() == []

    def test_what_ran_on_a_host_that_was_lost_is_lost_with_it(self, scene: Scene) -> None:
        """Its traces mean nothing here."""
        scene.submit(step())
        scene.harness(host_id=ELSEWHERE).tick()
        scene.clock.advance(TTL_SECONDS)

        scene.harness().tick()

        assert scene.item().status is S.STALLED
        assert scene.item().recoveries == 1


def test_only_what_nobody_needs_is_swept(scene: Scene) -> None:
    """What an agent still writes to must stay; what a finished one left is only a burden."""
    scene.submit(step())
    first = scene.harness()
    first.tick()
    owned = scene.machine.orders[0].places.spool
    held, left = scene.root.at(f"{SPOOL}/run_held"), scene.root.at(f"{SPOOL}/run_left")
    for folder in (held, left):
        folder.mkdir()
        (folder / "lock").touch()
    with FileLock(held / "lock"):
        scene.harness().tick()

    assert (owned.exists(), held.exists(), left.exists()) == (True, True, False)


@pytest.mark.parametrize(
    ("content", "whole"),
    [(b"", b""), (b"a\n", b"a\n"), (b"a\nb\nc", b"a\nb\n"), (b"torn", b"")],
)
def test_a_torn_last_line_is_cut(tmp_path: Path, content: bytes, whole: bytes) -> None:
    """Its dead writer wrote half of it; the whole line is in the spool."""
    log = tmp_path / "log"
    log.write_bytes(content)

    assert keep_whole_lines(log) == whole.count(b"\n")
    assert log.read_bytes() == whole


def test_a_log_that_was_never_begun_has_no_lines(tmp_path: Path) -> None:
    """Nothing is made by looking."""
    assert keep_whole_lines(tmp_path / "log") == 0
    assert not list(tmp_path.iterdir())
