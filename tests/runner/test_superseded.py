"""A runner that overslept its lease and goes on: it changes nothing, and what it found is kept and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from runner.parts import DONE, ForgetfulHost, ForgetfulStore, step
from runner.scene import ELSEWHERE, HERE, TTL_SECONDS, Harness, Scene
from teamster.artifacts import AttemptFile
from teamster.model import AttemptStatus, Exited, HostId, ItemStatus, LeaseLost, RequestId, RunId
from teamster.runner.shift import MARGIN_OF_TTL
from teamster.store import Complete, Guard, MemoryStore
from teamster.store.memory_ledger import Tables


class Sleeper:
    """A harness that falls asleep in the middle of a tick, and what the world was like when it woke up."""

    def __init__(self, scene: Scene, *, host_id: HostId) -> None:
        self.scene = scene
        scene.submit(step())
        self.harness = scene.harness(host_id=host_id)
        self.harness.tick()
        self.harness.delivery.settle()  # rows whose files are flushed go, whoever says so
        self.run_id: RunId = scene.run_id()
        self.fence = scene.item().fence
        self.store_before: Tables | None = None
        self.files_before: dict[str, bytes] = {}

    def end_agent(self) -> None:
        """Let the agent end well."""
        DONE(self.scene.machine.orders[0])
        self.scene.machine.finish(self.run_id, Exited(0))

    def sleep_through(
        self, what: Callable[[], object], *, before_its_write: bool = False, seconds: float = TTL_SECONDS
    ) -> None:
        """Sleep past the lease while others act, and go on with the tick.

        The agent ends while it sleeps, or `before_its_write`: then all is judged, and nothing but the store can tell.
        """

        def sleep() -> None:
            if not before_its_write:
                self.end_agent()
            self.scene.clock.advance(seconds)
            what()
            self.store_before, self.files_before = self.tables(), self.scene.snapshot()

        host, store = self.harness.host, self.harness.store
        assert isinstance(host, ForgetfulHost)
        assert isinstance(store, ForgetfulStore)
        if before_its_write:
            self.end_agent()
            store.sleep = sleep
        else:
            host.sleep = sleep

    def tables(self) -> Tables:
        """Return all that the store knows."""
        assert isinstance(self.scene.store, MemoryStore)
        return self.scene.store._tables.copy()

    def new_files(self) -> dict[str, bytes]:
        """Return what was written since it woke up, and see that nothing else was changed."""
        files = self.scene.snapshot()
        assert {name: files.get(name) for name in self.files_before} == self.files_before
        return {name: content for name, content in files.items() if name not in self.files_before}


def take_over(scene: Scene) -> Harness:
    """Have another harness take what the sleeper had, to the start of another try where it can't be adopted."""
    other = scene.harness(host_id=HERE)
    other.tick()
    scene.schedule()
    other.tick()
    return other


@pytest.mark.req("DC-own", "DC-cas", "DC-lease")
@pytest.mark.parametrize("guesses", [False, True], ids=["old rev", "guessed rev"])
@pytest.mark.parametrize("host_id", [HERE, ELSEWHERE])
@pytest.mark.parametrize("before_its_write", [False, True], ids=["in its tick", "before its write"])
def test_a_sleeper_whose_item_was_taken_changes_nothing(
    scene: Scene, *, host_id: HostId, guesses: bool, before_its_write: bool
) -> None:
    """Its item has another owner, or another try: the old token opens nothing, whatever rev it names."""
    sleeper = Sleeper(scene, host_id=host_id)

    def meanwhile() -> None:
        take_over(scene)
        carried = sleeper.harness.runner._carried[sleeper.run_id]
        if guesses:
            carried.item = replace(carried.item, rev=scene.item().rev)

    sleeper.sleep_through(meanwhile, before_its_write=before_its_write)
    happened = sleeper.harness.tick()

    assert sleeper.tables() == sleeper.store_before
    folder = f"batch/.teamster/superseded/{sleeper.run_id}-{sleeper.fence}"
    assert {name.rpartition("/")[0] for name in sleeper.new_files()} == {folder}
    assert (happened.superseded, happened.is_over) == ((sleeper.run_id,), True)
    assert happened.started == ()
    assert sleeper.harness.runner.carried == []


@pytest.mark.req("DC-own", "DC-lease")
@pytest.mark.parametrize("seconds", [TTL_SECONDS, TTL_SECONDS * (1 - MARGIN_OF_TTL)], ids=["over", "not trusted"])
def test_a_sleeper_with_the_right_rev_and_token_changes_nothing_once_its_lease_is_over(
    scene: Scene, seconds: float
) -> None:
    """Nobody took the item yet; the right to write ran out all the same, since somebody may be about to."""
    sleeper = Sleeper(scene, host_id=HERE)
    sleeper.sleep_through(lambda: None, seconds=seconds)

    happened = sleeper.harness.tick()

    assert happened.superseded == (sleeper.run_id,)
    assert sleeper.tables() == sleeper.store_before
    assert scene.item().status is ItemStatus.RUNNING
    assert all("/superseded/" in name for name in sleeper.new_files())

    sleeper.harness.die()
    scene.harness().tick()
    assert scene.item().status is ItemStatus.SUCCEEDED
    assert len(scene.machine.orders) == 1


def test_what_it_found_is_kept_and_shown(scene: Scene) -> None:
    """Late evidence is never counted, and never lost: a person can see that two tries were made."""
    sleeper = Sleeper(scene, host_id=ELSEWHERE)
    sleeper.sleep_through(lambda: take_over(scene))

    sleeper.harness.tick()

    names = {name.rpartition("/")[2] for name in sleeper.new_files()}
    assert names == {"exit.json", "final.json", "final.txt", "verdict.json", "manifest.json", "state.json"}
    assert scene.scoreboard().superseded == (f"{sleeper.run_id}-{sleeper.fence}",)
    late, again = scene.attempts()
    assert (late.status, again.status) == (AttemptStatus.FAILED, AttemptStatus.RUNNING)
    assert scene.json(late, AttemptFile.STATE)["status"] == "failed"
    assert scene.faults() == []


@pytest.mark.req("DC-lease")
def test_a_runner_that_slept_between_its_ticks_does_nothing_more(scene: Scene) -> None:
    """It looks at its lease before it looks at anything else."""
    sleeper = Sleeper(scene, host_id=HERE)
    DONE(scene.machine.orders[0])
    scene.machine.finish(sleeper.run_id, Exited(0))
    scene.clock.advance(TTL_SECONDS)
    before = sleeper.tables()
    sleeper.files_before = scene.snapshot()

    happened = sleeper.harness.tick()

    assert (happened.superseded, happened.is_over) == ((sleeper.run_id,), True)
    assert sleeper.tables() == before
    assert all("/superseded/" in name for name in sleeper.new_files())
    assert sleeper.harness.runner.carried == []
    assert sleeper.harness.tick() == replace(happened, superseded=())


@pytest.mark.parametrize("seconds", [TTL_SECONDS, TTL_SECONDS * (1 - MARGIN_OF_TTL)], ids=["over", "not trusted"])
def test_a_runner_whose_lease_ran_out_claims_nothing(scene: Scene, seconds: float) -> None:
    """A claim in the name of a dead shift would be an item that nobody runs."""
    scene.submit(step(), jobs=2)
    harness = scene.harness()
    assert isinstance(harness.host, ForgetfulHost)
    harness.host.sleep = lambda: scene.clock.advance(seconds)

    happened = harness.tick()

    assert (happened.started, happened.is_over) == ((), True)
    assert scene.item(job="job-0").status is ItemStatus.QUEUED


@pytest.mark.req("DC-own", "DC-cas", "DC-lease")
@pytest.mark.parametrize("taken", [False, True], ids=["not taken", "taken"])
def test_a_late_write_that_guesses_rev_and_token_is_refused(scene: Scene, *, taken: bool) -> None:
    """The old token with the current rev, and the right token and rev of a lease that is over, open nothing."""
    sleeper = Sleeper(scene, host_id=ELSEWHERE)
    [carried] = sleeper.harness.runner._carried.values()
    scene.clock.advance(TTL_SECONDS)
    if taken:
        take_over(scene)
    item = scene.item()
    token = carried.item.claim_token
    assert token is not None
    assert (item.claim_token == token) is not taken
    guard = Guard(item_id=item.item_id, claim_token=token, rev=item.rev, request_id=RequestId("late"))
    before = sleeper.tables()

    [answer] = sleeper.harness.store.apply([Complete(guard=guard, result={})], at=scene.now)

    assert isinstance(answer.refusal, LeaseLost)
    assert sleeper.tables() == before
