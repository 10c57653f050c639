"""The state machine: Hypothesis chooses the acts, memory is the model, the oracle judges after each step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Final

from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from contracts.store_world import World
from simulation.breaking import Crash
from simulation.choosing import choose
from simulation.engines import ENGINES, Engine
from simulation.oracle import Oracle
from simulation.player import SHIFTS, Player, plain
from simulation.seen import look
from teamster.store import MemoryStore, Needs

STEPS_MAX: Final = 50


class StoreMachine(RuleBasedStateMachine):
    """Plays each act on the engine and on the model: same answers, same states, and nothing that the oracle refuses."""

    engine: ClassVar[Engine] = ENGINES["memory"]

    @initialize()
    def open(self) -> None:
        """Open an empty store and give it something to do."""
        self.folder = Path(tempfile.mkdtemp())
        self.place = self.engine.place(self.folder)
        self.real, self.model = Player(World(self.place.open)), Player(World(MemoryStore))
        self.oracle, self.steps = Oracle(), 0
        self.seen = look(self.real.world.store, self.real.world.now)
        self.do("begin", "s0")
        self.do("begin", "s1")
        self.do("submit", "early", [(0, Needs.SUCCEEDED), (1, Needs.FINAL)], 5)
        self.do("claim", "s0", 3, True, "any")

    def do(self, act: str, *values: Any) -> None:
        """Play one act and judge it."""
        told = self.real.play(act, *values)
        assert plain(told) == plain(self.model.play(act, *values)), (act, values)
        self._judge_with(lambda before, after: self.oracle.judge(before, told, after))

    def _judge_with(self, judge: Callable[[Any, Any], None]) -> None:
        before, world = self.seen, self.real.world
        self.seen = look(world.store, world.now)
        judge(before, self.seen)
        model = look(self.model.world.store, self.model.world.now)
        for name in self.seen.__slots__:
            real, due = getattr(self.seen, name), getattr(model, name)
            if name == "outbox":
                real, due = list(real.values()), list(due.values())
            assert plain(real) == plain(due), name
        ours, theirs = [player.world.store.orphaned_outbox(at=world.now) for player in (self.real, self.model)]
        assert plain(ours) == plain(theirs)
        for name in SHIFTS:
            asked = [
                list(player.world.store.cancel_requests(player.shift_id(name))) for player in (self.real, self.model)
            ]
            assert asked[0] == asked[1]

    @rule(seed=st.integers(0, 2**64 - 1))
    def step(self, seed: int) -> None:
        """Do what this number stands for, here and now: Hypothesis by itself repeats itself too much."""
        self.steps += 1
        random = Random(f"{seed} {self.steps}")  # noqa: S311 - a choice, not a secret
        for act, dies in choose(random, lives=self._lives):
            note(f"{act} dies {dies}")
            if act == ("reopen",):
                self._open_again()
                self._judge_with(self.oracle.judge_crash)
            elif dies == "nowhere":
                self.do(*act)
            else:
                self.crash(act, dies if isinstance(dies, int) else None)

    def _lives(self, shift: str) -> bool:
        return self.oracle.lives(self.real.shift_id(shift), self.real.world.now)

    def crash(self, act: tuple[Any, ...], statement: int | None) -> None:
        """Die in the middle of an act, or just after it: it happened whole or not at all."""
        memory = self.real.memory()
        self.place.breaker.arm(statement)
        try:
            told = self.real.play(*act)
        except Crash:
            self.real.forget(memory)
            self._open_again()
            self._judge_with(self.oracle.judge_crash)
            return
        finally:
            self.place.breaker.disarm()
        self._open_again()
        assert plain(told) == plain(self.model.play(*act)), act
        self._judge_with(lambda before, after: self.oracle.judge(before, told, after))

    def _open_again(self) -> None:
        self.real.world.store.close()
        self.real.world.store = self.place.open()

    def teardown(self) -> None:
        """Look below the store, and leave nothing."""
        if not hasattr(self, "place"):
            return
        try:
            self.real.world.store.close()
            assert self.place.faults() == []
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def run_machine(engine: Engine, *, examples: int, shrink: bool = True) -> None:
    """Run the machine on an engine, with the same choices each time; raise what it finds."""
    machine = type("Machine", (StoreMachine,), {"engine": engine})
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS_MAX,
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
