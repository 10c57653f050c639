"""What every agent promises, whoever wrote it. It runs no program: an agent is text in, values out."""

from __future__ import annotations

import json
import random  # noqa: TID251 # seeded: the same noise in each run
from typing import Any, Final

import pytest

from teamster.agents import Agent, Plan
from teamster.model import AGENT_NAME_PATTERN, SANDBOXES
from teamster.testing.agent_requests import agent_request

KEY: Final = "sk-a-key-that-nobody-may-see"
LONG_LINE_BYTES: Final = 100 * 1024 * 1024
NOISE_SEED: Final = 20260114
NOISE_LINES: Final = 2_000


class AgentContract:
    """Subclasses supply `agent`; `events` are lines that its program printed in one good run, in their order.

    `changes` are what a request needs to be one that the agent can do.
    """

    events: tuple[bytes, ...] = ()
    changes: dict[str, Any] = {}  # noqa: RUF012 # subclasses replace it, nobody changes it

    @pytest.fixture
    def agent(self) -> Agent:
        """Return the agent that is tested."""
        raise NotImplementedError("a subclass supplies `agent`")

    def plan(self, agent: Agent, **changes: Any) -> Plan:
        """Plan an attempt."""
        return agent.plan(agent_request(**{**self.changes, **changes}))

    def test_its_name_can_stand_in_a_table(self, agent: Agent) -> None:
        """And in a path, and on a command line."""
        assert AGENT_NAME_PATTERN.fullmatch(agent.name)

    def test_a_plan_is_the_same_for_the_same_request(self, agent: Agent) -> None:
        """Whoever adopts an attempt makes its plan again."""
        assert self.plan(agent) == self.plan(agent)

    def test_a_plan_stays_within_its_own_places(self, agent: Agent) -> None:
        """Folders and files are made below the scratch folder, and nowhere else."""
        plan = self.plan(agent)
        names = [*plan.folders, *(name for name, _ in plan.files), plan.staged_report]

        assert plan.argv[0]
        assert not [name for name in names if name.startswith("/") or ".." in name.split("/")]

    def test_its_temporary_folder_is_its_own(self, agent: Agent) -> None:
        """In a shared one other attempts' files lie."""
        asked = agent_request(**self.changes)

        assert self.plan(agent).env.get("TMPDIR", "").startswith(str(asked.scratch))

    def test_little_of_the_user_s_environment_passes(self, agent: Agent) -> None:
        """What a program needs to find its way, whom it works for, and no secret of somebody else."""
        env = self.plan(agent).env

        assert env["PATH"] == "/usr/bin"
        assert env["TEAMSTER_RUN_ID"] == "run_1"
        assert "AWS_SECRET_ACCESS_KEY" not in env

    def test_the_key_is_never_an_argument(self, agent: Agent) -> None:
        """Arguments can be read by everybody on the machine, and a plan is logged."""
        variable = agent.key_variables[0] if agent.key_variables else "SOME_KEY"
        plan = self.plan(agent, key=KEY, key_variable=variable)

        assert KEY not in " ".join(plan.argv)
        assert KEY not in repr(plan)

    @pytest.mark.parametrize("sandbox", SANDBOXES)
    def test_each_sandbox_is_planned_or_refused(self, agent: Agent, sandbox: str) -> None:
        """There is no third way: what it can't do is a ValueError with words."""
        try:
            words = self.plan(agent, sandbox=sandbox).argv
        except ValueError as error:
            words = error.args

        assert all(words)

    def test_sandboxes_differ_where_it_has_any(self, agent: Agent) -> None:
        """An agent that takes all of them for the same must say so by having no sessions and no sandbox of its own."""
        plans = [self.plan(agent, sandbox=sandbox) for sandbox in ("read-only", "danger-full-access")]

        assert plans[0] != plans[1] or not agent.sessions

    def test_an_unknown_sandbox_is_refused_where_it_has_any(self, agent: Agent) -> None:
        """A word that nobody knows confines nothing."""
        if not agent.sessions:
            return
        with pytest.raises(ValueError, match="sandbox"):
            self.plan(agent, sandbox="anything-goes")

    def test_a_session_that_can_t_be_one_is_refused(self, agent: Agent) -> None:
        """A program that takes it for a name begins anew, in silence."""
        with pytest.raises(ValueError, match=r"session|thread"):
            self.plan(agent, session="last one; please")

    def test_a_good_run_is_understood(self, agent: Agent) -> None:
        """Thread, terminal event, no line unknown."""
        reading = self._reads(agent, *self.events)

        assert reading.unknown_events == 0
        if agent.announces_end:
            assert self.events, "say in `events` what a good run prints"
            assert reading.terminal == "completed"
        if agent.sessions:
            assert reading.thread_id

    def test_lines_that_make_no_sense_are_counted(self, agent: Agent) -> None:
        """Programs change without notice, and others print between."""
        lines = (b"\xff\xfe{", b'{"type":', b"[1,2]", b"null", b'{"type":"from.tomorrow"}', b"[" * 100_000)
        known, reading = self._reads(agent, *self.events), self._reads(agent, *self.events, *lines)

        assert reading.events + reading.unknown_events == known.events + len(lines)
        assert reading.thread_id == known.thread_id
        assert reading.usage == known.usage

    def test_events_are_understood_between_noise(self, agent: Agent) -> None:
        """Another process writes to the same output: whole lines stay whole."""
        if not agent.announces_end:
            return
        noisy = [line for event in self.events for line in (b"warning: something\n", event, b"\n")]

        assert self._reads(agent, *noisy).terminal == "completed"

    def test_a_line_of_any_length_is_survived(self, agent: Agent) -> None:
        """100 MB in one line; what is kept of it is bounded."""
        reading = self._reads(agent, b'{"type":"text","text":"' + b"x" * LONG_LINE_BYTES + b'"}', *self.events)

        assert len(reading.activity or "") < LONG_LINE_BYTES // 1000
        assert len(reading.last_message or "") < LONG_LINE_BYTES // 2

    def test_cut_and_mixed_lines_are_survived(self, agent: Agent) -> None:
        """Seeded: every event cut at some place, with bytes changed, values of every kind in every place."""
        chance = random.Random(NOISE_SEED)  # noqa: S311 # noise is no secret
        decoder = agent.decoder()
        for _ in range(NOISE_LINES):
            line = bytearray(chance.choice(self.events or (b'{"type":"x"}',)))
            for _ in range(chance.randrange(4)):
                line[chance.randrange(len(line))] = chance.randrange(256)
            decoder.feed(bytes(line[: chance.randrange(len(line) + 1)]))
            decoder.feed(_with_other_values(chance, line))

        json.dumps([decoder.reading.activity, decoder.reading.last_message], ensure_ascii=False).encode()

    def test_a_session_s_files_are_part_of_its_closure_alone(self, agent: Agent) -> None:
        """Nothing that is no session file is ever kept, whatever lies in a home."""
        names = ("config.toml", "auth.json", ".credentials.json", "data/opencode/auth.json", "settings.json", "../x")

        assert not [name for name in names if agent.is_session_file(name)]
        assert set(agent.closure(names, "anything")) == set()

    def test_a_help_without_any_flag_is_not_enough(self, agent: Agent) -> None:
        """A program that renamed its flags is told before the first attempt."""
        if agent.help_argvs:
            assert agent.check_help(["usage: something"] * len(agent.help_argvs))

    def test_a_version_is_read_or_not_there(self, agent: Agent) -> None:
        """What says nothing of a version has none."""
        assert agent.parse_version("no version here") is None

    def _reads(self, agent: Agent, *lines: bytes) -> Any:
        decoder = agent.decoder()
        for line in lines:
            decoder.feed(line)
        return decoder.reading


def _with_other_values(chance: random.Random, line: bytes | bytearray) -> bytes:
    try:
        value = json.loads(bytes(line).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return bytes(line)
    return json.dumps(_changed(chance, value)).encode()


def _changed(chance: random.Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _changed(chance, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(chance, inner) for inner in value]
    if chance.random() < 0.2:  # noqa: PLR2004 # some, not all: an event without a type is no event
        return chance.choice([None, True, -1, 2**80, 1e308, "", "\ud800", [], {}, [None], {"type": 1}])
    return value
